"""Cross-tabulation of two to four questions."""

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import scipy
from halftruth_shared import Attribute, ParameterError
from halftruth_shared.analyses.base import Items, MeasureEstimate
from halftruth_shared.analyses.crosstab import (
    CrosstabBase,
    CrosstabCell,
    CrosstabQuery,
    CrosstabResult,
    IndependenceOutcome,
)
from halftruth_shared.attribute import OPTION
from halftruth_shared.results import QUANTITIES
from halftruth_shared.results.charts import Axis, Chart, EstimateChart, HeatMap, Mark, Panel
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.estimate import Estimate
from halftruth_shared.results.showing import CONTRADICTED
from halftruth_shared.results.wording import (
    estimate_in_words,
    items,
    number,
    percent,
    quoted_items,
    value,
    with_interval,
)
from msgspec.structs import replace

from ..estimation.answers import present_items
from ..estimation.association import in_order, known_covariance
from ..estimation.bounds import Array, normal_quantile, optional
from ..estimation.estimates import covariance_of, estimates
from ..estimation.independence import Departures, IndependenceTest
from ..estimation.intervals import SHARE, table_intervals
from ..estimation.ratios import ConditionalShares, conditional_covariance, conditional_shares
from ..estimation.selection import adjusted_p_values
from ..estimation.variances import error_parts
from . import sentences, verdicts
from .base import Analysis, Counted, Grid, names_of_clearest
from .deciding import decide_each, p_in_words, sign, tested_by, with_adjusted
from .table import cells

#: Cells up to which a chart has a bar with its interval for each, and beyond which it is a grid.
_BARS = 30

#: Measures of association of two questions, and those that need presence, or an order, besides.
_MEASURES = ("concentration", "uncertainty_coefficient", "mutual_information")
_OF_PRESENCE = ("phi", "odds_ratio", "risk_difference")
_OF_ORDER = ("goodman_kruskal_gamma", "tau_b")

#: Marks of cells with significantly more and fewer people than under independence.
_MORE, _LESS = "▲", "▼"

_Placed = tuple[CrosstabCell, CrosstabBase]


def compute(counted: Counted, query: CrosstabQuery) -> CrosstabResult:
    """Shares within groups of ``Estimator.table``, its departures from independence, its test."""
    schema = counted.estimator.schema
    several = [name for name in query.attributes if name in schema.options]
    if several:
        return _multiple_response(counted, query, several)
    return _tabulate(counted, query)[0]


def _multiple_response(
    counted: Counted, query: CrosstabQuery, several: Sequence[str]
) -> CrosstabResult:
    """Cross each option of a question with several answers, and keep those who chose it."""
    [question, *others] = several
    schema = counted.estimator.schema
    if others:
        raise ParameterError(
            f"attributes: expected at most one question with several answers, not '{question}' and"
            f" '{others[0]}'; or one of their options",
            field="attributes",
        )
    if question not in query.attributes[:2]:
        raise ParameterError(
            f"attributes: expected '{question}', which has several answers, in the rows or the"
            " columns; or one of its options",
            field="attributes",
        )
    if query.covariance:
        raise ParameterError(
            f"covariance: expected none, since '{question}' has several answers; or one of its"
            " options",
            field="covariance",
        )
    schema.positions(
        [each.name for name in query.attributes for each in schema.attributes_of(name)]
    )
    found: dict[tuple[str, ...], CrosstabCell] = {}
    bases, tests, effective = [], [], []
    for option in schema.options[question]:
        attributes = [option.name if name == question else name for name in query.attributes]
        part, reports = _tabulate(counted, replace(query, attributes=attributes))

        def renamed(values: Items, option: Attribute = option) -> Items:
            """Values with the option as the answer to its question."""
            return {
                question if name == option.name else name: str(option.option)
                if name == option.name
                else category
                for name, category in values.items()
            }

        for cell in part.cells:
            if cell.values[option.name] == OPTION[-1]:
                values = renamed(cell.values)
                found[tuple(values.values())] = replace(cell, values=values)
        for base in part.bases:
            if option.name not in base.values and query.missing == "exclude":
                # Those who answered this option.
                bases.append(replace(base, values={question: str(option.option), **base.values}))
            elif base.values.get(option.name, OPTION[-1]) == OPTION[-1]:
                bases.append(replace(base, values=renamed(base.values)))
        tests += [part.independence] if part.independence else []
        effective.append(reports)
    # In row-major order, whether the options are in the rows or in the columns.
    axes = [dict.fromkeys(axis) for axis in zip(*found, strict=True)]
    found_cells = [found[key] for key in product(*axes)]
    cells = with_adjusted(found_cells, len(found_cells))
    errors = np.array([cell.standard_error or np.nan for cell in cells])
    bounded = np.array([cell.set == "interval" for cell in cells])
    margins = np.where(bounded, normal_quantile(1 - query.confidence) * errors, np.inf)
    reliability, verdict = verdicts.on_table(margins, np.concatenate(effective))
    return CrosstabResult(
        **counted.origin(),
        query=query,
        reliability=reliability,
        verdict=verdict,
        multiple_response=question,
        bases=list({tuple(base.values.items()): base for base in bases}.values()),
        cells=cells,
        independence=_smallest(tests),
        measures=[],
    )


