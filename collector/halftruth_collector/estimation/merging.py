"""Categories merged into one: a coarser table, as a linear map along each of its axes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.base import Merge, Target
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from .answers import category_codes
from .bounds import SIGNIFICANT, Array
from .table import SOMEBODY, DerivedTable, ReportDistribution, Table
from .variances import UnitVariance

#: Longest label that names all categories, if `_NAMED` or more are merged.
_LONGEST, _NAMED = 60, 3


@dataclass(frozen=True)
class Merging:
    """Merged categories of some questions: groups of two categories or more, by attribute.

    Raises
    ------
    SchemaError, ParameterError
        If an attribute or a category is unknown, in two groups, or missing; or if one category of a
        question remains.
    """

    whole: Schema
    merge: Merge

    def __post_init__(self) -> None:
        _ = self.schema

    @cached_property
    def places(self) -> dict[str, NDArray[np.int64]]:
        """Number of the merged category of each category, by attribute."""
        positions = self.whole.positions(list(self.merge), "merge") if self.merge else ()
        return {
            name: _places(self.whole.attributes[j], groups)
            for j, (name, groups) in zip(positions, self.merge.items(), strict=True)
        }

    @cached_property
    def schema(self) -> Schema:
        """The attributes with merged categories."""
        if not self.merge:
            return self.whole
        merged = [
            _merged(each, self.places[each.name]) if each.name in self.places else each
            for each in self.whole.attributes
        ]
        names = {
            attribute.name: {
                category: merged[j].categories[place]
                for category, place in zip(
                    attribute.categories, self.places[attribute.name], strict=True
                )
            }
            for j, attribute in enumerate(self.whole.attributes)
            if attribute.name in self.places
        }
        return Schema(tuple(_with_condition(each, names) for each in merged))

    def among(self, schema: Schema) -> "Merging":
        """Restrict the merging to the attributes of a schema."""
        if schema is self.whole:
            return self
        return Merging(schema, {n: each for n, each in self.merge.items() if n in schema.names})

    def table(self, table: Table) -> Table:
        """Return a table with merged categories along its axes."""
        if not any(name in self.places for name in table.axes):
            return table
        places = tuple(
            self.places.get(name, np.arange(size))
            for name, size in zip(table.axes, table.value.shape, strict=True)
        )
        return MergedTable(table, places)


@dataclass(eq=False)
class MergedTable(DerivedTable):
    """Table whose cells are sums of cells of a finer table.

    Attributes
    ----------
    joint : Table
        The finer table.
    places : tuple of ndarray of int
        For each axis of the finer table, the merged category of each category.
    """

    places: tuple[NDArray[np.int64], ...]

    @cached_property
    def value(self) -> Array:
        return self._sums(self.joint.value)

    @property
    def effective_reports(self) -> Array:
        return self._sums(self.joint.effective_reports)

    def report_distributions(self, shares: Array) -> Iterable[ReportDistribution]:
        # The share of a merged cell is divided in proportion to the estimates of its parts.
        parts = np.maximum(self.joint.value.ravel(), SOMEBODY)
        of_cell = np.bincount(self._cell, parts, self.value.size)
        finer = (parts * (shares.ravel() / of_cell)[self._cell]).reshape(self.joint.value.shape)
        for each in self.joint.report_distributions(finer):
            yield replace(each, weights=each.weights @ self._map.T)

    def _covariance_of(self, forms: Array) -> Array:
        return self.joint.covariance(forms[:, self._cell])

    def unit_variance(self) -> UnitVariance | None:
        """Return the variances of the finer cells, and of merged ones from the same moments."""
        parts = self.joint.unit_variance()
        if parts is None or self.reports < 2:
            return parts and UnitVariance(*map(self._sums, parts))
        columns = np.array([self._sums(column) for column in parts])
        several = self._sums(np.ones(self.joint.value.shape)) > 1
        large, alone = self.sampled(0.0), self.sampled(1.0)
        for cell in np.argwhere(several):
            check_deadline()
            place = tuple(cell)
            of_population = large._variances_along(place)
            mixed = of_population
            if self.fraction:
                by_perturbation = alone._variances_along(place)
                mixed = (1 - self.fraction) * of_population + self.fraction * by_perturbation
            nobody, half, everybody = mixed
            quadratic = 2 * nobody - 4 * half + 2 * everybody
            columns[(slice(None), *place)] = nobody, everybody - nobody - quadratic, quadratic
        return UnitVariance(*columns)

    def _variances_along(self, cell: tuple[int, ...]) -> Array:
        """Return N times the variance of a cell whose share is 0, 1/2 and 1."""
        form = np.zeros(self.value.shape)
        form[cell] = 1.0
        others = np.maximum(self.value, SOMEBODY) * (1 - form)
        others /= others.sum()
        along = [(1 - share) * others + share * form for share in (0.0, 0.5, 1.0)]
        known = [self.covariance(form.reshape(1, -1), shares).item() for shares in along]
        return np.array(known) * (self.reports - 1)

    def _variance(self, target: Target) -> Array:
        if self.reports < 2:
            return np.full(self.value.shape, np.nan)
        known = self._map @ self.joint.identified_covariance() @ self._map.T
        spread = np.maximum(np.diag(known), 0.0).reshape(self.value.shape)
        alone = self._sums(np.ones(self.joint.value.shape)) == 1
        return np.where(alone, self._sums(self.joint.variance()), spread)

    def _covariance(self, target: Target) -> Array:
        return np.asarray(self._map @ self.joint.covariance() @ self._map.T)

    @cached_property
    def _cell(self) -> NDArray[np.int64]:
        """Index of the merged cell of each cell of the finer table."""
        codes = np.meshgrid(*self.places, indexing="ij")
        shape = [int(places.max()) + 1 for places in self.places]
        return np.asarray(np.ravel_multi_index(tuple(codes), shape).ravel())

    @cached_property
    def _map(self) -> Array:
        return np.asarray(np.eye(self.value.size)[:, self._cell])

    def _sums(self, finer: Array) -> Array:
        for axis, places in enumerate(self.places):
            sums = np.eye(int(places.max()) + 1)[:, places]
            finer = np.moveaxis(np.tensordot(sums, finer, axes=(1, axis)), 0, axis)
        return np.asarray(finer)


def rare_merged(attribute: Attribute, table: Table) -> list[list[str]]:
    """Group the rare answers to a question, for measures that need every share above zero.

    Each group and each remaining answer has a share that would be significantly above zero in 97.5
    % of surveys. Rare ordered answers are merged with the rarer neighbour, others with each other.

    Parameters
    ----------
    attribute : Attribute
    table : Table
        Of this question alone.

    Returns
    -------
    list of list of str
        Empty if no answer is rare, or if a single category would remain.
    """
    design = table.unit_variance()
    if design is None:
        return []
    least = design.smallest_share((2 * SIGNIFICANT) ** 2 / table.reports)
    share = table.value
    groups = [[code] for code in range(share.size) if not attribute.missing_mask[code]]

    def is_rare(group: list[int]) -> bool:
        return float(share[group].sum()) < float(least[group].max())

    while len(groups) > 1 and any(map(is_rare, groups)):
        check_deadline()
        rarest = min(filter(is_rare, groups), key=lambda group: float(share[group].sum()))
        place = groups.index(rarest)
        near = (place - 1, place + 1) if attribute.ordered else range(len(groups))
        others = [groups[j] for j in near if j != place and 0 <= j < len(groups)]
        joined = min(others, key=lambda group: float(share[group].sum()))
        groups = [group for group in groups if group not in (rarest, joined)]
        groups = sorted([*groups, sorted(rarest + joined)])
    if len(groups) < 2:
        return []
    names = attribute.categories
    return [[names[code] for code in group] for group in groups if len(group) > 1]


def _places(attribute: Attribute, groups: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the number of the merged category of each category, in the order of the first ones."""
    first = np.arange(len(attribute.categories))
    taken: set[int] = set()
    for group in groups:
        codes = category_codes(attribute, group, "merge")
        said = f"merge: '{attribute.name}'"
        if len(codes) < 2:
            raise ParameterError(
                f"{said}: one category by itself; expected two or more", field="merge"
            )
        if twice := taken.intersection(codes):
            name = attribute.categories[min(twice)]
            raise ParameterError(f"{said}: '{name}' is merged twice; expected once", field="merge")
        if attribute.missing_mask[list(codes)].any():
            raise ParameterError(
                f"{said}: a missing value is no answer; expected answers", field="merge"
            )
        taken.update(codes)
        first[list(codes)] = codes[0]
    kept, places = np.unique(first, return_inverse=True)
    if len(kept) < 2:
        raise ParameterError(
            f"merge: '{attribute.name}' has one category left; expected two or more",
            field="merge",
        )
    return np.asarray(places)


