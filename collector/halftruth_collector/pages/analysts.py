"""What analysts see: results as charts and tables, each with its JSON and CSV twin.

An analyst signs in with a token, which the browser keeps in a cookie that no script can read and
that is sent with no request from another site.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
from flask import Blueprint, Response, redirect, render_template, request, url_for
from halftruth_shared import HalftruthError, Survey, epsilon, worst_case_posterior
from halftruth_shared.messages import (
    AssociationsQuery,
    AssociationsResult,
    Decision,
    ItemsetsQuery,
    ItemsetsResult,
    MeasuresQuery,
    MeasuresResult,
    Method,
    Request,
    RulesQuery,
    RulesResult,
    Selection,
    TableQuery,
    TableResult,
    Tabular,
    prepare,
)
from markupsafe import Markup
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from .. import presentation, results
from ..api import parameters
from ..api.context import allow, collector
from ..api.problems import status_of
from ..charts import Chart, associations_chart, itemsets_chart, measures_chart, table_chart
from ..errors import Forbidden, Unauthorized
from .policy import harden

blueprint = Blueprint("results", __name__, url_prefix="/results", template_folder="templates")

COOKIE = "halftruth_token"

#: Where the address of a page that asked for a token may lead.
_HOME = "/results/"

#: Rows of a table beyond which a page shows the first ones, and says so.
_MOST_ROWS = 500


class ItemsetsView(ItemsetsQuery, frozen=True, kw_only=True):
    """Itemsets, and which of them a page shows."""

    min_support: float = 0.05
    length: int | None = None
    attribute: str | None = None
    decision: Decision | None = None


class RulesView(RulesQuery, frozen=True, kw_only=True):
    """Rules with what a page starts from."""

    min_support: float = 0.05
    min_confidence: float = 0.5
    measures: list[str] = msgspec.field(default_factory=lambda: ["lift"])
    limit: int | None = 100


class TableView(TableQuery, frozen=True, kw_only=True):
    """A table; of the first attributes where none are named."""

    attributes: list[str] = msgspec.field(default_factory=list)


class MeasuresView(MeasuresQuery, frozen=True, kw_only=True):
    """Measures; of the first attributes where none are named."""

    attributes: list[str] = msgspec.field(default_factory=list)


prepare(Request)


@dataclass(frozen=True)
class Field:
    """A control of a page's form."""

    name: str
    label: str
    value: str
    choices: Sequence[str] = ()


@dataclass(frozen=True)
class View:
    """One kind of result as a page."""

    title: str
    query: type[Request]
    compute: Callable[..., Any]
    fields: Callable[[Any, Survey], list[Field]]
    chart: Callable[[Any], Chart] | None
    grid: Callable[[Any], presentation.Grid]


def _itemsets(survey: Survey, counts: Any, as_of: Any, query: ItemsetsView) -> ItemsetsResult:
    found = results.itemsets_result(survey, counts, as_of, _plain(query, ItemsetsQuery))
    if query.attribute is not None:
        survey.schema.position(query.attribute, "attribute")
    shown = [
        itemset
        for itemset in found.itemsets
        if query.length in (None, len(itemset.items))
        and query.attribute in (None, *itemset.items)
        and query.decision in (None, itemset.decision)
    ]
    return msgspec.structs.replace(found, itemsets=shown)


def _rules(survey: Survey, counts: Any, as_of: Any, query: RulesView) -> RulesResult:
    return results.rules_result(survey, counts, as_of, _plain(query, RulesQuery))


def _table(survey: Survey, counts: Any, as_of: Any, query: TableView) -> TableResult:
    named = msgspec.structs.replace(query, attributes=_named(query.attributes, survey))
    return results.table_result(survey, counts, as_of, _plain(named, TableQuery))


def _measures(survey: Survey, counts: Any, as_of: Any, query: MeasuresView) -> MeasuresResult:
    named = msgspec.structs.replace(query, attributes=_named(query.attributes, survey))
    return results.measures_result(survey, counts, as_of, _plain(named, MeasuresQuery))


def _plain(query: Request, kind: type[Any]) -> Any:
    """The question without what only a page asks."""
    return kind(**{name: getattr(query, name) for name in kind.__struct_fields__})