def _smallest(tests: Sequence[IndependenceOutcome]) -> IndependenceOutcome | None:
    """Return the test with the smallest p-value, multiplied by the number of options."""
    tested = [test for test in tests if test.p_value is not None]
    if not tested:
        return tests[0] if tests else None
    one = min(tested, key=lambda test: test.p_value or 0.0)
    p_value = min(1.0, len(tests) * (one.p_value or 0.0))
    return _outcome(IndependenceTest(one.statistic, one.degrees_of_freedom, p_value))


def _tabulate(counted: Counted, query: CrosstabQuery) -> tuple[CrosstabResult, Array]:
    """Cross attributes, with the effective reports of each cell."""
    names = query.attributes
    table = counted.estimator.table(names)
    base_axes = _given(query)
    known = known_covariance(table, query.target)
    shares = conditional_shares(table.support, known, base_axes, query.confidence)
    # By the delta method it is linear in the covariance, as are both parts of that.
    of_these = conditional_covariance(table.support, table.covariance("respondents"), base_axes)
    alone = np.where(np.isnan(shares.variance.ravel()), np.nan, np.diag(of_these))
    parts = error_parts(shares.variance.ravel(), alone)
    reliability, verdict = verdicts.on_table(shares.sets.half_width, table.effective_reports)
    departures = Departures(table)
    p_values = 2 * scipy.special.ndtr(-np.abs(departures.scores.ravel()))
    result = CrosstabResult(
        **counted.origin(),
        query=query,
        reliability=reliability,
        verdict=verdict,
        bases=_bases(counted, query, base_axes),
        cells=[
            *estimates(
                CrosstabCell,
                SHARE,
                shares.share,
                np.sqrt(shares.variance),
                shares.sets,
                errors=parts,
                p_value=p_values,
                adjusted=[*map(optional, adjusted_p_values(p_values).tolist())],
                values=[values for _, values in cells(counted.estimator.schema, names)],
                residual=[*map(optional, departures.residuals.ravel().tolist())],
            )
        ],
        independence=_outcome(departures.test()),
        measures=_measures(counted, query) if len(names) == 2 else [],
        covariance=_covariance(table.support, known, base_axes, shares)
        if query.covariance
        else None,
    )
    return result, np.ravel(table.effective_reports)


def _outcome(test: IndependenceTest) -> IndependenceOutcome:
    """Return a test in a message, with its conclusion."""
    if test.p_value is None:
        statement = f"cannot be tested: {test.undefined}"
    elif test.p_value < CONTRADICTED:
        statement = "significant association"
    else:
        statement = "no evidence of an association"
    return IndependenceOutcome(**dataclasses.asdict(test), statement=statement)