def _merged(attribute: Attribute, places: NDArray[np.int64]) -> Attribute:
    """Return an attribute with merged categories. Merged numbers are answers in an order."""
    parts = [np.flatnonzero(places == place) for place in range(int(places.max()) + 1)]
    names = {
        tuple(codes): _joined([attribute.categories[code] for code in codes]) for codes in parts
    }
    answers, short = attribute.answers_in(), attribute.short_answers_in()
    items = attribute.items
    return replace(
        attribute,
        categories=tuple(names.values()),
        items=None
        if items is None
        else tuple(n for codes, n in names.items() if attribute.item_mask[list(codes)].all()),
        kind="choice",
        number=None,
        answers={name: _joined([answers[code] for code in codes]) for codes, name in names.items()},
        short_answers={
            name: _joined([short[code] for code in codes]) for codes, name in names.items()
        },
    )


def _joined(labels: Sequence[str]) -> str:
    """Return the label of merged categories: all of them, or the first ones."""
    joined = " or ".join(labels)
    if len(joined) <= _LONGEST or len(labels) < _NAMED:
        return joined
    return f"{labels[0]} or {len(labels) - 1} others"


def _with_condition(attribute: Attribute, names: Mapping[str, Mapping[str, str]]) -> Attribute:
    """Return an attribute whose condition names merged categories."""
    conditions = {
        name: tuple(dict.fromkeys(names.get(name, {}).get(each, each) for each in answers))
        for name, answers in attribute.ask_if.items()
    }
    return replace(attribute, ask_if=conditions) if attribute.ask_if else attribute
