"""Domain estimation: subpopulations by their answers, and the questions that can be analysed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from halftruth_shared import Attribute, DomainTooLarge, EstimateError, ParameterError, Schema
from halftruth_shared.analyses.base import Answers
from halftruth_shared.results.wording import items

from .answers import answer_codes, category_codes
from .bounds import Array
from .derived import restricted
from .table import COVARIANCE_CELLS, Table

#: Codes of the selected answers, for each of some attributes.
Kept = tuple[tuple[int, ...], ...]


class Domain(Schema):
    """Domain of estimates, as a schema of the attributes that can be analysed.

    The schema has all attributes without a filter. If missing answers are excluded, it lacks their
    missing categories.

    Parameters
    ----------
    whole : Schema
    where : mapping of str to str or sequence of str
        The filter: people who give one of these answers to each of these attributes. Empty for all
        people. If no attribute is left, it is refused.
    answered : bool
        Whether each table excludes people with a missing answer to one of its questions.
    """

    whole: Schema
    where: Answers
    answered: bool

    def __init__(self, whole: Schema, where: Answers, answered: bool = False) -> None:
        for name, value in (("whole", whole), ("where", where), ("answered", answered)):
            object.__setattr__(self, name, value)
        if where and len(self.codes) == len(whole.names):
            raise ParameterError(
                "where: every attribute is filtered on; expected one that is left to ask about",
                field="where",
            )
        others = [attribute for attribute in whole.attributes if attribute.name not in where]
        super().__init__(tuple(map(_answers_alone, others) if answered else others))

    def position(self, name: str, field: str = "attributes") -> int:
        """Return the position of an attribute; ParameterError if it cannot be analysed."""
        if name in self.where:
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

    @property
    def restricted(self) -> bool:
        """True unless the domain is all people."""
        return bool(self.where) or self.answered

    @cached_property
    def filtered(self) -> tuple[int, ...]:
        """Positions of the filtered attributes in the whole schema."""
        return self.whole.positions(list(self.where), "where") if self.where else ()

    @cached_property
    def codes(self) -> Kept:
        """Codes of the selected answers, for each filtered attribute."""
        return tuple(
            category_codes(self.whole.attributes[j], categories, "where")
            for j, categories in zip(self.filtered, self.where.values(), strict=True)
        )

    def leaves_out(self, attributes: Sequence[str]) -> bool:
        """Return whether people with missing answers to some attributes are excluded."""
        return self.answered and any(self._attribute(name).missing for name in attributes)

    def is_slice(self, attributes: Sequence[str]) -> bool:
        """Return whether a table of the domain is a slice of a larger table, without sums."""
        return all(len(codes) == 1 for codes in self.codes) and not self.leaves_out(attributes)

    def kept(self, attributes: Sequence[str]) -> Kept:
        """Return the codes of the categories in use, for each attribute."""
        chosen = map(self._attribute, attributes)
        return tuple(
            answer_codes(a) if self.answered else tuple(range(len(a.categories))) for a in chosen
        )

    def table(
        self,
        joint: Callable[[Sequence[str]], Table],
        attributes: Sequence[str],
        answering: Sequence[str] = (),
        reports: int | None = None,
        everybody: Callable[[], Table] | None = None,
    ) -> Table:
        """Return the table of some attributes within the domain.

        Parameters
        ----------
        joint : callable
            Returns the table of all people, for names of the whole schema.
        answering : sequence of str
            If missing answers are excluded, people who did not answer these are also excluded.
        reports, everybody : optional
            As for `restricted`; `reports` is of all people in the filter.
        """
        names = [*attributes, *(answering if self.leaves_out(answering) else ())]
        of_all = joint([*names, *self.where])
        if not self.where and not self.leaves_out(names):
            return of_all
        kept = (*self.kept(names), *self.codes)
        if self.leaves_out(names):
            reports = None
        return restricted(of_all, len(attributes), kept, reports, everybody)

    def check_cells(self, attributes: Sequence[str]) -> None:
        """Refuse a table if its covariance is needed and too large."""
        cells = math.prod(len(self._attribute(n).categories) for n in [*attributes, *self.where])
        if cells > COVARIANCE_CELLS and not self.is_slice(attributes):
            field = "missing" if self.leaves_out(attributes) else "where"
            raise DomainTooLarge(
                f"{field}: answers taken together in a table of {cells} cells; expected at most"
                f" {COVARIANCE_CELLS}, so fewer attributes",
                field=field,
            )

    def slice(self, table: Array) -> Array:
        """Condition a nonnegative table of the whole schema on the filter of the domain.

        If the estimated share of the domain is 0, it is refused.
        """
        if not self.where:
            return table
        for j, codes in zip(self.filtered, self.codes, strict=True):
            table = table.take(codes, axis=j)
        table = table.sum(axis=self.filtered)
        if not table.sum() > 0:
            raise EstimateError(
                f"where: by this estimate nobody gives {items(self.where)}; expected estimate ="
                " moment, or another group",
                field="where",
            )
        return np.asarray(table / table.sum())

    def _attribute(self, name: str) -> Attribute:
        return self.whole.attributes[self.whole.position(name)]


def _answers_alone(attribute: Attribute) -> Attribute:
    """Return an attribute without its missing categories, if two or more others remain."""
    codes = answer_codes(attribute)
    if not attribute.missing or len(codes) < 2:
        return attribute
    kept = tuple(attribute.categories[code] for code in codes)
    items = attribute.items
    return replace(
        attribute,
        categories=kept,
        collapsed=None,
        items=None if items is None else tuple(item for item in items if item in kept),
        missing=(),
        optional=False,
        ask_if={},
        answers={c: label for c, label in attribute.answers.items() if c in kept},
        short_answers={c: label for c, label in attribute.short_answers.items() if c in kept},
    )