def _covariance(
    support: Array, known: Array, base_axes: Sequence[int], shares: ConditionalShares
) -> list[list[float | None]]:
    unknown = np.isnan(shares.variance.ravel())
    conditional = conditional_covariance(support, known, base_axes)
    conditional[unknown], conditional[:, unknown] = np.nan, np.nan
    return covariance_of(conditional)


def _given(query: CrosstabQuery) -> list[int]:
    """Axes of the attributes whose answers make the bases."""
    if query.percentages == "joint":
        return []
    return [("row", "column").index(query.percentages), *range(2, len(query.attributes))]


def _bases(counted: Counted, query: CrosstabQuery, base_axes: Sequence[int]) -> list[CrosstabBase]:
    names = [query.attributes[axis] for axis in base_axes]
    others = [name for name in query.attributes if name not in names]
    people = counted.people(names, others, query.confidence)
    if not names:
        everybody = Estimate(value=1.0, interval=(1.0, 1.0), reliability="usable")
        return [CrosstabBase(values={}, share=everybody, people=next(_people(counted, *people)))]
    table = counted.estimator.table(names, answering=others)
    error = np.sqrt(table.variance(query.target))
    ends = table_intervals(table, query.confidence, query.target)
    shares = estimates(Estimate, SHARE, table.support, error, ends)
    every = cells(counted.estimator.schema, names)
    return [
        CrosstabBase(values=values, share=share, people=number)
        for (_, values), share, number in zip(every, shares, _people(counted, *people), strict=True)
    ]


def _people(counted: Counted, people: Array, lower: Array, upper: Array) -> Iterator[Estimate]:
    reports = float(counted.counts.reports)
    of = QUANTITIES["people"].within(0.0, reports, reports)
    return estimates(Estimate, of, people, np.full(people.shape, np.nan), (lower, upper))


def _measures(counted: Counted, query: CrosstabQuery) -> list[MeasureEstimate]:
    present = present_items(counted.estimator.schema, query.attributes, {})
    ordered = in_order(counted.estimator.schema, query.attributes)
    names = (
        *(_OF_PRESENCE if len(present) == 2 else ()),
        *(_OF_ORDER if ordered else ()),
        *_MEASURES,
    )
    return counted.estimator.measures(query.attributes, None, names, query.confidence, query.target)


def _lines(result: CrosstabResult, of: str, along: str) -> dict[tuple[str, ...], list[_Placed]]:
    """Cells with their bases in lines along one question, by layers and the answer to the other."""
    names = [*result.query.attributes[2:], of, along]
    placed = dict(
        zip(
            (tuple(cell.values[name] for name in names) for cell in result.cells),
            zip(result.cells, result.base_of_each, strict=True),
            strict=True,
        )
    )
    *outer, answers = (list(dict.fromkeys(axis)) for axis in zip(*placed, strict=True))
    return {key: [placed[*key, answer] for answer in answers] for key in product(*outer)}


def grid(result: CrosstabResult) -> Grid:
    """Table of rows and columns, layer by layer, with the people of each base."""
    row, column, *layers = result.query.attributes
    percentages = result.query.percentages
    people = f"people ({sentences.level(result.query.confidence)})"
    lines = _lines(result, row, column)
    answers, last = next(iter(lines.values())), list(lines)[-1][-1]
    # Options that not the same people answered have bases of their own.
    if (column if percentages == "row" else row) in result.bases[0].values:
        percentages = "joint"
    shown: list[list[object]] = []
    for key, line in lines.items():
        shown.append([*key, *(_text(cell, result) for cell, _ in line)])
        if percentages == "row":
            shown[-1].append(_counted(line[0][1].people))
        if percentages == "column" and key[-1] == last:
            shown.append([*key[:-1], people, *(_counted(base.people) for _, base in line)])
    header = [*layers, row, *(cell.values[column] for cell, _ in answers)]
    return Grid([*header, people] if percentages == "row" else header, shown)


def _text(cell: CrosstabCell, result: CrosstabResult) -> str:
    """A share with its interval, marked where it departs from independent answers."""
    text = estimate_in_words(cell, as_share=True)
    if cell.ends is not None:
        text = with_interval(cell, as_share=True)
    if cell.value is None or cell.residual is None or not _departs(cell, result):
        return text
    return f"{text} {_MORE if cell.residual > 0 else _LESS}"