def _named(names: list[str], survey: Survey) -> list[str]:
    return names or list(survey.schema.names[:2])


def _itemset_fields(query: ItemsetsView, survey: Survey) -> list[Field]:
    return [
        Field("min_support", "Least support", f"{query.min_support:g}"),
        Field("select", "What must reach it", query.select, get_args(Selection)),
        Field("estimate", "Estimate shown", query.estimate, get_args(Method)),
        Field("length", "Only length", "" if query.length is None else str(query.length)),
        Field("attribute", "Only with", query.attribute or "", ("", *survey.schema.names)),
        Field("decision", "Only", query.decision or "", ("", *get_args(Decision))),
    ]


def _rule_fields(query: RulesView, survey: Survey) -> list[Field]:
    return [
        Field("min_support", "Least support", f"{query.min_support:g}"),
        Field("min_confidence", "Least confidence", f"{query.min_confidence:g}"),
        Field("min_lift", "Least lift", "" if query.min_lift is None else f"{query.min_lift:g}"),
        Field("select", "What must reach it", query.select, get_args(Selection)),
        Field("measures", "Measures", ",".join(query.measures)),
        Field("sort", "Order by", query.sort),
        Field("limit", "At most", "" if query.limit is None else str(query.limit)),
    ]


def _table_fields(query: TableView, survey: Survey) -> list[Field]:
    return [
        Field("attributes", "Attributes", ",".join(_named(query.attributes, survey))),
        Field("estimate", "Estimate shown", query.estimate, get_args(Method)),
    ]


def _measure_fields(query: MeasuresView, survey: Survey) -> list[Field]:
    return [Field("attributes", "Attributes", ",".join(_named(query.attributes, survey)))]


def _associations(
    survey: Survey, counts: Any, as_of: Any, query: AssociationsQuery
) -> AssociationsResult:
    return results.associations_result(survey, counts, as_of, query)


def _association_fields(query: AssociationsQuery, survey: Survey) -> list[Field]:
    return [Field("attributes", "Attributes (all if empty)", ",".join(query.attributes or []))]


VIEWS = {
    "itemsets": View(
        "Itemsets",
        ItemsetsView,
        _itemsets,
        _itemset_fields,
        itemsets_chart,
        presentation.itemset_rows,
    ),
    "rules": View("Rules", RulesView, _rules, _rule_fields, None, presentation.rule_rows),
    "table": View("Tables", TableView, _table, _table_fields, table_chart, presentation.table_rows),
    "measures": View(
        "Measures",
        MeasuresView,
        _measures,
        _measure_fields,
        measures_chart,
        lambda result: presentation.measure_rows(result.measures, result.query.confidence),
    ),
    "associations": View(
        "Associations",
        AssociationsQuery,
        _associations,
        _association_fields,
        associations_chart,
        presentation.association_rows,
    ),
}

_ANY = f"<any({', '.join(VIEWS)}):name>"


@blueprint.before_request
def only_analysts() -> None:
    """Every page but the one to sign in needs a token."""
    if request.endpoint not in ("results.sign_in", "results.signed_in"):
        allow("analyst", request.cookies.get(COOKIE, ""))


@blueprint.after_request
def closed(response: Response) -> Response:
    """Forms of these pages go to this collector alone, and no cache keeps a result."""
    response.headers["Cache-Control"] = "no-store"
    return harden(response, "'self'")


@blueprint.get("/sign-in")
def sign_in() -> str:
    """Ask for a token."""
    return render_template("sign_in.html", next=_safe(request.args.get("next", "")), detail=None)


@blueprint.post("/sign-in")
def signed_in() -> AnyResponse:
    """Keep the token in the browser, if it is one."""
    token = request.form.get("token", "").strip()
    allow("analyst", token)
    response = redirect(_safe(request.form.get("next", "")) or url_for("pages.front"), 303)
    response.set_cookie(
        COOKIE, token, httponly=True, samesite="Strict", secure=request.is_secure, path=_HOME
    )
    return response


