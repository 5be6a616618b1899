"""Tables reconstructed from a survey's counts, none larger than memory allows."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, combinations

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, NoReports, Survey
from halftruth_shared.analyses.base import Answers, Group, Method, Target, TypicalError
from halftruth_shared.channels import Distortion
from halftruth_shared.mechanisms import Margins, TableEstimate
from numpy.typing import NDArray

from .bounds import Array
from .constrained import CONSTRAINED_CELLS, margin, project_to_simplex
from .counts import Counts
from .group import Filter
from .likelihood import BestGuess, best_guess, held_out_guesses, typical_error
from .randomized import randomized_table
from .rules import RuleMargins
from .table import Table

#: Largest table that is handed out: as a message, each of its cells takes about a kilobyte.
TABLE_CELLS = 2**16

#: Largest table, and most cells of all margins of one, that are looked at on the way.
INNER_CELLS = 2**22

#: Most tables, and most cells of all of these, that tell how far best guesses are off.
TYPICAL_TABLES, _TYPICAL_CELLS = 50, 2**15

#: Cells of all margins together up to which they are reconstructed at once.
_AT_ONCE = 2**17


class Reconstructed:
    """What the mechanism of a survey makes of its counts.

    Every method raises SchemaError for an attribute that is unknown or named twice, DomainTooLarge
    for a table of too many cells, and ParameterError for one of more attributes than the reports
    tell of together.

    Parameters
    ----------
    survey : Survey
    counts : Counts
    where : mapping of str to str or sequence of str
        Answers of which all those give one whom the tables are about; none for everybody.
    answered : bool
        Whether each table is about those alone who answered all that it is about.

    Attributes
    ----------
    schema : Schema
        The attributes that can be asked about, all but those of `where`.
    reports : int
        About how many of the reports are of these people.
    """

    def __init__(
        self, survey: Survey, counts: Counts, where: Answers, answered: bool = False
    ) -> None:
        self._survey, self._counts, self._about = survey, counts, (where, answered)
        self._reconstruction = survey.mechanism.reconstruction(survey.schema)
        self._filter: Filter | None = None
        if where or answered:
            self._filter = Filter(self._reconstruction, counts, where, answered)
        self.schema = self._filter.schema if self._filter else survey.schema
        self.reports = self._filter.reports if self._filter else counts.reports
        self._constrained: dict[Method, Array] = {}

    @property
    def reports_are_records(self) -> bool:
        """Whether the reports have tables of their own, which none has of a group."""
        return self._filter is None and self._reconstruction.reports_are_records

    @property
    def longest(self) -> int:
        """Most attributes of a table that the reports tell of."""
        return self._filter.longest if self._filter else self._reconstruction.longest

    @cached_property
    def at_once(self) -> bool:
        """Whether all margins of all attributes are few enough to be estimated at once."""
        reconstruction = self._reconstruction
        cells = math.prod(size + 1 for size in reconstruction.schema.shape)
        return (
            not (self._filter and self._filter.sums(self.schema.names))
            and reconstruction.quick_margins
            and cells <= _AT_ONCE
            and reconstruction.complete(self._counts)
        )

    @cached_property
    def whole(self) -> Margins:
        """Margins of all attributes."""
        return self._margins(self.schema.names)

    def table(self, attributes: Sequence[str], answering: Sequence[str] = ()) -> Table:
        """The table of some attributes, one axis for each in the order given."""
        self.check([*attributes, *answering])
        if self._filter is not None:
            return Table(self._filter.table(attributes, answering))
        return Table(self._estimate(attributes))

    def people(self, attributes: Sequence[str], answering: Sequence[str]) -> tuple[Array, Array]:
        """Share of everybody of each of its cells, with the variance for these respondents."""
        if self._filter is not None:
            return self._filter.people(attributes, answering)
        table = self.table(attributes)
        return table.support, table.variance("respondents")

    def margin(self, method: Method, attributes: Sequence[str]) -> Array:
        """The table of some attributes, by an estimate inside the simplex."""
        self.check(attributes)
        table = margin(self.constrained(method), self.schema.positions(attributes))
        return table if self._filter is None else self._filter.answers_to(attributes, table)

    def tables(self, subsets: Iterable[tuple[int, ...]]) -> Iterator[TableEstimate]:
        """The tables of the attributes at some positions, one after the other."""
        for positions in subsets:
            names = self._names(positions)
            self.check(names, INNER_CELLS)
            yield self._estimate(names)

    def slopes(
        self, codes: NDArray[np.int64], support: Array, min_support: float, target: Target
    ) -> Array:
        """By how much the variance of each itemset's support grows with it, up to a threshold.

        It is what it would be with all other answers even, and of a table the largest one.
        """
        where = list(self._filter.where) if self._filter else []
        within = self.reports / self._counts.reports
        _, kind = np.unique(np.packbits(codes >= 0, axis=1), axis=0, return_inverse=True)
        order, ends = np.argsort(kind.ravel(), kind="stable"), np.cumsum(np.bincount(kind.ravel()))
        found = np.zeros(len(codes))
        for rows in filter(len, np.split(order, ends[:-1])):
            names = self._names(np.flatnonzero(codes[rows[0]] >= 0).tolist())
            unit = self._reconstruction.unit_variance([*names, *where], target)
            both = within * (support[rows] + min_support)
            found[rows] = (unit.linear.max() + unit.quadratic.max() * both) / self.reports
        return np.maximum(found, 0.0)

    def rule_margins(self, positions: tuple[int, ...], target: Target) -> RuleMargins:
        """What rules among the attributes at some positions are estimated from."""
        if self.at_once:
            return RuleMargins(tuple(range(len(self.schema.shape))), self.whole, target)
        self._check_margins(positions)
        names = self._names(positions)
        self.check(names, INNER_CELLS)
        return RuleMargins(positions, self._margins(names), target)

    def constrained(self, method: Method) -> Array:
        """Estimate of the table of all attributes of `schema` inside the simplex."""
        if method not in self._constrained:
            schema = self._reconstruction.schema
            if schema.size > CONSTRAINED_CELLS:
                raise DomainTooLarge(
                    f"estimate: a whole table of {schema.size} cells; expected at most"
                    f" {CONSTRAINED_CELLS}, or estimate = moment",
                    field="estimate",
                )
            if method == "likelihood":
                table = self._best_guess.table
            elif not self._reconstruction.complete(self._counts):
                raise EstimateError(
                    "estimate: the reports tell of no table of all attributes; expected estimate ="
                    " likelihood, or moment",
                    field="estimate",
                )
            else:
                moment = self._reconstruction.table(self._counts, schema.names).support
                table = project_to_simplex(moment)
            self._constrained[method] = self._filter.within(table) if self._filter else table
        return self._constrained[method]

    @cached_property
    def _best_guess(self) -> BestGuess:
        return best_guess(self._reconstruction, self._counts)

    @cached_property
    def _held_out(self) -> list[tuple[Counts, Array]]:
        steps = self._best_guess.steps
        return list(held_out_guesses(self._reconstruction, self._counts, steps))

    def typical_error(self, attributes: Sequence[str]) -> TypicalError:
        """How far the best guess is off in tables like that of these attributes."""
        found, subsets, squares = None, self._like(attributes), []
        with suppress(EstimateError, NoReports):
            for part, guess in self._held_out:
                held = Reconstructed(self._survey, part, *self._about)
                held._best_guess = replace(self._best_guess, table=guess)
                squares.append(held._off([self._names(positions) for positions in subsets]))
            found = typical_error(np.array(squares))
        error, bound = found or (None, True)
        return TypicalError(
            length=len(attributes),
            error=error,
            bound=bound,
            learned=len(attributes) > 1 and self._best_guess.learned,
        )

    def _like(self, attributes: Sequence[str]) -> list[tuple[int, ...]]:
        """Their positions, and those of others as many, by chance where these are too many."""
        positions, rng = tuple(sorted(self.schema.positions(attributes))), np.random.default_rng(0)
        size, every = len(positions), range(len(self.schema.shape))
        if math.comb(len(every), size) <= TYPICAL_TABLES:
            others = list(combinations(every, size))
        else:
            drawn = (rng.choice(len(every), size, replace=False) for _ in range(TYPICAL_TABLES))
            others = [tuple(sorted(each.tolist())) for each in drawn]
        cells = accumulate(math.prod(self.schema.shape[j] for j in each) for each in others)
        few = [each for each, sum_ in zip(others, cells, strict=True) if sum_ <= _TYPICAL_CELLS]
        return list(dict.fromkeys([positions, *few]))

    def _off(self, subsets: Sequence[Sequence[str]]) -> float:
        """Mean square difference of guess and unbiased estimate, less the variance of that."""
        found = []
        for names in subsets:
            table = self.table(names)
            found.append((self.margin("likelihood", names) - table.support) ** 2 - table.variance())
        return float(np.concatenate([each.ravel() for each in found]).mean())

    def randomized(self, attributes: Sequence[str]) -> Table:
        """The table of the reports themselves; EstimateError if they are no records."""
        self.check(attributes)
        if self._filter is not None:
            field, none = ("where", "none") if self._filter.where else ("missing", "keep")
            raise EstimateError(
                f"{field}: who is in the group is known of answers, and not of single reports;"
                f" expected {none} where reports themselves are looked at",
                field=field,
            )
        return randomized_table(self._reconstruction, self._counts, attributes)

    def distortions(
        self, attributes: Sequence[str], categories: Sequence[int | None]
    ) -> tuple[Distortion, ...] | None:
        """How each attribute is distorted, None where not each by itself."""
        return self._reconstruction.distortions(attributes, categories)

    def check(self, attributes: Sequence[str], most: int = TABLE_CELLS) -> None:
        """Refuse a table of more cells than that, or of which the reports do not tell."""
        positions = self.schema.positions(attributes)
        cells = math.prod(self.schema.shape[j] for j in positions)
        if cells > most:
            raise DomainTooLarge(
                f"attributes: a table of {cells} cells; expected at most {most}, so fewer"
                " attributes",
                field="attributes",
            )
        if self._filter is not None:
            self._check_margins(positions)
            self._filter.check_cells(attributes)
            attributes = [*attributes, *self._filter.where]
        self._reconstruction.check(attributes)

    def _check_margins(self, positions: Iterable[int]) -> None:
        cells = math.prod(self.schema.shape[j] + 1 for j in positions)
        if self._filter is not None:
            cells *= self._filter.cells
        if cells > INNER_CELLS:
            raise DomainTooLarge(
                f"attributes: {cells} cells of all margins together; expected at most"
                f" {INNER_CELLS}, so fewer attributes or a lower max_length",
                field="attributes",
            )

    def group(self, confidence: float, target: Target) -> Group | None:
        """How large the group is; None where the tables are about everybody."""
        if self._filter is None or not self._filter.where:
            return None
        return self._filter.describe(confidence, target)

    def _estimate(self, names: Sequence[str]) -> TableEstimate:
        if self._filter is not None:
            return self._filter.table(names)
        return self._reconstruction.table(self._counts, names)

    def _margins(self, names: Sequence[str]) -> Margins:
        if self._filter is not None:
            return self._filter.margins(names)
        return self._reconstruction.margins(self._counts, names)

    def _names(self, positions: Iterable[int]) -> list[str]:
        return [self.schema.names[j] for j in positions]
