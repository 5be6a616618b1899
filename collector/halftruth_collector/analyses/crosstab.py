"""Cross-tabulation of two to four questions."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from halftruth_shared import ParameterError, Schema, Survey
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.attribute import OPTION
from halftruth_shared.columns import Codes
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    EstimateColumns,
    Key,
    Labels,
    Result,
    Show,
    Texts,
    note,
    warning,
)
from halftruth_shared.results.caveats import listed
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import number, quoted, value
from msgspec.structs import replace
from numpy.typing import NDArray

from ..estimation.answers import present_items
from ..estimation.association import estimate_measures, graded, in_order
from ..estimation.bounds import Array, normal_quantile
from ..estimation.contrasts import shares_within
from ..estimation.estimates import Estimates, covariance_of, fixed_sets, shares_of_table
from ..estimation.independence import Departures, IndependenceTest, margins_within
from ..estimation.intervals import INTERVAL, UNDEFINED
from ..estimation.measures import SCALE_NAMES
from ..estimation.reliability import NOT, grades
from ..estimation.scales import are_scales, estimate_scales
from ..estimation.selection import adjusted_p_values
from .base import Analysis, AnalysisContext, first_wanted, names_of_clearest
from .deciding import AtLevel, decide_rows, p_in_words, tested_by
from .measures import of_scales
from .shares import precision

#: Largest number of cells of a bar chart; larger tables are drawn as heat maps.
_BARS = 30

#: Measures of association of two questions, and further ones that need presence or an order.
_MEASURES = ("cramers_v", "concentration", "uncertainty_coefficient", "mutual_information")
_OF_PRESENCE = ("phi", "odds_ratio", "risk_difference")
_OF_ORDER = ("goodman_kruskal_gamma", "tau_b")

#: Quantities that are not measures of association.
_OF_TABLE = ("share", "base", "people")


class _Tabulation(NamedTuple):
    """A cross-tabulation of attributes: the shares of cells, followed by their bases.

    `codes` are the answers of each row to each attribute, −1 for a sum over all answers, and `kept`
    the rows of the result. Margins and effective reports belong to the cells.
    """

    codes: Codes
    kept: NDArray[np.bool_]
    shares: Estimates
    columns: EstimateColumns
    margins: Array
    effective: Array
    test: IndependenceTest

    @property
    def covariance(self) -> Array:
        """Covariance of the kept rows; NaN for bases and where a share has no error."""
        shares, whole = self.shares, np.full((len(self.codes),) * 2, np.nan)
        known = np.isfinite(shares.standard_error)
        whole[: len(known), : len(known)] = np.where(
            known[:, None] & known, shares.covariance, np.nan
        )
        return whole[np.ix_(self.kept, self.kept)]


def compute(counted: AnalysisContext, query: CrosstabQuery) -> Result[CrosstabQuery]:
    """Compute conditional shares, residuals, and the test of independence of a table."""
    schema = counted.estimator.schema
    answers = {name: _answers(schema, name) for name in query.attributes}
    question = _multiple_response(schema, query)
    if question is None:
        parts = [_cross(counted, query, query.attributes)]
        strength = _measures(counted, query) if len(answers) == 2 else []
    else:
        parts, strength = _cross_options(counted, query, question), []
    of_measures = np.full((sum(map(len, strength)), len(answers)), -1)
    codes = np.vstack([*(part.codes[part.kept] for part in parts), of_measures])
    shown = (part.columns.take(part.kept) for part in parts)
    estimates = EstimateColumns.concatenate([*shown, *strength])
    test = _most_significant([part.test for part in parts])
    p_values, adjusted = map(estimates.numbers, ("p_value", "adjusted_p_value"))
    if question is not None:
        cells = estimates.texts("quantity").equals("share")
        adjusted = np.full(len(p_values), np.nan)
        adjusted[cells] = adjusted_p_values(p_values[cells])
    # No cell is significant unless the test of the whole table is (gatekeeping).
    of_table = 1.0 if test.p_value is None else test.p_value
    estimates = replace(estimates, adjusted_p_value=np.maximum(adjusted, of_table))
    # Sort by layers, rows and columns, with each total after its parts.
    last = np.where(codes < 0, codes.max(initial=0) + 1, codes)
    order = np.lexsort([last[:, axis] for axis in [*range(2, len(answers)), 0, 1]][::-1])
    codes, estimates = codes[order], estimates.take(order)
    margins = precision(
        np.concatenate([part.margins[part.kept[: len(part.margins)]] for part in parts]),
        np.concatenate([part.effective for part in parts]),
    )
    # The total of rows or columns is a number of people.
    keys = [
        Key(
            name=name,
            kind="answer",
            question=name,
            blank="people" if axis < 2 else "",
            values=Texts(codes[:, axis], answers[name]),
        )
        for axis, name in enumerate(answers)
    ]
    return counted.result(
        query,
        keys,
        estimates,
        tests=[test],
        caveats=[margins, *_caveats(query, keys, estimates, question)],
        covariance=_covariance(parts, order, estimates) if query.covariance else None,
    )


def _answers(schema: Schema, name: str) -> tuple[str, ...]:
    """Return the categories of an attribute, or the options of a multiple-response question."""
    if name in schema.options:
        return tuple(str(option.option) for option in schema.options[name])
    return tuple(schema.attributes[schema.position(name)].categories)


def _multiple_response(schema: Schema, query: CrosstabQuery) -> str | None:
    """Return the multiple-response question, if any; two, or one in layers, are refused."""
    several = [name for name in query.attributes if name in schema.options]
    if not several:
        return None
    [question, *others] = several
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
    schema.positions(
        [each.name for name in query.attributes for each in schema.attributes_of(name)]
    )
    return question


def _cross_options(
    counted: AnalysisContext, query: CrosstabQuery, question: str
) -> list[_Tabulation]:
    """Cross each option of a multiple-response question, and keep the row of choosing it."""
    axis, parts = query.attributes.index(question), []
    for place, option in enumerate(counted.estimator.schema.options[question]):
        names = [option.name if name == question else name for name in query.attributes]
        part = _cross(counted, query, names)
        codes, chosen = part.codes.copy(), option.categories.index(OPTION[-1])
        kept = codes[:, axis] == chosen
        codes[kept, axis] = place
        if query.missing == "exclude":
            # Each option has its own base: the people who answered it.
            of_all = part.codes[:, axis] < 0
            codes[of_all, axis] = place
            kept |= of_all
        elif place == 0:
            kept |= codes[:, axis] < 0
        parts.append(part._replace(codes=codes, kept=kept))
    return parts


def _cross(counted: AnalysisContext, query: CrosstabQuery, names: Sequence[str]) -> _Tabulation:
    """Cross-tabulate attributes: cells in row-major order, followed by the bases."""
    table = counted.estimator.table(names)
    given = _given(query)
    shares = shares_within(table, given)
    sets = shares.interval(query.confidence)
    margins = margins_within(table, given, normal_quantile(1 - query.confidence)).ravel()
    unbounded = sets.kind != INTERVAL
    departures = Departures(table)
    p_values = 2 * scipy.special.ndtr(-np.abs(departures.scores.ravel()))
    reason = "the estimated share of its group is not above zero"
    shares = dataclasses.replace(
        shares,
        statistic=departures.residuals,
        p_value=p_values,
        moved=departures.moved.ravel(),
        undefined=[reason if none else None for none in np.isnan(shares.value)],
    )
    of_cells = shares.columns(
        query.confidence,
        grade=np.where(unbounded, NOT, grades(margins)),
        adjusted=adjusted_p_values(p_values),
    )
    codes = np.indices(table.value.shape).reshape(len(names), -1).T
    of_bases, bases = _bases(counted, query, names)
    codes = np.vstack([codes, of_bases])
    return _Tabulation(
        codes,
        np.ones(len(codes), dtype=np.bool_),
        shares,
        EstimateColumns.concatenate([of_cells, *bases]),
        np.where(sets.kind == UNDEFINED, np.nan, np.where(unbounded, np.inf, margins)),
        np.ravel(table.effective_reports),
        departures.test(1 - query.confidence),
    )


def _given(query: CrosstabQuery) -> list[int]:
    """Return the axes of the attributes on which shares are conditional."""
    if query.percentages == "joint":
        return []
    return [("row", "column").index(query.percentages), *range(2, len(query.attributes))]


def _bases(
    counted: AnalysisContext, query: CrosstabQuery, names: Sequence[str]
) -> tuple[Codes, list[EstimateColumns]]:
    """Return the codes of the bases, their shares, and their numbers of respondents.

    Joint shares have no row for the share of their base, which is 1.
    """
    given = _given(query)
    of = [names[axis] for axis in given]
    others = [name for name in names if name not in of]
    people, *ends = counted.people(of, others, query.confidence)
    reports = float(counted.counts.reports)
    number = QUANTITIES["people"].within(0.0, reports, reports)
    counts = Estimates.numbers(number, people)
    parts = [dataclasses.replace(counts, sets=fixed_sets(*ends)).columns()]
    if of:
        table = counted.estimator.table(of, answering=others)
        base = dataclasses.replace(shares_of_table(table, QUANTITIES["base"]), parts=None)
        parts.insert(0, base.columns(query.confidence))
    codes = np.full((people.size, len(names)), -1)
    codes[:, given] = np.indices(people.shape).reshape(len(given), people.size).T
    return np.tile(codes, (len(parts), 1)), parts


def _measures(counted: AnalysisContext, query: CrosstabQuery) -> list[EstimateColumns]:
    """Measures of association of two questions."""
    schema, names = counted.estimator.schema, query.attributes
    present = present_items(schema, names, {})
    chosen = (
        *(_OF_PRESENCE if len(present) == 2 else ()),
        *(_OF_ORDER if in_order(schema, names) else ()),
        *_MEASURES,
    )
    table = counted.estimator.table(names)
    found = [
        graded(*each, query.confidence) for each in estimate_measures(schema, table, {}, chosen)
    ]
    if are_scales(counted.estimator.survey.schema, names):
        every = (estimate_scales(counted.estimator, names, name) for name in SCALE_NAMES)
        found += [each.columns(query.confidence) for each in every]
    return found


def _most_significant(tests: Sequence[IndependenceTest]) -> Test:
    """Return the test with the smallest p-value, adjusted for their number (Bonferroni)."""
    best = min(tests, key=lambda test: np.inf if test.p_value is None else test.p_value)
    return Test(
        name="score",
        statistic=best.statistic,
        df=best.degrees_of_freedom,
        p_value=None if best.p_value is None else min(1.0, len(tests) * best.p_value),
        hypotheses=len(tests),
        undefined=best.undefined,
        undone_by=None if math.isnan(best.undone_by) else best.undone_by,
    )


def _covariance(
    parts: Sequence[_Tabulation], order: Codes, estimates: EstimateColumns
) -> list[list[float | None]]:
    """Return the covariance of all rows; it is known only within the shares of one part."""
    whole, start = np.full((len(order), len(order)), np.nan), 0
    for part in parts:
        rows = slice(start, start + int(part.kept.sum()))
        whole[rows, rows] = part.covariance
        start = rows.stop
    whole = whole[np.ix_(order, order)]
    error, of_ratio = map(estimates.numbers, ("standard_error", "standard_error_log"))
    np.fill_diagonal(whole, np.where(np.isnan(error), of_ratio, error) ** 2)
    return covariance_of(whole)


def _caveats(
    query: CrosstabQuery, keys: Sequence[Key], estimates: EstimateColumns, question: str | None
) -> Iterator[Caveat]:
    """Yield notes on the base of shares, unbounded sets, and the marks ▲ and ▼."""
    given = [keys[axis] for axis in _given(query)]
    unbounded = np.isnan(estimates.value)
    for kind in ("outside", "everything"):
        unbounded |= estimates.texts("set").equals(kind)
    unbounded &= estimates.texts("quantity").equals("share")
    groups = {
        tuple(key.values[place] for key in given): None
        for place in np.flatnonzero(unbounded).tolist()
    }
    if groups:
        names = [key.name for key in given]
        yield warning("open groups", groups=[dict(zip(names, g, strict=True)) for g in groups])
    yield note("base of shares", questions=[key.name for key in given])
    yield note("departures", rate=1 - query.confidence, layers=len(keys) > 2)
    if question is not None:
        yield note("several options", question=question)


def layout(result: Result[CrosstabQuery], labels: Labels) -> list[Block]:
    """Arrange rows and columns, layer by layer, with the people of each base and the strength."""
    percentages = result.query.percentages
    row, column, *layers = (key.name for key in result.keys)
    bases = result.places("people")
    # Options that were answered by different people have different bases.
    total = {"row": column, "column": row}.get(percentages)
    counted = total is not None and bool((result.key(total).values.ids[bases] < 0).all())
    people = Show(quantity="people", parts=["estimate"], drawn=False)
    shows = [Show(quantity="share", parts=["estimate"], label=_of_whom(result, labels))]
    table = Block(
        title=" × ".join(map(labels.title, result.keys)),
        lines=[*layers, row],
        across=column,
        shows=[*shows, people] if counted else shows,
        panels=len(layers) + 1,
        picture="bars" if len(result.places("share")) <= _BARS else "heat map",
        stacked=percentages == "column",
    )
    known = result.estimates.texts("quantity").levels
    measures = [name for name in known if name not in (*_OF_TABLE, *SCALE_NAMES)]
    if not measures:
        return [table]
    strength = [Show(quantity=name) for name in measures]
    of_measures = Block(title="Strength of the association", shows=strength, stacked=True)
    return [table, of_measures, *of_scales(result)]


def _of_whom(result: Result[CrosstabQuery], labels: Labels) -> str:
    base = [quoted(labels.title(result.keys[axis])) for axis in _given(result.query)]
    return f"share of those with the same {listed(base)}" if base else "share of everybody"


def decide(result: Result[CrosstabQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide whether the questions are associated, and which cell is the most significant."""
    test, rate = result.tests[0], 1 - result.query.confidence
    if test.p_value is None:
        return [test], [Claim(kind="untested", test=0)]
    if test.p_value > rate:
        return [test], [Claim(kind="none found", test=0, count=test.hypotheses)]
    cells = result.places("share")
    tests, claims = decide_rows(
        result, at_level, "different", cells, name="score", rate=rate, candidates=len(cells)
    )
    # The table marks significant cells; the headline names only the most significant one.
    named = [replace(c, test=1) for c in claims if c.kind == "different" and not c.by_rate]
    return [test, *tests], [Claim(kind="associated", test=0, rate=rate), *named]


