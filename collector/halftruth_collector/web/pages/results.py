"""Pages for analysts: each analysis with a form, charts, tables and files.

An analyst signs in with a token; see :mod:`~.session`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from flask import g, render_template, request, url_for
from halftruth_shared import HalftruthError, ParameterError, Protection, Survey
from halftruth_shared.analyses.reading import read, write
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results.layout import Arranged, Cell, Grid
from halftruth_shared.results.wording import number
from werkzeug.wrappers import Response as AnyResponse

from ...analyses import ANALYSES, Analysis, answer, identified
from ...analyses.base import PLACES, AnalysisContext, clearest, middle_answer, wanted_pairs
from ...analyses.labels import labels_of
from ...analyses.overview import period
from ...analyses.survey_report import brief_findings, survey_report
from ...charts import can_draw_files
from ...charts.on_page import ChartOnPage, on_page
from ...errors import TooFewReports
from ...estimation.reconstruction import of_table
from ...store.surveys import StoredSurvey
from .. import formats, parameters
from ..budget import within_budget
from ..context import collector, get_counts, states
from ..errors import status_of
from .controls import controls
from .session import guarded
from .survey_report import as_file, shown

blueprint = guarded("results", "/results", "analyst")

#: Number of rows of a large table that are shown first, and the parameter that requests all.
ROWS, ALL_ROWS = 500, "rows"

#: What links from one page to others keep of each field, by its name.
_LINKS = {
    field.name: field.links
    for analysis in ANALYSES.values()
    for field in analysis.fields.values()
    if field.links
}

Texts = Mapping[str, Sequence[str]]


class Page(NamedTuple):
    """Link to a page of results."""

    title: str
    address: str
    current: bool


class Place(NamedTuple):
    """Section of the results, with its pages."""

    name: str
    pages: list[Page]

    @property
    def current(self) -> bool:
        return any(page.current for page in self.pages)


#: The analysis on the start page of a survey.
_FIRST = next(iter(ANALYSES))

_NAME = "<any({}):name>".format(", ".join(f"'{name}'" for name in ANALYSES))


@blueprint.get("/")
def surveys() -> str:
    """List the surveys whose results this token can read."""
    only = g.bearer.survey
    visible = [stored for stored in collector().store.surveys.all() if only in (None, stored.id)]
    state_of = states(visible)
    return render_template(
        "results_list.html", surveys=[_listed(stored, state_of[stored.id]) for stored in visible]
    )


@blueprint.get("/<survey_id>/findings")
@within_budget()
def findings(survey_id: str) -> dict[str, list[str]]:
    """Return the main findings of a survey, which the list of surveys asks for one by one."""
    counted = get_counts(survey_id)
    counted.check()
    return {"findings": brief_findings(counted)}


def _listed(stored: StoredSurvey, state: str) -> dict[str, Any]:
    """Return the entry of a survey in the list."""
    survey, outcomes = stored.survey(), collector().store.reports.daily_outcomes(stored.id)
    counted = sum(day.counted for day in outcomes)
    plural, least = "" if counted == 1 else "s", collector().config.min_reports
    served = counted >= max(least, 1)
    return {
        "state": state,
        "survey": survey,
        "reports": f"{number(counted)} report{plural}" if counted else "No reports",
        "period": period([day.day for day in outcomes if day.counted]),
        "served": served,
        "least": number(max(least, 1)),
    }


@blueprint.get("/<survey_id>")
@within_budget()
def overview(survey_id: str) -> AnyResponse | tuple[str, int]:
    """Show the start page of a survey: reports, protection, and the first analysis."""
    return _page(survey_id, _FIRST, of_survey=True)


@blueprint.get(f"/<survey_id>/{_NAME}")
@within_budget()
def view(survey_id: str, name: str) -> AnyResponse | tuple[str, int]:
    """Show an analysis with form, chart and table, or return a file."""
    return _page(survey_id, name)


@blueprint.get("/<survey_id>/export")
@within_budget()
def export(survey_id: str) -> tuple[str, int]:
    """Show the files of the results of a survey."""
    survey, given = collector().store.surveys.get(survey_id).survey(), _given()
    table = ANALYSES["table"]
    texts = given or write(table.start(survey))
    every = {field: given[field] for field in given if field != "attributes"}

    def address(name: str, format: formats.Format) -> str:
        link = url_for("results.report", survey_id=survey_id)
        if name == table.name:
            view = url_for("results.view", survey_id=survey_id, name=name)
            link = f"{view}?{urlencode(texts, doseq=True)}"
        elif name in ANALYSES:
            link = _link(ANALYSES[name], survey, every)
        return f"{link}{'&' if '?' in link else '?'}{urlencode({formats.PARAMETER: format})}"

    query, problem, status, no_records = None, None, 200, None
    records = ANALYSES["microdata"]
    try:
        records.check_work(survey, records.query())
        some: Any = records.start(survey)
        if some.modelled is not None:
            no_records = f"Reports connect only some of them, such as {', '.join(some.modelled)}"
    except HalftruthError as error:
        no_records = str(error)
    try:
        query = read(table.query, texts)
        survey.schema.positions(query.attributes)
        replace(get_counts(survey_id), question=query).check()
    except HalftruthError as error:
        problem, status = str(error), status_of(error)
    rendered = render_template(
        "export.html",
        survey=survey,
        places=_places("export", survey, given),
        controls=controls(table, survey, texts),
        problem=problem,
        query=query,
        labels=labels_of(survey),
        records=_link(records, survey, every) if records in identified(survey) else "",
        no_records=no_records,
        address=address,
        missing_package=formats.missing_package,
    )
    return rendered, status


@blueprint.get("/<survey_id>/report")
@within_budget()
def report(survey_id: str) -> str | AnyResponse:
    """Show all results of a survey on one page for printing, or return it as a file."""
    parameters.reject_query(formats.PARAMETER)
    format = formats.from_query(("html",))
    made = survey_report(get_counts(survey_id))
    if format is not None:
        return formats.respond(as_file(made), format, f"{survey_id}-report")
    return render_template("report.html", survey_id=survey_id, **shown(made))


def _page(survey_id: str, name: str, *, of_survey: bool = False) -> AnyResponse | tuple[str, int]:
    analysis, stored = ANALYSES[name], collector().store.surveys.get(survey_id)
    survey, given = stored.survey(), _given()
    # A page without a query starts with a default query.
    texts = given or write(analysis.start(survey))
    page: dict[str, Any] = {}
    offered = formats.list_available(analysis)
    problem, status = None, 200
    try:
        format = formats.from_query(formats.formats_for(analysis))
        covariance = {"covariance": ["true"]} if format in formats.COVARIANCE else {}
        query = read(analysis.query, {**texts, **covariance})
        analysis.check_work(survey, query)
        source = get_counts(survey_id)
        source.check()
        if given or format or not analysis.placeholder:
            result = answer(analysis, source, query)
            if format is not None:
                content = _file(analysis, result, survey, format)
                return formats.respond(content, format, f"{survey_id}-{name}")
            page = _shown(analysis, result, survey)
            _link_questions(page["rows"], page["first"], survey, given)
            page["wanted"] = _wanted(source, survey) if of_survey else None
    except HalftruthError as error:
        # The start page of a survey with few reports is not an error.
        nothing_yet = of_survey and isinstance(error, TooFewReports)
        problem, status = str(error), 200 if nothing_yet else status_of(error)

    def address(**others: str) -> str:
        """Return the address of this page with the same query and other parameters."""
        return f"{request.path}?{urlencode({**texts, **others}, doseq=True)}"

    rendered = render_template(
        "analysis.html",
        survey=survey,
        analysis=analysis,
        places=_places(analysis.name, survey, given),
        controls=controls(analysis, survey, texts),
        address=address,
        problem=problem,
        offered=offered,
        facts=_facts(stored, survey) if of_survey else None,
        **page,
    )
    return rendered, status


def _wanted(source: AnalysisContext, survey: Survey) -> dict[str, Any] | None:
    """Return the cross-tabulation of the first wanted table, and links to all; None without any."""
    pairs = wanted_pairs(survey)
    if not pairs:
        return None
    crosstab, labels = ANALYSES["crosstab"], labels_of(survey)
    links = [
        (
            f"{labels.question(outcome.name)} by {labels.question(group.name)}",
            _link(crosstab, survey, {"attributes": [f"{group.name},{outcome.name}"]}),
        )
        for outcome, group in pairs
    ]
    table: dict[str, Any] = {"links": links}
    try:
        outcome, group = pairs[0]
        query = read(crosstab.query, {"attributes": [f"{group.name},{outcome.name}"]})
        table |= _shown(crosstab, answer(crosstab, source, query), survey)
    except HalftruthError as error:
        table["problem"] = str(error)
    return table


def _link_questions(
    rows: Sequence[list[Cell]], table: Arranged, survey: Survey, given: Texts
) -> None:
    """Link the questions of a table to their comparison, and pairs to their cross-tabulation."""
    keys = map(table.result.key, table.block.lines)
    questions = {i: key.values for i, key in enumerate(keys) if key.kind == "question"}
    places = [*questions]
    for line, cells in enumerate(rows if places else ()):
        check_deadline()
        row = int(table.first[line])
        names = [values[row] for values in questions.values()]
        cell = cells[places[-1]]
        if not cell.text or None in names:
            continue
        other, about = "comparison", {"attribute": names}
        if len(names) > 1:
            if not of_table(survey, names).identified(names):
                continue
            other, about = "crosstab", {"attributes": [",".join(names)]}
        address = _link(ANALYSES[other], survey, {**given, **about})
        cells[places[-1]] = replace(cell, address=address)


def _places(current: str, survey: Survey, given: Texts) -> list[Place]:
    """Return the sections of the results, with the pages that apply to the survey."""
    places, answered = [], identified(survey)
    for name in PLACES:
        pages = [
            Page(each.title, _link(each, survey, given), each.name == current)
            for each in ANALYSES.values()
            if each.place == name and (each.name == current or each in answered)
        ]
        if name == "Export":
            every = url_for("results.export", survey_id=survey.id)
            picked = _link(ANALYSES["table"], survey, given, every)
            printed = url_for("results.report", survey_id=survey.id)
            pages.insert(0, Page("Files", picked, current == "export"))
            pages.append(Page("Report to print", printed, current=False))
        if pages:
            places.append(Place(name, pages))
    return places


def _link(
    other: Analysis[Any, Any], survey: Survey, given: Texts, address: str | None = None
) -> str:
    """Return the address of an analysis, for the same people and questions as far as possible."""
    address = address or url_for("results.view", survey_id=survey.id, name=other.name)
    # Questions first, since a query about a domain must not ask about those that define it.
    known = sorted(other.fields.values(), key=lambda field: field.kind != "names")
    kept = {f.name: given[f.name] for f in known if f.links == "value" and f.name in given}
    if "attributes" in kept and other.fields["attributes"].of == "attribute":
        names = [_attribute(survey, each) for each in _listed_names(given, "attributes")]
        kept["attributes"] = [",".join(names)]
    kept |= dict(_questions(other, survey, given))
    if not kept:
        return address
    texts: dict[str, Sequence[str]] = {**write(other.start(survey))}
    # Set all questions first and at once, since they must differ from each other.
    about = {name: kept.pop(name) for name in [*kept] if other.fields[name].links != "value"}
    for changed in (about, *({name: values} for name, values in kept.items())):
        trial = {**texts, **changed}
        asked = _names_in(text for field in trial if field != "where" for text in trial[field])
        group = _names_in(trial.get("where", ()))
        if asked & group or len(survey.schema.names) - len(group) < other.min_order:
            continue
        with suppress(HalftruthError):
            read(other.query, trial)
            texts = trial
    return f"{address}?{urlencode(texts, doseq=True)}"


def _questions(
    other: Analysis[Any, Any], survey: Survey, given: Texts
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield fields for the chosen questions: the main question, and the one that defines groups."""
    schema = survey.schema
    main, of_groups = (
        [field for field in given if _LINKS.get(field) == kind] for kind in ("question", "groups")
    )
    listed = [_attribute(survey, name) for name in _listed_names(given, "attributes")]
    asked = [_attribute(survey, name) for field in main for name in _listed_names(given, field)]
    groups = [name for field in of_groups for name in _listed_names(given, field)]
    first = next(iter([*asked, *listed[1:2], *listed]), None)
    others = [*groups, *listed, *(each.name for each in clearest(survey))]
    if first not in schema.names:
        return
    known = (name for name in others if name in schema.names and name != first)
    pairs = ([first, name] for name in known)
    second = next((pair[1] for pair in pairs if of_table(survey, pair).identified(pair)), None)
    if second is None:
        return
    middle = middle_answer(schema.attributes[schema.position(first)])
    texts = [text for field in main for text in given[field]]
    chosen = [text for text in texts if text.startswith(f"{first}=")]
    for field in other.fields.values():
        if field.links == "question":
            answers = chosen or [f"{first}={middle}"]
            yield field.name, answers if field.kind == "items" else [first]
        elif field.links == "groups":
            yield field.name, [second]
        elif field.name == "attributes" and asked and "attributes" not in given:
            yield field.name, [f"{second},{first}"]


