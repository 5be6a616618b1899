"""Tables and sentences common to several analyses."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from halftruth_shared.analyses.base import EstimatesResult, Items, MeasureEstimate, Method, Row
from halftruth_shared.results import quantity
from halftruth_shared.results.caveats import few as few
from halftruth_shared.results.caveats import listed as listed
from halftruth_shared.results.charts import Mark
from halftruth_shared.results.claims import Claim
from halftruth_shared.results.estimate import Estimate
from halftruth_shared.results.showing import SHARES
from halftruth_shared.results.showing import basis as basis
from halftruth_shared.results.showing import drawn as drawn
from halftruth_shared.results.showing import level as level
from halftruth_shared.results.showing import of_reports as of_reports
from halftruth_shared.results.wording import (
    estimate_in_words,
    interval_in_words,
    number,
    percent,
    quoted_items,
    value,
)
from halftruth_shared.results.wording import quoted as quoted
from msgspec.structs import replace

from .base import Grid, Rows


def named(measure: str) -> str:
    """Return the usual name of a measure."""
    return quantity(measure).title


def share_cells(estimate: Estimate) -> tuple[str, str]:
    """Cells of a share and its interval."""
    return (
        estimate_in_words(estimate, as_share=True),
        interval_in_words(estimate, as_share=True),
    )


def points(effect: Estimate) -> Estimate:
    """Return a difference of shares in percentage points."""
    lower, upper = effect.interval or (None, None)
    if effect.value is None or lower is None or upper is None:
        return replace(effect, value=effect.value and 100 * effect.value)
    return replace(effect, value=100 * effect.value, interval=(100 * lower, 100 * upper))


def measure_cells(estimate: Estimate) -> tuple[str, str]:
    """Cells of a measure, or the reason why there is none, and its interval."""
    return estimate.undefined or estimate_in_words(estimate), interval_in_words(estimate)


def uncertain_measures(measures: Iterable[MeasureEstimate]) -> list[str]:
    """Warn of measures that are not usable without reserve."""
    return too_uncertain((named(measure.name), measure) for measure in measures)


#: Header of the first of `measure_cells`.
VALUE = "value, or why there is none"


def estimates_grid(result: EstimatesResult, others: Mapping[str, str] | None = None) -> Grid:
    """Table of the estimates of a result; best guesses have no intervals.

    Parameters
    ----------
    result : EstimatesResult
    others : mapping of str to str, optional
        Headings of further columns, by their names in the result.
    """
    query: Any = getattr(result, "query", None)
    names, kind = [name for name, _ in result.others], "".join(result.KEYS[:1])
    places = [names.index(name) for name in others or {}]
    shown = 1 if _is_guess(result) else 2

    def row(each: Row) -> list[object]:
        keys, estimate, cells = each
        shares = (keys[0] if kind == "estimate" else result.QUANTITY) in SHARES
        return [
            named(str(keys[0])) if kind in ("estimate", "measure") else keys[0],
            *keys[1:],
            *(share_cells if shares else measure_cells)(estimate)[:shown],
            *(_plain(cells[place]) for place in places),
        ]

    numbers = [result.QUANTITY if result.QUANTITY in SHARES else VALUE, level(query.confidence)]
    return Grid(
        [*result.keys, *numbers[:shown], *(others or {}).values()], Rows(row, [*result.estimates()])
    )


def _plain(cell: object) -> object:
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return cell
    return number(cell, 0) if cell >= 1000 else value(cell, None)


def notes(result: Any, rows: Sequence[Mark]) -> list[str]:
    """Describe the provenance of a chart's numbers, and how many are missing."""
    if _is_guess(result):
        return [f"{of_reports(result)}.", *basis(result)]
    hold = "each by itself" if getattr(result, "candidates", 1) == 1 else "widened for selection"
    people = {"population": "the population", "respondents": "exactly these respondents"}
    lines = [
        f"{of_reports(result)}; {level(result.query.confidence)}s, {hold}, for"
        f" {people[result.query.target]}.",
        *basis(result),
    ]
    values = [row for row in rows if row.value is not None]
    without = sum(row.interval is None for row in values)
    if without:
        lines.append(f"Without interval, as the error is undefined: {without} of {len(values)}.")
    return lines


def estimated(method: Method) -> list[str]:
    """Describe the supports if the intervals are those of another estimate."""
    return {
        "moment": [],
        "model": [],
        "likelihood": ["Supports are best guesses, which have no intervals."],
    }[method]


def _is_guess(result: Any) -> bool:
    return getattr(result.query, "estimate", None) == "likelihood"


def title(result: Any, *parts: str) -> str:
    """Title of a chart: what it shows, of what survey; a question in it is in no sentence."""
    return " · ".join([*parts, result.survey])


def negative(rows: Sequence[Mark]) -> list[str]:
    """Explain negative shares, if any."""
    if all(row.value is None or row.value >= 0 for row in rows):
        return []
    return ["A negative support means that the true one is small compared with the error."]


#: Names that a sentence lists.
_LISTED = 8


def too_uncertain(estimates: Iterable[tuple[str, Estimate]]) -> list[str]:
    """Warn of estimates that are not usable without reserve, by the given names."""
    uncertain: dict[str, list[str]] = {"not usable": [], "barely usable": []}
    for name, estimate in estimates:
        if estimate.undefined is None and estimate.reliability != "usable":
            uncertain[estimate.reliability].append(name)
    return [
        f"{word.capitalize()}, as too little is known: {few(names, _LISTED)}."
        for word, names in uncertain.items()
        if names
    ]


def undefined(estimates: Sequence[tuple[str, Estimate]]) -> list[str]:
    """Name the estimates that are undefined, in one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, estimate in estimates:
        if estimate.undefined:
            reasons.setdefault(estimate.undefined, []).append(name)
    return [f"Undefined, as {reason}: {listed(names)}." for reason, names in reasons.items()]


def counted(result: Any) -> str:
    """The number of reports of a result."""
    return of_reports(result).partition(",")[0]


def lower_bound(claim: Claim) -> str:
    """The lower bound that is claimed, rounded down."""
    return percent(math.floor(1000 * (claim.bound or 0.0)) / 1000, 1)


def sentence(words: str) -> str:
    """Begin with a capital letter, and end with a full stop."""
    return f"{words[0].upper()}{words[1:]}."


def presence(present: Items) -> list[str]:
    """Describe the category of each attribute that counts as presence, if any."""
    return [f"Presence means {quoted_items(present)}."] if present else []


def no_tests(names: Iterable[str]) -> list[str]:
    """Explain χ² and G², if they are among some measures."""
    if not {"chi_squared", "g_squared"}.intersection(names):
        return []
    return [
        "χ² and G² are estimates of association, without what chance and perturbation add, and no"
        " tests; a cross-tabulation has the test of independence."
    ]