def state(result: Result[CrosstabQuery], claim: Claim, labels: Labels) -> str:
    """State an association, a significant cell, or that there is no evidence of an association."""
    row, column, *layers = [quoted(labels.title(key)) for key in result.keys]
    test = tested_by(result, claim)
    if claim.kind == "untested":
        reason = str(test.undefined)
        for key in result.keys:
            reason = reason.replace(f"'{key.name}'", quoted(labels.title(key)))
        return f"The association of {row} and {column} cannot be tested: {reason}."
    if claim.kind == "different":
        than = {None: "not as", "more": "more", "less": "less"}[claim.direction]
        place = result.rows[claim.rows[0]]
        cell = labels.quoted_items(place.keys)
        return f"{cell} occurs {than} often than under independence ({p_in_words(test)})."
    within = f" within {listed(layers)}" if layers else ""
    tested = f"χ² = {value(test.statistic)}, df = {number(test.df or 0)}, {p_in_words(test)}"
    if claim.kind == "none found":
        return f"No evidence that {row} and {column} are associated{within}: {tested}."
    return f"{row} and {column} are associated{within}: {tested}."


def _start(survey: Survey) -> CrosstabQuery:
    """Return the initial query: the first wanted table with a line for each group of people."""
    if wanted := first_wanted(survey):
        outcome, group = wanted
        return CrosstabQuery(attributes=[group.name, outcome.name])
    return CrosstabQuery(attributes=names_of_clearest(survey))


ANALYSIS = Analysis(
    query=CrosstabQuery,
    title="Cross-tabulation",
    compute=compute,
    start=_start,
    layout=layout,
    decide=decide,
    state=state,
    min_order=2,
    place="Compare",
    order=5,
)
