"""The people who give some answers, and what is reconstructed of them alone.

The share of a cell c among those in a group w is p = s/b, where s is the cell's share of everybody
in the table of the attributes asked about and filtered on, and b = π̂_w is the *base*, the sum of
that table over the cells of the group. With V the covariance of these cells, that of the shares is
J V Jᵀ, J = (I − p 1ᵀ)/b (delta method). So the result is a table like any other, for every
mechanism and target, and whatever is computed from tables holds of the group.

What the delta method leaves out is that an error of the base changes the size of the others. Of
surveys whose base is told from zero, intervals of 95 % hold the truth in as few as 0.79 where it is
about 2 standard errors above 0, in 0.92 where it is 4, and in 0.935 to 0.97 where it is 5 (two and
five cells simulated, normal with equal errors). So a group is refused below `CLEARLY` of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from halftruth_shared import EstimateError, ParameterError, Schema
from halftruth_shared.analyses.base import Group, Interval, Items
from halftruth_shared.channels.axes import Places
from halftruth_shared.mechanisms import Margins, TableEstimate, Target
from halftruth_shared.mechanisms.reconstruction import Reconstruction, ReportCounts

from ..wording import half_width, items, percent
from .bounds import Array, check_confidence, normal_quantile
from .confidences import CLEARLY
from .presence import category_code

#: Against the variances that a variance is the difference of, one that is nothing but rounding.
_ROUNDING = 1e-12


class GroupSchema(Schema):
    """The attributes that a group does not share."""

    def __init__(self, whole: Schema, shared: Items) -> None:
        object.__setattr__(self, "shared", tuple(shared))
        super().__init__(tuple(a for a in whole.attributes if a.name not in shared))

    shared: tuple[str, ...]

    def position(self, name: str, field: str = "attributes") -> int:
        """Of an attribute; ParameterError for one that all of the group share."""
        if name in self.shared:
            raise ParameterError(
                f"{field}: '{name}' is filtered on by where; expected other attributes",
                field=field,
            )
        return super().position(name, field)


class Filter:
    """Restricts estimates to a group.

    Parameters
    ----------
    reconstruction : Reconstruction
    counts : Counts
    where : mapping of str to str
        Answers that all of the group give, one or more.

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

    def __init__(self, reconstruction: Reconstruction, counts: ReportCounts, where: Items) -> None:
        whole = reconstruction.schema
        self._reconstruction, self._counts = reconstruction, counts
        self.where = dict(where)
        self._positions = whole.positions(list(where), "where")
        self._codes = tuple(
            category_code(whole.attributes[j], category, "where")
            for j, category in zip(self._positions, where.values(), strict=True)
        )
        if len(self._positions) == len(whole.names):
            raise ParameterError(
                "where: every attribute is filtered on; expected one that is left to ask about",
                field="where",
            )
        self.schema = GroupSchema(whole, where)
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

    def table(self, attributes: Sequence[str]) -> TableEstimate:
        """Table of some other attributes within the group."""
        joint = self._reconstruction.table(self._counts, [*attributes, *self.where])
        margins = self.margins(attributes)
        return _GroupTable(tuple(attributes), self.reports, joint, margins, self._codes)

    def margins(self, attributes: Sequence[str]) -> "GroupMargins":
        """All margins of that table."""
        names = [*attributes, *self.where]
        return GroupMargins(self._reconstruction.margins(self._counts, names), self._codes)

    def within(self, table: Array) -> Array:
        """What a table of all attributes inside the simplex says of the group.

        Raises
        ------
        EstimateError
            If nobody is in it.
        """
        place: list[int | slice] = [slice(None)] * table.ndim
        for j, code in zip(self._positions, self._codes, strict=True):
            place[j] = code
        part = table[tuple(place)]
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
            items=self.where,
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
        return float(self._base.support[self._codes])

    def _error(self, target: Target) -> float:
        """Standard error of the share, NaN where unknown; 0 where every report tells it."""
        variance = self._base.variance(target)[self._codes]
        if np.isnan(variance) and self._base.variance("respondents")[self._codes] == 0:
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
        nothing = _ROUNDING * (np.abs(of_whole.ravel()) + bases)
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

    def variance(self, target: Target = "population") -> Array:
        return self.margins.variance_by(self.joint.variance(target)[_of_group(self.codes)], target)

    def _covariance(self, target: Target) -> Array:
        whole = self.joint.support
        chosen = np.arange(whole.size).reshape(whole.shape)[_of_group(self.codes)].ravel()
        base = whole.ravel()[chosen].sum()
        slopes = (np.eye(len(chosen)) - self.support.ravel()[:, None]) / base
        cells = self.joint.covariance(target)[np.ix_(chosen, chosen)]
        return np.asarray(slopes @ cells @ slopes.T)
