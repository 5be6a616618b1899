"""Decisions behind headlines (Bonferroni, false discovery rate), and p-values in words."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.results import (
    Caveat,
    EstimateColumns,
    Result,
    Row,
    Texts,
    note,
    quantity,
)
from halftruth_shared.results.claims import Claim, ClaimKind, SelectedSet, Test
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.long_table import FREQUENT, SIGNIFICANT
from halftruth_shared.results.wording import number, percent
from msgspec.structs import replace
from numpy.typing import ArrayLike

from ..estimation.bounds import Array
from ..estimation.false_reports import statistics, to_undo
from ..estimation.reliability import FACTOR, POINTS, margin, rounded_up
from ..estimation.selection import discoveries

Direction = Literal["more", "less"]

#: Returns a result again, with intervals of another confidence level.
AtLevel = Callable[[float], Result[Any]]

#: Smaller p-values are stated as below this bound, where normal approximations are inaccurate.
_LEAST = 1e-4

#: Relative difference of p-values that is rounding error.
_ALIKE = 1e-6


def selected_sets(
    result: Result[Any], at_level: AtLevel, rows: Sequence[int], alpha: float, many: int
) -> list[SelectedSet]:
    """Return the simultaneous (Bonferroni) confidence sets of rows selected among many.

    They are those of the same rows of the same analysis at the level 1 − α/m, so a headline and its
    table have one method. Empty if there was no choice.
    """
    if many == 1:
        return []
    further = at_level(1 - alpha / many).rows
    same = [further[row].keys == result.rows[row].keys for row in rows]
    assert all(same)  # noqa: S101 - a level changes no rows
    return [
        SelectedSet(interval=row.interval, set=row.set, gap=row.gap)
        for row in (further[place] for place in rows)
    ]


def as_selected(result: Result[Any], claim: Claim, place: int = 0) -> Row:
    """Return a row of a claim, with the simultaneous set of the claim if there is one."""
    row: Row = result.rows[claim.rows[place]]
    if not claim.sets:
        return row
    further = claim.sets[place]
    return replace(row, interval=further.interval, set=further.set, gap=further.gap)


def decide_rows(
    result: Result[Any],
    at_level: AtLevel,
    kind: ClaimKind,
    places: ArrayLike,
    *,
    name: str,
    rate: float,
    candidates: int | None = None,
    beside: Callable[[int], Sequence[int]] = lambda _: (),
) -> tuple[list[Test], list[Claim]]:
    """Decide which rows of a result have a significant effect, from their p-values.

    The most significant row is claimed if it is significant after Bonferroni's correction. The
    number of significant rows is claimed by the false discovery rate, as marked in tables.

    Parameters
    ----------
    at_level : callable
        Returns the result with intervals of another level.
    kind : str
        Kind of the claim about a significant estimate.
    places : array_like of int
        The rows that were tested.
    name : str
        Name of the test.
    rate : float
        Level of the test, and false discovery rate.
    candidates : int, optional
        Number of hypotheses; by default that of the rows with a p-value.
    beside : callable
        Returns further rows that the headline states beside a significant one, given its index.

    Returns
    -------
    tests : list of Test
    claims : list of Claim
        The direction is the sign of the test statistic if there is one, and else of the effect.
    """
    rows, table = np.asarray(places, dtype=np.int64), result.estimates
    p_values = table.numbers("p_value")[rows]
    tested = np.isfinite(p_values)
    if not tested.any():
        return [], [Claim(kind="untested", count=len(rows))]
    rows, p_values = rows[tested], p_values[tested]
    many = len(rows) if candidates is None else candidates
    found = discoveries(p_values, rate, many)
    # Both answers to a yes/no question have equal p-values up to rounding: choose the excess.
    alike = p_values <= (1 + _ALIKE) * p_values.min()
    more = alike & (table.numbers("statistic")[rows] > 0)
    best = int(np.argmax(more if more.any() else alike))
    test = Test(name=name, p_value=min(1.0, many * float(p_values[best])), hypotheses=many)
    row = int(rows[best])
    if not found.any():
        sets = selected_sets(result, at_level, [row], rate, many)
        return [test], [Claim(kind="none found", rows=[row], test=0, count=many, sets=sets)]
    claims = []
    if (test.p_value or 0.0) <= rate:
        statistic = table.numbers("statistic")[row]
        at = quantity(table.texts("quantity")[row] or "").no_effect or 0.0
        way = sign(float(table.value[row]), at) if np.isnan(statistic) else sign(statistic)
        named = [row, *beside(row)]
        sets = selected_sets(result, at_level, named, rate, many)
        claims.append(Claim(kind=kind, rows=named, test=0, rate=rate, direction=way, sets=sets))
    if not claims or found.sum() > 1:
        claims.append(
            Claim(kind=kind, rows=rows[found].tolist(), rate=rate, by_rate=True, count=many)
        )
    return [test], claims


def with_decisions(result: Result[Any], rate: float) -> Result[Any]:
    """Return a result that says of each tested estimate what was decided, and by which threshold.

    Significant are the rows whose adjusted p-value, or else p-value, is at most `rate`. Itemsets
    are compared with the support that the query asks for, and effects with no effect; the shares of
    a cross-tabulation are compared with independence, so they have no threshold.
    """
    table = result.estimates
    decided, quantities = _decided(table), table.texts("quantity")
    tested = np.isfinite(decided)
    none = [quantity(name).no_effect for name in quantities.levels]
    values = np.array([np.nan if each is None else each for each in none] or [np.nan])
    thresholds = np.where(tested, values[quantities.codes], np.nan)
    of_itemsets = np.zeros(len(table), np.bool_)
    if isinstance(result.query, ItemsetsQuery):
        of_itemsets = quantities.equals("support")
        thresholds[of_itemsets] = result.query.min_support
    known = tested | of_itemsets
    if not known.any():
        return result
    with np.errstate(invalid="ignore"):
        rejected = decided <= (1 + _ALIKE) * rate
    codes = np.where(rejected, 0, 1) + 2 * ~of_itemsets
    shown = replace(
        table,
        decision=Texts(np.where(known, codes, -1), (*FREQUENT, *SIGNIFICANT)),
        threshold=thresholds if np.isfinite(thresholds).any() else None,
    )
    return replace(result, estimates=shown)


def _decided(table: EstimateColumns) -> Array:
    """Return the p-values that decide, adjusted where rows are tested together."""
    adjusted = table.numbers("adjusted_p_value")
    return np.where(np.isnan(adjusted), table.numbers("p_value"), adjusted)


def with_false_reports(result: Result[Any], rate: float) -> Result[Any]:
    """Return a result that says how many false reports would undo each of its decisions.

    Rows of one quantity are tested together, so they stay significant while their p-values are
    below the largest of their critical values, as long as the tests of the whole table reject.
    """
    table = result.estimates
    if table.undone_by is not None:
        return result
    p_values, moved = table.numbers("p_value"), table.numbers("moved_by")
    decided = _decided(table)
    known = np.isfinite(moved) & table.texts("decision").equals(SIGNIFICANT[0])
    if not known.any():
        return replace(result, estimates=replace(table, moved_by=None))
    of_table = min((t.undone_by for t in result.tests if t.undone_by is not None), default=np.nan)
    reports = reports_in_domain(result)
    undone_by = np.full(len(table), np.nan)
    quantities = table.texts("quantity").ids
    for each in np.unique(quantities[known]).tolist():
        rows = np.flatnonzero(known & (quantities == each))
        with np.errstate(divide="ignore", invalid="ignore"):
            critical = np.fmax.reduce(rate * p_values[rows] / decided[rows], initial=0.0)
        limit = float(statistics(np.array(critical)))
        needed = to_undo(statistics(p_values[rows]), limit, moved[rows], reports)
        undone_by[rows] = np.fmin(needed, of_table)
    shown = replace(table, moved_by=np.where(known, moved, np.nan), undone_by=undone_by)
    return replace(result, estimates=shown)


def false_reports(result: Result[Any]) -> Iterator[Caveat]:
    """Yield the note how many false reports would undo the findings."""
    undone_by = result.estimates.numbers("undone_by")
    rows = np.flatnonzero(np.isfinite(undone_by))
    if not len(rows):
        return
    values: dict[str, Any] = {"weakest": int(undone_by[rows].min()), "rows": len(rows)}
    tested = (c for c in result.claims if c.test is not None and c.rate and not c.by_rate)
    if (named := next(tested, None)) is not None:
        test = tested_by(result, named)
        needed = np.float64(test.undone_by or np.nan)
        if named.rows:
            # The headline's test is stricter than that of the table: Bonferroni's.
            row, table = named.rows[:1], result.estimates
            z = statistics(table.numbers("p_value")[row])
            limit = float(statistics(np.array(named.rate / test.hypotheses)))
            [own] = to_undo(z, limit, table.numbers("moved_by")[row], reports_in_domain(result))
            needed = np.fmin(own, undone_by[row][0])
        if np.isfinite(needed):
            values["finding"] = int(needed)
    elif any(claim.kind == "largest" for claim in result.claims):
        # The only decision is about the named answer.
        values["finding"] = values["weakest"]
    yield note("false reports", **values)


def reports_in_domain(result: Result[Any]) -> int:
    """Return the number of reports of a result, in its domain if there is one."""
    return result.reports if result.group is None else round(result.group.people)


def sign(value: float | None, none: float = 0.0) -> Direction | None:
    """Return the direction of an effect; None if it is unknown or 0."""
    if value is None or value == none or value != value:
        return None
    return "more" if value > none else "less"


def claimed(result: Result[Any], claim: Claim) -> tuple[Row, str, str]:
    """Return the row that a claim names, with its estimate and the p-value of its test in words."""
    row: Row = result.rows[claim.rows[0]]
    said = f"too imprecise to use{_reports_needed(result, row)}"
    if row.reliability != "not usable":
        said = in_words(as_selected(result, claim))
    return row, said, p_in_words(tested_by(result, claim))


def _reports_needed(result: Result[Any], row: Row) -> str:
    """Return with how many reports an estimate would be barely usable, in words; empty if unknown.

    The width of its interval falls with the square root of the number of reports.
    """
    of = quantity(row.quantity)
    if row.set != "interval" or row.interval is None or row.reliability != "not usable":
        return ""
    lower, upper = row.interval
    if lower is None or upper is None or (of.style not in ("points", "share") and not of.ratio):
        return ""
    width = float(margin(lower, upper, ratio=of.ratio))
    times = math.log(width) / math.log(FACTOR[1]) if of.ratio else width / of.unit / POINTS[1]
    if not 1 < times < math.inf:
        return ""
    return f" (about {number(rounded_up(result.reports * times**2), 0)} reports would do)"


def tested_by(result: Result[Any], claim: Claim) -> Test:
    """Return the test of a claim."""
    return Test(name="", undefined="none") if claim.test is None else result.tests[claim.test]


def p_in_words(test: Test) -> str:
    """Format the p-value of a test, with the number of tests for which it is adjusted.

    >>> p_in_words(Test(name="Wald", p_value=0.0321))
    'p = 0.032'
    >>> p_in_words(Test(name="score", p_value=3e-9, hypotheses=3))
    'p < 0.0001, adjusted for 3 tests'
    """
    p = test.p_value or 0.0
    said = f"p < {number(_LEAST)}" if p < _LEAST else f"p = {number(float(f'{p:.2g}'))}"
    return said if test.hypotheses == 1 else f"{said}, adjusted for {number(test.hypotheses)} tests"


def count_in_words(claim: Claim, what: str) -> str:
    r"""Describe the number of significant hypotheses, with the false discovery rate.

    >>> claim = Claim(kind="different", rows=[1, 2], rate=0.05, by_rate=True, count=3)
    >>> count_in_words(claim, "differences")
    '2 of 3 differences are significant (false discovery rate 5\u202f%).'
    """
    found = len(claim.rows)
    return (
        f"{number(found)} of {number(claim.count or found)} {what}"
        f" {'is' if found == 1 else 'are'} significant (false discovery rate"
        f" {percent(claim.rate)})."
    )


def lower_bound_in_words(claim: Claim) -> str:
    """Format the lower bound that is claimed, rounded down."""
    return percent(math.floor(1000 * (claim.bound or 0.0)) / 1000, 1)
