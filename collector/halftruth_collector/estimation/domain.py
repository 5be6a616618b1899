"""Tables of those who give some answers, or any: estimates within a domain.

The share of a cell among them is p = s/b, a
ratio of linear forms of one larger table, that of the attributes asked about and of those of which
answers are asked for: s is the cell's share of everybody, perhaps the sum of several cells, and the
*base* b is the sum of all s. So a table within a domain is a table like any other, for every
mechanism and target, and whatever is computed from tables holds of the domain.

What the delta method leaves out is that an error of the base changes the size of the others. Of
surveys whose base is significantly above zero, intervals of 95 % hold the truth in as few as 0.79
where it is about 2 standard errors above 0, in 0.92 where it is 4, and in 0.935 to 0.97 where it is
5 (two and five cells simulated, normal with equal errors). So a domain is refused below
`bounds.NEARLY_LINEAR` of them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from halftruth_shared import Attribute, DomainTooLarge, EstimateError, ParameterError, Schema
from halftruth_shared.analyses.base import Answers, Target
from halftruth_shared.channels.axes import Places
from halftruth_shared.results.wording import items
from numpy.typing import NDArray

from .answers import answer_codes, category_codes
from .bounds import Array
from .intervals import intervals_at
from .ratios import ratio_covariance
from .table import COVARIANCE_CELLS, Sample, Table
from .variances import UnitVariance

#: Against the variances that a variance is the difference of, one that is nothing but rounding.
_ROUNDING = 1e-12

#: What is taken for the share of a cell that is estimated to be nobody's.
SOMEBODY = 1e-9

#: Codes of the answers that count, for each axis of a table.
Kept = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Restriction:
    """Answers by which estimates are restricted to a domain.

    Attributes
    ----------
    where : mapping of str to str or sequence of str
        Answers of which all those give one whom estimates are about; none for everybody.
    answered : bool
        Whether each table is about those alone who answered all that it is about.

    Raises
    ------
    SchemaError, ParameterError
        If an attribute or an answer is unknown, or nothing is left to ask about.
    """

    whole: Schema
    where: Answers
    answered: bool = False

    def __post_init__(self) -> None:
        if self.where and len(self.codes) == len(self.whole.names):
            raise ParameterError(
                "where: every attribute is filtered on; expected one that is left to ask about",
                field="where",
            )

    @cached_property
    def schema(self) -> Schema:
        """The attributes that can be asked about, with the categories that count."""
        if not self.where and not self.answered:
            return self.whole
        return DomainSchema(self)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """Of the attributes filtered on, in the whole schema."""
        return self.whole.positions(list(self.where), "where") if self.where else ()

    @cached_property
    def codes(self) -> Kept:
        """Of the answers to each of them."""
        return tuple(
            category_codes(self.whole.attributes[j], categories, "where")
            for j, categories in zip(self.positions, self.where.values(), strict=True)
        )

    def leaves_out(self, attributes: Sequence[str]) -> bool:
        """Return whether some of those asked did not answer some attributes, and do not count."""
        return self.answered and any(self._attribute(name).missing for name in attributes)

    def is_slice(self, attributes: Sequence[str]) -> bool:
        """Return whether tables are slices of larger ones, without sums that need a covariance."""
        return all(len(codes) == 1 for codes in self.codes) and not self.leaves_out(attributes)

    def kept(self, attributes: Sequence[str]) -> Kept:
        """Codes of the answers to each attribute that count."""
        chosen = map(self._attribute, attributes)
        return tuple(
            answer_codes(a) if self.answered else tuple(range(len(a.categories))) for a in chosen
        )

    def check_cells(self, attributes: Sequence[str]) -> None:
        """Refuse a table whose covariance is needed and too large.

        Raises
        ------
        DomainTooLarge
        """
        cells = math.prod(len(self._attribute(n).categories) for n in [*attributes, *self.where])
        if cells > COVARIANCE_CELLS and not self.is_slice(attributes):
            field = "missing" if self.leaves_out(attributes) else "where"
            raise DomainTooLarge(
                f"{field}: answers taken together in a table of {cells} cells; expected at most"
                f" {COVARIANCE_CELLS}, so fewer attributes",
                field=field,
            )

    def slice(self, table: Array) -> Array:
        """Table of the attributes of `schema` within the domain, of one inside the simplex.

        Raises
        ------
        EstimateError
            If nobody is in it.
        """
        if not self.where:
            return table
        for j, codes in zip(self.positions, self.codes, strict=True):
            table = table.take(codes, axis=j)
        table = table.sum(axis=self.positions)
        if not table.sum() > 0:
            raise EstimateError(
                f"where: by this estimate nobody gives {items(self.where)}; expected estimate ="
                " moment, or another group",
                field="where",
            )
        return np.asarray(table / table.sum())

    def _attribute(self, name: str) -> Attribute:
        return self.whole.attributes[self.whole.position(name)]


class DomainSchema(Schema):
    """The attributes that are not filtered on; where only answers count, without what is none."""

    restriction: Restriction

    def __init__(self, restriction: Restriction) -> None:
        object.__setattr__(self, "restriction", restriction)
        others = [a for a in restriction.whole.attributes if a.name not in restriction.where]
        super().__init__(tuple(map(_answers_alone, others) if restriction.answered else others))

    def position(self, name: str, field: str = "attributes") -> int:
        """Of an attribute; ParameterError for one that is filtered on, or without answers."""
        if name in self.restriction.where:
            raise ParameterError(
                f"{field}: '{name}' is filtered on by where; expected other attributes",
                field=field,
            )
        place = super().position(name, field)
        if self.restriction.answered and len(answer_codes(self.attributes[place])) < 2:
            raise ParameterError(
                f"missing: '{name}' has one answer besides those missing; expected keep",
                field="missing",
            )
        return place


def _answers_alone(attribute: Attribute) -> Attribute:
    """An attribute without the categories that are no answer, if it has several besides."""
    codes = answer_codes(attribute)
    if not attribute.missing or len(codes) < 2:
        return attribute
    kept = tuple(attribute.categories[code] for code in codes)
    items = attribute.items
    return replace(
        attribute,
        categories=kept,
        items=None if items is None else tuple(item for item in items if item in kept),
        missing=(),
        optional=False,
        ask_if={},
        answers={c: label for c, label in attribute.answers.items() if c in kept},
        short_answers={c: label for c, label in attribute.short_answers.items() if c in kept},
    )


@dataclass(eq=False)
class DomainTable(Table):
    """Table of those whose answers are among some, with the shares of them.

    Attributes
    ----------
    joint : Table
        Of these attributes, and of further ones over whose answers is summed. Its errors are of
        the population that is meant, and so are those of the domain.
    kept : tuple of tuple of int
        Codes of the answers that count, for each axis of it.
    reports : int
        About how many of all reports are of them, at least 1.
    is_slice : bool
        True where all answers to `attributes` count, and one to each further one: the margins of
        `joint` then give all errors without the covariance of all cells.
    design : callable or None
        Variance of the table of `attributes` of everybody as a function of a share, by `fraction`.
    """

    attributes: tuple[str, ...]
    joint: Table
    kept: Kept
    reports: int = 1
    is_slice: bool = False
    design: Callable[[float], UnitVariance] | None = None

    def counted(self) -> "DomainTable":
        """The same with about how many reports are of the people whom it is of."""
        return replace(self, reports=max(1, round(self.joint.reports * self.base)))

    @property
    def fraction(self) -> float:  # type: ignore[override]
        return self.joint.fraction

    def sampled(self, fraction: float) -> "DomainTable":
        if fraction == self.fraction:
            return self
        return replace(self, joint=self.joint.sampled(fraction))

    @property
    def condition_number(self) -> float | None:
        return self.joint.condition_number

    @property
    def logit(self) -> bool:
        return self.joint.logit

    @cached_property
    def cells(self) -> Array:
        """s, share of everybody of each cell."""
        return self._summed(self.joint.support)

    @cached_property
    def base(self) -> float:
        """b, share of everybody of all cells."""
        return float(self.cells.sum())

    @cached_property
    def support(self) -> Array:
        return np.asarray(self.cells / self.base)

    @property
    def effective_reports(self) -> Array:
        return self._summed(self.joint.effective_reports)

    def _summed(self, joint: Array) -> Array:
        summed = tuple(range(len(self.attributes), len(self.kept)))
        return np.asarray(joint[np.ix_(*self.kept)].sum(axis=summed))

    @property
    def _chosen(self) -> NDArray[np.int64]:
        """Cells of the larger table that make up each one of this."""
        whole = np.arange(self.joint.support.size).reshape(self.joint.support.shape)
        return np.asarray(whole[np.ix_(*self.kept)].reshape(self.cells.size, -1))

    def samples(self, shares: Array) -> Iterator[Sample]:
        """The reports of everybody, by what they add to these shares (delta method)."""
        shares, chosen = shares.ravel(), self._chosen
        everybody = np.maximum(self.joint.support.ravel(), SOMEBODY)
        inside = everybody[chosen]
        inside *= (shares * inside.sum() / inside.sum(axis=1))[:, None]
        everybody[chosen] = inside
        base = inside.sum() / everybody.sum()
        whole = (everybody / everybody.sum()).reshape(self.joint.support.shape)
        for each in self.joint.samples(whole):
            added = each.weights[:, chosen].sum(axis=2)
            added = (added - added.sum(axis=1, keepdims=True) * shares) / base
            yield Sample(each.reports, each.chances, added)

    def _mixed(self, of: Callable[[Target], Array]) -> Array:
        # The joint table has mixed its own.
        return of("population")

    def unit_variance(self) -> UnitVariance | None:
        if self.design is None:
            return None
        return self.design(self.fraction).take(np.ix_(*self.kept[: len(self.attributes)]))

    def cells_covariance(self) -> Array:
        """Covariance of `cells` in row-major order."""
        size, each = self._chosen.shape
        chosen = self._chosen.ravel()
        covariance = self.joint.covariance()[np.ix_(chosen, chosen)]
        return np.asarray(covariance.reshape(size, each, size, each).sum(axis=(1, 3)))

    def cells_variance(self) -> Array:
        """Variance of `cells`; NaN where the reports do not determine one."""
        if self._chosen.shape[1] == 1:
            return self._summed(self.joint.variance())
        spread = np.diag(self.cells_covariance()).reshape(self.cells.shape)
        return self._determined(spread, self._largest)

    def cells_interval(self, quantile: float) -> tuple[Array, Array]:
        """Ends of the intervals of `cells`: normal where these are sums of several shares."""
        if self._chosen.shape[1] == 1:
            lower, upper = intervals_at(self.joint, quantile)
            return self._summed(lower), self._summed(upper)
        half_width = quantile * np.sqrt(self.cells_variance())
        return self.cells - half_width, self.cells + half_width

    def base_error(self) -> float:
        """Standard error of `base`, NaN where unknown; 0 where every report tells it."""

        def variance(table: DomainTable) -> float:
            if not table.attributes:
                return float(table.cells_variance())
            return float(table._determined(table.cells_covariance().sum(), table._largest))

        error = variance(self)
        if math.isnan(error) and variance(self.sampled(1.0)) == 0:
            return 0.0
        return math.sqrt(error)

    def _variance(self, target: Target) -> Array:
        if self.is_slice:
            return self._slice_variance(self.cells_variance())
        if self.joint.reports < 2:
            return np.full(self.cells.shape, np.nan)
        spread = np.diag(self._covariance(target)).reshape(self.cells.shape)
        return self._determined(spread, self._largest / self.base**2)

    @cached_property
    def _largest(self) -> float:
        if self.joint.reports < 2:
            return math.nan
        # Reports of one weight each leave nothing but rounding of its square.
        variance = np.diag(self.joint.sampled(0.0).covariance()).max()
        return float(max(variance, np.square(self.joint.support).max() / self.joint.reports))

    def _covariance(self, target: Target) -> Array:
        share, cells = self.support.ravel(), self.cells_covariance()
        with_base = cells.sum(axis=0)
        spread = ratio_covariance(
            cells, share[:, None], share, with_base, with_base[:, None], cells.sum()
        )
        return spread / self.base**2

    @cached_property
    def margins(self) -> Array:
        if not self.is_slice:
            return super().margins
        # Everybody in the domain: the last place of every axis.
        cells = self.joint.margins[self._slice]
        return np.asarray(cells / cells[(-1,) * cells.ndim])

    @property
    def _slice(self) -> tuple[Any, ...]:
        """Place of the domain along the last axes of the joint table."""
        return (..., *(code for [code] in self.kept[len(self.attributes) :]))

    def _margin_variance(self, target: Target) -> Array:
        if not self.is_slice:
            return super()._margin_variance(target)
        return self._slice_variance(self.joint.margin_variance()[self._slice])

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        if not self.is_slice:
            return super()._margin_covariance(first, second, target)
        places = self._joint_places(first), self._joint_places(second)
        product = self.joint.margin_covariance(*places)
        return np.asarray(self._spread(product, first, second)[0] / self._slice_base**2)

    @property
    def _slice_base(self) -> float:
        return float(self.joint.margins[self._slice][(-1,) * len(self.attributes)])

    def _slice_variance(self, of_joint: Array) -> Array:
        """Variances from those of the shares of everybody, of all margins or of the table."""
        places = np.indices(of_joint.shape).reshape(of_joint.ndim, -1).T
        spread, bases = self._spread(of_joint.ravel(), places, places)
        # All that is left of equal weights is rounding, as of the reports of one table.
        known = self._determined(spread, np.abs(of_joint.ravel()) + bases)
        return np.reshape(known / self._slice_base**2, of_joint.shape)

    def _spread(self, product: Array, first: Places, second: Places) -> tuple[Array, Array]:
        """Covariance of s − p·b of pairs of cells, from that of s; and what p²·var(b) is."""
        p, q = (self.margins[tuple(places.T)] for places in (first, second))
        base = self._with_base(self._everybody[None])
        with_first = self._with_base(first)
        with_second = with_first if first is second else self._with_base(second)
        spread = ratio_covariance(product, p, q, with_second, with_first, base)
        return spread, np.abs(p * q * base)

    @property
    def _everybody(self) -> Places:
        return np.array(self.margins.shape) - 1

    def _with_base(self, places: Places) -> Array:
        base = np.broadcast_to(self._everybody, places.shape)
        whole = self._joint_places(places), self._joint_places(base)
        return self.joint.margin_covariance(*whole)

    def _joint_places(self, places: Places) -> Places:
        codes = self._slice[1:]
        return np.concatenate([places, np.broadcast_to(codes, (len(places), len(codes)))], axis=1)

    def _determined(self, spread: Array, scale: Array | float) -> Array:
        """Variances that are no rounding of others of some scale; NaN where there is none."""
        nothing = _ROUNDING * scale
        if self.is_sample:
            return np.where(spread > nothing, spread, np.nan)
        return np.where(spread >= -nothing, np.maximum(spread, 0.0), np.nan)