def _departs(cell: CrosstabCell, result: CrosstabResult) -> bool:
    """Return true if a cell's departure from independence is significant among all cells."""
    return cell.adjusted is not None and cell.adjusted <= 1 - result.query.confidence


def _counted(people: Estimate) -> str:
    if people.ends is None:
        return number(people.value or 0, 0)
    lower, upper = (number(end, 0) for end in people.ends)
    return f"{number(people.value or 0, 0)} ({lower} to {upper})"


def chart(result: CrosstabResult) -> Chart:
    """Bars with intervals, grouped by base; of more than `_BARS` cells a grid, darker for more."""
    row, column, *_ = result.query.attributes
    percentages = result.query.percentages
    first, second = (column, row) if percentages == "column" else (row, column)
    title = sentences.title(result, " × ".join(result.query.attributes))
    axis = Axis(_of_whom(result), shares=True)
    if len(result.cells) <= _BARS:
        panels = tuple(
            Panel(
                axis,
                tuple(_drawn(result, c, c.values[second]) for c, _ in line),
                _key(result, first, key),
            )
            for key, line in _lines(result, first, second).items()
        )
        bars = [bar for panel in panels for bar in panel.rows]
        return EstimateChart(
            title=title,
            notes=(
                *_notes(result, bars),
                *sentences.negative(bars),
                *sentences.in_one_tone(bars),
            ),
            panels=panels,
            bars=True,
        )
    lines = _lines(result, row, column)
    drawn = tuple(
        tuple(_drawn(result, cell, items(cell.values)) for cell, _ in line)
        for line in lines.values()
    )
    every = [cell for line in drawn for cell in line]
    return HeatMap(
        title=title,
        notes=(
            *_notes(result, every),
            f"Shown is the {axis.label}.",
            "Pale: not usable, or the interval reaches 0 or below.",
        ),
        rows=tuple(_key(result, row, key) for key in lines),
        columns=tuple(cell.values[column] for cell, _ in next(iter(lines.values()))),
        cells=drawn,
    )


def _key(result: CrosstabResult, of: str, answers: Sequence[str]) -> str:
    """Label of a line; an answer of a layer is preceded by the name of its question."""
    layers = dict(zip(result.query.attributes[2:], answers, strict=False))
    return items({**layers, of: answers[-1]})


def _drawn(result: CrosstabResult, cell: CrosstabCell, label: str) -> Mark:
    """Share for charts, without those of bases that are not significantly above zero."""
    if cell.value is None or (cell.interval is not None and cell.ends is None):
        return Mark(label, reason="its base is not significantly above zero")
    return sentences.drawn(label, cell, result.query.confidence)


def _of_whom(result: CrosstabResult) -> str:
    row, column, *layers = result.query.attributes
    if result.query.percentages == "joint":
        return "share of everybody"
    base = [row if result.query.percentages == "row" else column, *layers]
    return f"share of those with the same {sentences.listed([*map(sentences.quoted, base)])}"


def _notes(result: CrosstabResult, drawn: Sequence[Mark]) -> list[str]:
    return [*sentences.notes(result, drawn), *warnings(result)]


def decide(result: CrosstabResult) -> tuple[list[Test], list[Claim]]:
    """Whether the questions are associated, and in which cell most significantly."""
    outcome, rate = result.independence, 1 - result.query.confidence
    if outcome is None or outcome.p_value is None:
        return [], [Claim(kind="untested")]
    many = (
        len({cell.values[result.multiple_response] for cell in result.cells})
        if (result.multiple_response)
        else 1
    )
    test = Test(
        name="Wald",
        statistic=outcome.statistic,
        df=outcome.degrees_of_freedom,
        p_value=outcome.p_value,
        hypotheses=many,
    )
    if outcome.p_value > rate:
        return [test], [Claim(kind="none found", test=0, count=many)]
    claims = [Claim(kind="associated", test=0, rate=rate)]
    tests, cells = decide_each(
        "different",
        [*enumerate(result.cells)],
        name="score",
        rate=rate,
        direction=lambda i: sign(result.cells[i].residual),
        candidates=len(result.cells),
    )
    # The marks of the table count the cells; the headline names the most significant of all.
    named = [each for each in cells if each.kind == "different" and not each.by_rate]
    return [test, *tests], [*claims, *(replace(each, test=1) for each in named)]