@blueprint.post("/sign-out")
def sign_out() -> AnyResponse:
    """Forget the token."""
    response = redirect(url_for("pages.front"), 303)
    response.delete_cookie(COOKIE, path=_HOME, httponly=True, samesite="Strict")
    return response


@blueprint.get("/<survey_id>")
def overview(survey_id: str) -> str:
    """What was asked, and how many reports came."""
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    survey = stored.survey()
    gamma = survey.mechanism.amplification(survey.schema)
    return render_template(
        "overview.html",
        survey=survey,
        views=VIEWS,
        status=stored.status,
        digest=stored.digest,
        reports=counts.reports,
        as_of=as_of,
        gamma=float(gamma),
        epsilon=epsilon(gamma),
        posterior=float(worst_case_posterior("0.05", gamma)),
        arrivals=collector().store.reports.arrivals(survey_id),
    )


@blueprint.get(f"/<survey_id>/{_ANY}")
def view(survey_id: str, name: str) -> str:
    """A result as chart and table."""
    # Imported here: it takes a while, and most requests draw nothing.
    from ..charts.rendering import to_svg

    kind = VIEWS[name]
    query, survey, result = _result(survey_id, kind)
    header, rows = kind.grid(result)
    drawn = None if kind.chart is None or not rows else to_svg(kind.chart(result))
    asked = urlencode([(key, text) for key, text in request.args.items(multi=True) if text])
    return render_template(
        "view.html",
        survey=survey,
        views=VIEWS,
        name=name,
        title=kind.title,
        result=result,
        fields=kind.fields(query, survey),
        # The chart escapes what a survey says, and holds no script and no style.
        chart=None if drawn is None else Markup(drawn),  # noqa: S704
        header=header,
        rows=rows[:_MOST_ROWS],
        left_out=max(0, len(rows) - _MOST_ROWS),
        notices=_notices(result),
        asked=f"?{asked}" if asked else "",
    )


@blueprint.get(f"/<survey_id>/{_ANY}.<any(json, csv):ending>")
def twin(survey_id: str, name: str, ending: str) -> Response:
    """The same result for programs."""
    _, _, result = _result(survey_id, VIEWS[name])
    if ending == "json":
        return Response(msgspec.json.encode(result), mimetype="application/json")
    return _csv(result, f"{survey_id}-{name}.csv")


def _csv(result: Tabular, name: str) -> Response:
    response = Response(presentation.csv_text(result), mimetype="text/csv")
    response.headers["Content-Disposition"] = f"attachment; filename={name}"
    return response


def _result(survey_id: str, kind: View) -> tuple[Any, Survey, Any]:
    query = parameters.query(kind.query, blanks=True)
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    survey = stored.survey()
    return query, survey, kind.compute(survey, counts, as_of, query)


def _notices(result: Any) -> list[str]:
    """What an analyst has to know before concluding anything."""
    precisions = result.precision if isinstance(result, ItemsetsResult) else ()
    return [f"Length {found.length}: {found.verdict}." for found in precisions if not found.usable]


def _safe(address: str) -> str:
    """An address within these pages, or none."""
    inside = address.startswith(_HOME) and not any(c in address for c in "\\\r\n")
    return address if inside else ""


@blueprint.errorhandler(Unauthorized)
@blueprint.errorhandler(Forbidden)
def ask_for_token(error: HalftruthError) -> tuple[str, int]:
    """Whoever may not see a page is asked for a token."""
    tried = request.method == "POST" or COOKIE in request.cookies
    # The form was read, and with it whatever is wrong with it, only where somebody signs in.
    if request.endpoint == "results.signed_in":
        address = request.form.get("next", "")
    else:
        address = request.full_path if request.method == "GET" else ""
    page = render_template(
        "sign_in.html", next=_safe(address), detail=str(error) if tried else None
    )
    return page, status_of(error)


@blueprint.errorhandler(HalftruthError)
def ours(error: HalftruthError) -> tuple[str, int]:
    """A page that says what is wrong."""
    return render_template("problem.html", detail=str(error)), status_of(error)


@blueprint.errorhandler(HTTPException)
def of_http(error: HTTPException) -> tuple[str, int]:
    """A page that says what is wrong."""
    return render_template("problem.html", detail=error.description), error.code or 500