def _attribute(survey: Survey, name: str) -> str:
    """Return the first option of a multiple-response question, or the name itself."""
    options = survey.schema.options.get(name)
    return options[0].name if options else name


def _listed_names(given: Texts, field: str) -> list[str]:
    texts = given.get(field, ())
    return [each.partition("=")[0] for text in texts for each in text.split(",")]


def _names_in(texts: Iterable[str]) -> set[str]:
    """Return the names in lists of names and in answers."""
    return {each.partition("=")[0] for text in texts for each in text.split(",")}


def _file(
    analysis: Analysis[Any, Any], result: Any, survey: Survey, format: formats.Format
) -> bytes:
    """Return a result, or its chart, as the content of a file."""
    if format not in formats.PICTURES:
        return formats.encode(analysis, result, format)
    # Import here, since Matplotlib is slow to import and most requests do not draw.
    from ...charts.rendering import render_bytes

    return render_bytes(analysis.chart(result, labels_of(survey, result.query)), f".{format}")


def _shown(analysis: Analysis[Any, Any], result: Any, survey: Survey) -> dict[str, Any]:
    """Return the template variables of a result."""
    labels = labels_of(survey, result.query)
    shown = analysis.present(result, labels)
    first, *parts = shown.parts
    several = [labels.question(name) for name in survey.schema.options]

    def drawn(part: Arranged) -> ChartOnPage | None:
        """Return the chart of a part, without the notes that the page shows elsewhere."""
        chart = shown.chart_of(part) if part.grid.rows else None
        if chart is None:
            return None
        notes = tuple(note for note in chart.notes if note not in shown.sentences)
        # The title of the survey is that of the page.
        title = chart.title.removesuffix(f" · {labels.survey}")
        return on_page(replace(chart, title=title, notes=notes), several)

    return {
        "result": result,
        "headline": shown.headline,
        "group": shown.basis,
        "notices": shown.warnings,
        "reading": shown.notes,
        "chart": drawn(first),
        "can_draw_files": can_draw_files(),
        "first": first,
        "grid": first.grid,
        "rows": rows_of(first.grid),
        "parts": [(part, rows_of(part.grid), drawn(part)) for part in parts],
    }


def rows_of(grid: Grid) -> list[list[Cell]]:
    """Return the rows that a page shows: the first ones, or all if requested."""
    asked = request.args.getlist(ALL_ROWS)
    if asked not in ([], ["all"]):
        raise ParameterError(f"{ALL_ROWS}: expected 'all'", field=ALL_ROWS)
    return list(grid.rows[: len(grid.rows) if asked else ROWS])


def _facts(stored: StoredSurvey, survey: Survey) -> dict[str, Any]:
    """Return the facts about a survey for its start page."""
    return {
        "status": states([stored])[stored.id].lower(),
        "digest": stored.digest,
        "protection": Protection.of(survey).sentences(),
        "outcomes": collector().store.reports.daily_outcomes(stored.id),
    }


def _given() -> dict[str, list[str]]:
    """Return the query parameters of the query, without empty ones."""
    filled = {name: [text for text in texts if text] for name, texts in request.args.lists()}
    others = (formats.PARAMETER, ALL_ROWS)
    return {name: texts for name, texts in filled.items() if texts and name not in others}