def state(result: CrosstabResult, claim: Claim) -> str:
    """State an association, a cell that departs from independence, or that none is found."""
    row, column, *layers = result.query.attributes
    about = f"{sentences.quoted(row)} and {sentences.quoted(column)}"
    if claim.kind == "untested":
        why = result.independence.statement if result.independence else "is not tested"
        return f"The association of {about} {why}."
    test = tested_by(result, claim)
    if claim.kind == "different":
        than = {None: "not as", "more": "more", "less": "less"}[claim.direction]
        cell = quoted_items(result.cells[claim.rows[0]].values)
        return f"{cell} occurs {than} often than under independence ({p_in_words(test)})."
    within = f" within {sentences.listed([*map(sentences.quoted, layers)])}" if layers else ""
    tested = f"χ² = {value(test.statistic, None)}, df = {number(test.df or 0)}, {p_in_words(test)}"
    if claim.kind == "none found":
        return f"No evidence that {about} are associated{within}: {tested}."
    return f"{about} are associated{within}: {tested}."


def warnings(result: CrosstabResult) -> list[str]:
    """Warn of shares that are too uncertain, and of bases without shares."""
    lines = sentences.verdict(result, usable=False)
    open_bases = {
        quoted_items(base.values): None
        for cell, base in zip(result.cells, result.base_of_each, strict=True)
        if cell.value is None or (cell.interval is not None and cell.ends is None)
    }
    if open_bases:
        lines.append(
            "Shares of these groups may be anything, as it cannot be told whether there is anybody"
            f" in them: {sentences.few(list(open_bases))}."
        )
    return lines


def interpretation(result: CrosstabResult) -> list[str]:
    """Interpret shares and marks, and report the test of independence."""
    layers = " within each layer" if len(result.query.attributes) > 2 else ""
    lines = [
        sentences.sentence(_of_whom(result)),
        f"{_MORE} significantly more and {_LESS} significantly fewer people than under"
        f" independence{layers} (false discovery rate {percent(1 - result.query.confidence)} among"
        " the cells).",
    ]
    lines[1:1] = sentences.verdict(result, usable=True)
    several = result.multiple_response
    if several:
        lines.append(
            f"Of {sentences.quoted(several)} several options may be chosen: each share is that of"
            " people who chose this one, and the options do not add up to 100 %."
        )
    test = result.independence
    if test is not None and test.p_value is not None:
        # The headline has the p-value, or why there is none.
        degrees = f"degree{'' if test.degrees_of_freedom == 1 else 's'} of freedom"
        tested = f"{value(test.statistic, None)} with {test.degrees_of_freedom} {degrees}"
        lines.append(
            f"Wald test of independence{layers} in the population"
            f"{', of the clearest option, with a p-value for all options' if several else ''}:"
            f" {tested}; {test.statement}."
        )
    return [*lines, *_association(result.measures)]


def _association(measures: Sequence[MeasureEstimate]) -> list[str]:
    """Measures in a sentence, and one for each reason for which some are undefined."""
    named = [(sentences.named(measure.name), measure) for measure in measures]
    known = [f"{name} {with_interval(each)}" for name, each in named if each.value is not None]
    return [
        *([f"Association: {'; '.join(known)}."] if known else []),
        *sentences.undefined(named),
    ]


ANALYSIS = Analysis(
    query=CrosstabQuery,
    title="Cross-tabulation",
    compute=compute,
    start=lambda survey: CrosstabQuery(attributes=names_of_clearest(survey)),
    grid=grid,
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Compare",
    order=5,
)
