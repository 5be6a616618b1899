"""The people who give some answers, or any, and what is reconstructed of them alone.

The share of a cell c among those in a group w is p = s/b, where s is the cell's share of everybody
in the table of the attributes asked about and filtered on, and b = π̂_w is the *base*, the sum of
that table over the cells of the group. With V the covariance of these cells, that of the shares is
J V Jᵀ, J = (I − p 1ᵀ)/b (delta method). So the result is a table like any other, for every
mechanism and target, and whatever is computed from tables holds of the group. So it is where one
of several answers is given, and where those are left out who did not answer; see `part`.

What the delta method leaves out is that an error of the base changes the size of the others. Of
surveys whose base is told from zero, intervals of 95 % hold the truth in as few as 0.79 where it is
about 2 standard errors above 0, in 0.92 where it is 4, and in 0.935 to 0.97 where it is 5 (two and
five cells simulated, normal with equal errors). So a group is refused below `CLEARLY` of them.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from halftruth_shared import Attribute, DomainTooLarge, EstimateError, ParameterError, Schema
from halftruth_shared.analyses.base import Answers, Group, Interval
from halftruth_shared.analyses.wording import half_width, items, percent
from halftruth_shared.channels.axes import Places
from halftruth_shared.mechanisms import Margins, TableEstimate, Target
from halftruth_shared.mechanisms.reconstruction import (
    COVARIANCE_CELLS,
    Reconstruction,
    ReportCounts,
    Sample,
)
from numpy.typing import NDArray

from .bounds import Array, check_confidence, normal_quantile
from .confidences import CLEARLY
from .part import ROUNDING, PartTable, TableMargins, answer_codes, codes_of, samples_within


class GroupSchema(Schema):
    """The attributes that are not filtered on; where only answers count, without what is none."""

    def __init__(self, whole: Schema, shared: Collection[str], answered: bool) -> None:
        object.__setattr__(self, "shared", tuple(shared))
        object.__setattr__(self, "answered", answered)
        others = [a for a in whole.attributes if a.name not in shared]
        super().__init__(tuple(_answers_alone(a) for a in others) if answered else tuple(others))

    shared: tuple[str, ...]
    answered: bool

    def position(self, name: str, field: str = "attributes") -> int:
        """Of an attribute; ParameterError for one that all of the group share."""
        if name in self.shared:
            raise ParameterError(
                f"{field}: '{name}' is filtered on by where; expected other attributes",
                field=field,
            )
        place = super().position(name, field)
        if self.answered and len(answer_codes(self.attributes[place])) < 2:
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
        answers={c: said for c, said in attribute.answers.items() if c in kept},
    )


class Filter:
    """Restricts estimates to a group, or to those who answered what is asked about.

    Parameters
    ----------
    reconstruction : Reconstruction
    counts : Counts
    where : mapping of str to str or sequence of str
        One of the answers to each of these attributes all of the group give.
    answered : bool
        Whether those are left out, table by table, whose answer to one of its attributes is none
        (``Attribute.missing``).

    Raises
    ------
    SchemaError
        If an attribute is unknown.
    ParameterError
        If a category is unknown, no attribute is left to ask about, or the reports do not tell of
        these together.
    EstimateError
        If the group's share of everybody is not clearly above 0.
    """

    def __init__(
        self,
        reconstruction: Reconstruction,
        counts: ReportCounts,
        where: Answers,
        answered: bool = False,
    ) -> None:
        whole = reconstruction.schema
        self._reconstruction, self._counts, self._answered = reconstruction, counts, answered
        self.where = dict(where)
        self._positions = whole.positions(list(where), "where") if where else ()
        self._codes = tuple(
            codes_of(whole.attributes[j], said, "where")
            for j, said in zip(self._positions, where.values(), strict=True)
        )
        if len(self._positions) == len(whole.names):
            raise ParameterError(
                "where: every attribute is filtered on; expected one that is left to ask about",
                field="where",
            )
        self.schema = GroupSchema(whole, where, answered)
        if where:
            self.check_cells(())
            self._check()

    @property
    def cells(self) -> int:
        """Cells of all margins of the attributes filtered on."""
        return math.prod(self._reconstruction.schema.shape[j] + 1 for j in self._positions)

    @cached_property
    def longest(self) -> int:
        """Most attributes of a table of the group that the reports tell of."""
        told = self._reconstruction.longest - len(
            set(self.where).difference(self._reconstruction.known)
        )
        return min(told, len(self.schema.names))

    @property
    def reports(self) -> int:
        """About how many of the reports are of the group, at least 1."""
        return max(1, round(self._counts.reports * self._share))

    def sums(self, attributes: Sequence[str]) -> bool:
        """Whether a table is put together from sums, or answers to it are left out.

        Otherwise it is a slice of a larger one, which may have more cells than a covariance.
        """
        several = any(len(codes) > 1 for codes in self._codes)
        return several or self._leaves_out(attributes)

    def table(self, attributes: Sequence[str], answering: Sequence[str] = ()) -> TableEstimate:
        """Table of some other attributes within the group.

        Parameters
        ----------
        attributes : sequence of str
        answering : sequence of str
            Where answers are left out: further attributes that all answered whom it is about.
        """
        asked = [*attributes, *answering]
        if self._leaves_out(asked):
            return self._clear(self._part(attributes, answering))
        if self.sums(asked):
            return self._part(attributes)
        joint = self._reconstruction.table(self._counts, [*attributes, *self.where])
        if not self.where:
            return joint
        margins = self._slices(attributes)
        return _GroupTable(tuple(attributes), self.reports, joint, margins, self._single)

    def margins(self, attributes: Sequence[str]) -> Margins:
        """All margins of that table."""
        if self.sums(attributes):
            return TableMargins(self.table(attributes))
        if not self.where:
            return self._reconstruction.margins(self._counts, attributes)
        return self._slices(attributes)

    def people(
        self, attributes: Sequence[str], answering: Sequence[str] = ()
    ) -> tuple[Array, Array]:
        """Share of everybody of each cell of that table, and its variance for these respondents."""
        if self.sums([*attributes, *answering]):
            part = self._part(attributes, answering)
            return part.cells, part.cells_variance("respondents")
        joint = self._reconstruction.table(self._counts, [*attributes, *self.where])
        cells = _of_group(self._single)
        return joint.support[cells], joint.variance("respondents")[cells]

    def answers_to(self, attributes: Sequence[str], table: Array) -> Array:
        """Of a table inside the simplex, what those answer who answered all that it is about."""
        kept = table[np.ix_(*self._kept(attributes))]
        return np.asarray(kept / kept.sum())

    def check_cells(self, attributes: Sequence[str]) -> None:
        """Refuse a table whose covariance is needed and too large.

        Raises
        ------
        DomainTooLarge
        """
        whole = self._reconstruction.schema
        names = [*attributes, *self.where]
        cells = math.prod(whole.shape[whole.position(name)] for name in names)
        if self.sums(attributes) and cells > COVARIANCE_CELLS:
            field = "missing" if self._leaves_out(attributes) else "where"
            raise DomainTooLarge(
                f"{field}: answers taken together in a table of {cells} cells; expected at most"
                f" {COVARIANCE_CELLS}, so fewer attributes",
                field=field,
            )

    @property
    def _single(self) -> tuple[int, ...]:
        return tuple(codes[0] for codes in self._codes)

    def _slices(self, attributes: Sequence[str]) -> "GroupMargins":
        names = [*attributes, *self.where]
        return GroupMargins(self._reconstruction.margins(self._counts, names), self._single)

    def _leaves_out(self, attributes: Sequence[str]) -> bool:
        whole = self._reconstruction.schema
        return self._answered and any(
            whole.attributes[whole.position(name)].missing for name in attributes
        )

    def _kept(self, attributes: Sequence[str]) -> list[tuple[int, ...]]:
        """Codes of the answers to each attribute that count."""
        whole = self._reconstruction.schema
        found = [whole.attributes[whole.position(name)] for name in attributes]
        return [
            answer_codes(a) if self._answered else tuple(range(len(a.categories))) for a in found
        ]

    def _part(self, attributes: Sequence[str], answering: Sequence[str] = ()) -> PartTable:
        others = list(answering) if self._leaves_out(answering) else []
        names = [*attributes, *others]
        joint = self._reconstruction.table(self._counts, [*names, *self.where])
        kept = (*self._kept(names), *self._codes)
        return PartTable(tuple(attributes), self._counts.reports, joint, kept)

    def _clear(self, part: PartTable) -> PartTable:
        """Refuse a table that hardly anybody answered all of."""
        if not part.base > CLEARLY * part.base_error("population"):
            raise EstimateError(
                f"missing: those who answered {', '.join(part.joint.attributes)} are"
                f" {percent(part.base, 1)} of everybody, which is not clearly above zero; expected"
                " keep, or more reports",
                field="missing",
            )
        return part

    def within(self, table: Array) -> Array:
        """What a table of all attributes inside the simplex says of the group.

        Raises
        ------
        EstimateError
            If nobody is in it.
        """
        if not self.where:
            return table
        part = table
        for j, codes in zip(self._positions, self._codes, strict=True):
            part = part.take(codes, axis=j)
        part = part.sum(axis=tuple(self._positions))
        base = float(part.sum())
        if not base > 0:
            raise EstimateError(
                f"where: by this estimate nobody gives {items(self.where)}; expected estimate ="
                " moment, or another group",
                field="where",
            )
        return np.asarray(part / base)

    def describe(self, confidence: float, target: Target) -> Group:
        """How large the group is, with intervals."""
        check_confidence(confidence)
        quantile, reports = normal_quantile(1 - confidence), self._counts.reports

        def around(aim: Target, times: int) -> Interval | None:
            middle, width = self._share * times, quantile * self._error(aim) * times
            return None if math.isnan(width) else (middle - width, middle + width)

        return Group(
            items=one_or_several(self.where),
            share=self._share,
            interval=around(target, 1),
            people=self._share * reports,
            people_interval=around("respondents", reports),
        )

    @cached_property
    def _base(self) -> TableEstimate:
        names = list(self.where)
        try:
            self._reconstruction.check(names)
            return self._reconstruction.table(self._counts, names)
        except (ParameterError, EstimateError) as error:
            said = str(error).replace("attributes:", "where:", 1)
            raise type(error)(said, field="where") from None

    @cached_property
    def _share(self) -> float:
        if not self.where:
            return 1.0
        return float(self._base.support[np.ix_(*self._codes)].sum())

    def _error(self, target: Target) -> float:
        """Standard error of the share, NaN where unknown; 0 where every report tells it."""
        if self.sums(()):
            part = PartTable((), self._counts.reports, self._base, self._codes)
            return part.base_error(target)
        variance = self._base.variance(target)[self._single]
        if np.isnan(variance) and self._base.variance("respondents")[self._single] == 0:
            return 0.0
        return math.sqrt(variance)

    def _check(self) -> None:
        share, error = self._share, self._error("population")
        if not share > CLEARLY * error:
            known = "" if math.isnan(error) else f" {half_width(normal_quantile(0.05) * error)}"
            raise EstimateError(
                f"where: those with {items(self.where)} are {percent(share, 1)}{known} of"
                " everybody, which is not clearly above zero; expected a larger group, or more"
                " reports",
                field="where",
            )
        if self.longest < 1:
            raise ParameterError(
                f"where: the reports tell of at most {self._reconstruction.longest} attributes"
                " together; expected fewer, so that one is left to ask about",
                field="where",
            )


def one_or_several(where: Answers) -> dict[str, str | list[str]]:
    """Answers as a result says them: a single one by itself."""
    found: dict[str, str | list[str]] = {}
    for name, said in where.items():
        several = [said] if isinstance(said, str) else list(dict.fromkeys(said))
        found[name] = several[0] if len(several) == 1 else several
    return found


class GroupMargins(Margins):
    """Margins within a group, by those of the table of its attributes, too.

    Parameters
    ----------
    whole : Margins
        With the attributes filtered on as its last axes.
    codes : tuple of int
        Their categories.
    """

    def __init__(self, whole: Margins, codes: tuple[int, ...]) -> None:
        self._whole, self._codes = whole, codes
        cells = np.asarray(whole.support[_of_group(codes)])
        # Everybody in the group: the last place of every axis.
        self._everybody = np.array(cells.shape) - 1
        self._base = cells[tuple(self._everybody)]
        self.support = np.asarray(cells / self._base)

    def variance(self, target: Target = "population") -> Array:
        return self.variance_by(self._whole.variance(target)[_of_group(self._codes)], target)

    def variance_by(self, of_whole: Array, target: Target) -> Array:
        """Variances from those of the shares of everybody, of these margins or of the table."""
        places = np.indices(of_whole.shape).reshape(of_whole.ndim, -1).T
        spread, bases = self._spread(of_whole.ravel(), places, places, target)
        # All that is left of equal weights is rounding, as of the reports of one table.
        nothing = ROUNDING * (np.abs(of_whole.ravel()) + bases)
        if target == "population":
            known = np.where(spread > nothing, spread, np.nan)
        else:
            known = np.where(spread < -nothing, np.nan, np.maximum(spread, 0.0))
        return np.reshape(known / self._base**2, of_whole.shape)

    def covariance(self, first: Places, second: Places, target: Target = "population") -> Array:
        product = self._whole.covariance(
            self._whole_places(first), self._whole_places(second), target
        )
        return np.asarray(self._spread(product, first, second, target)[0] / self._base**2)

    def _spread(
        self, product: Array, first: Places, second: Places, target: Target
    ) -> tuple[Array, Array]:
        """Covariance of s − p·b of pairs of cells, from that of s; and what p²·var(b) is."""
        p, q = (self.support[tuple(places.T)] for places in (first, second))
        bases = p * q * self._with_base(self._everybody[None], target)
        with_first = self._with_base(first, target)
        with_second = with_first if first is second else self._with_base(second, target)
        return product - q * with_first - p * with_second + bases, np.abs(bases)

    def _with_base(self, places: Places, target: Target) -> Array:
        base = np.broadcast_to(self._everybody, places.shape)
        return self._whole.covariance(self._whole_places(places), self._whole_places(base), target)

    def _whole_places(self, places: Places) -> Places:
        codes = np.broadcast_to(self._codes, (len(places), len(self._codes)))
        return np.concatenate([places, codes], axis=1)


def _of_group(codes: tuple[int, ...]) -> tuple[Any, ...]:
    """Of a table whose last axes are those filtered on, the part that is of the group."""
    return (..., *codes)


@dataclass(frozen=True, eq=False)
class _GroupTable(TableEstimate):
    """Table within a group; about `reports` of the reports are of it."""

    attributes: tuple[str, ...]
    reports: int
    joint: TableEstimate
    margins: GroupMargins
    codes: tuple[int, ...]

    @property
    def condition_number(self) -> float | None:
        return self.joint.condition_number

    @cached_property
    def support(self) -> Array:
        cells = self.joint.support[_of_group(self.codes)]
        return np.asarray(cells / cells.sum())

    @property
    def effective_reports(self) -> Array:
        return np.asarray(self.joint.effective_reports[_of_group(self.codes)])

    def samples(self, shares: Array) -> Iterator[Sample]:
        return samples_within(self.joint, self._chosen[:, None], shares.ravel())

    @property
    def _chosen(self) -> NDArray[np.int64]:
        """Cells of the larger table."""
        whole = np.arange(self.joint.support.size).reshape(self.joint.support.shape)
        return np.asarray(whole[_of_group(self.codes)].ravel())

    def variance(self, target: Target = "population") -> Array:
        return self.margins.variance_by(self.joint.variance(target)[_of_group(self.codes)], target)

    def _covariance(self, target: Target) -> Array:
        chosen = self._chosen
        base = self.joint.support.ravel()[chosen].sum()
        slopes = (np.eye(len(chosen)) - self.support.ravel()[:, None]) / base
        cells = self.joint.covariance(target)[np.ix_(chosen, chosen)]
        return np.asarray(slopes @ cells @ slopes.T)
