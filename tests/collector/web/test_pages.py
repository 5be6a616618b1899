"""Access to pages, their content and their headers, without a browser."""

import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import every_kind
import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.web.pages.languages import chosen, direction_of
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.protocol.reports import Report

VIEWS = ("itemsets", "rules", "table", "measures")
RESULTS = (
    "",
    *(f"/{view}" for view in VIEWS),
    *(f"/{v}?format={e}" for v in VIEWS for e in ("json", "csv", "parquet")),
)


@pytest.fixture
def signed_in(http, analyst):
    """The browser of an analyst."""
    token = analyst["Authorization"].removeprefix("Bearer ")
    answer = http.post("/sign-in", data={"token": token, "next": "/results/health"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/results/health")
    return http


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_results_without_a_token_show_the_sign_in_form(http, filled):
    for path in RESULTS:
        answer = http.get(f"/results/health{path}")
        assert answer.status_code == 401
        asked = {tag["name"]: tag for tag in Page(answer.text).all("input")}
        assert asked["token"]["type"] == "password"
        assert asked["next"]["value"].startswith(f"/results/health{path}")


def test_results_are_shown_to_a_signed_in_analyst(signed_in, filled):
    for path in RESULTS:
        answer = signed_in.get(f"/results/health{path}")
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"
        # Neither pages nor their charts hold inline styles, scripts or event handlers.
        for tag, attributes in Page(answer.text if answer.mimetype == "text/html" else "").tags:
            assert tag not in ("style", "script") or attributes.get("src", "").startswith("/")
            assert not {name for name in attributes if name == "style" or name.startswith("on")}


@pytest.mark.parametrize(
    "elsewhere",
    ["https://example.org/", "//example.org", "/results/..\\evil", "/s/health", "javascript:x", ""],
)
def test_signing_in_redirects_to_results_only(http, analyst, elsewhere):
    token = analyst["Authorization"].removeprefix("Bearer ")
    answer = http.post("/sign-in", data={"token": token, "next": elsewhere})
    assert answer.headers["Location"] == "/results/"


def test_the_list_holds_only_surveys_that_the_token_permits(http, store, survey, analyst):
    operations.publish_survey(store, Survey("second", "Second", survey.schema, survey.mechanism))
    assert any(tag["href"] == "/results/" for tag in Page(http.get("/").text).all("a"))
    assert http.get("/results/").status_code == 401
    for only, listed in ((None, ["health", "second"]), ("second", ["second"])):
        browser = http.application.test_client()
        browser.post("/sign-in", data={"token": operations.create_token(store, "analyst", only)})
        links = [tag["href"] for tag in Page(browser.get("/results/").text).all("a")]
        assert [link for link in links if link.startswith("/results/")] == [
            f"/results/{id}" for id in listed
        ]


def test_itemsets_are_filtered_alike_in_page_and_files(signed_in, filled):
    page = "/results/health/itemsets"
    every = itemsets(signed_in.get(f"{page}?min_support=0.01&max_length=2&format=json"))
    frequent = next(p <= 0.05 for items, p in every if len(items) == 2)
    decision = "frequent" if frequent else "undecided"
    asked = f"min_support=0.01&length=2&attribute=drinks&decision={decision}&max_length=2"
    found = itemsets(signed_in.get(f"{page}?{asked}&format=json"))
    assert found == [
        (items, p) for items, p in every if len(items) == 2 and (p <= 0.05) == frequent
    ]
    text = signed_in.get(f"{page}?{asked}&format=csv").get_data(as_text=True)
    assert len(list(csv.DictReader(io.StringIO(text)))) == len(found)
    shown = Page(signed_in.get(f"{page}?{asked}").get_data(as_text=True))
    assert len(shown.all("tr")) == 1 + len(found)
    links = [tag["href"] for tag in shown.all("a")]
    again = next(link for link in links if link.endswith("&format=json"))
    assert itemsets(signed_in.get(again)) == found


def itemsets(answer):
    """Return each itemset of a JSON response with its adjusted p-value."""
    result = answer.get_json()
    [key] = result["keys"]
    return list(zip(key["values"], result["estimates"]["adjusted_p_value"], strict=True))


@pytest.mark.parametrize(
    ("kind", "begin"), [("svg", b"<svg"), ("png", b"\x89PNG")], ids=["svg", "png"]
)
def test_a_chart_is_offered_as_a_file(signed_in, filled, kind, begin):
    page = Page(signed_in.get("/results/health/table?attributes=drinks").text)
    [link] = [tag["href"] for tag in page.all("a") if tag["href"].endswith(f"format={kind}")]
    answer = signed_in.get(link)
    assert answer.mimetype == {"svg": "image/svg+xml", "png": "image/png"}[kind]
    assert answer.headers["Content-Disposition"] == f"attachment; filename=health-table.{kind}"
    assert answer.data.startswith(begin)
    # An analysis without a chart has neither such a file nor a link to it.
    refused = signed_in.get(f"/results/health/counts?format={kind}")
    assert refused.status_code == 422
    assert "format: expected one of: json, csv, parquet<" in refused.text
    assert "format=svg" not in signed_in.get("/results/health/counts").text


def test_large_tables_link_to_all_rows_and_files_are_complete(signed_in, filled, monkeypatch):
    monkeypatch.setattr("halftruth_collector.web.pages.results.ROWS", 2)
    path = "/results/health/table?attributes=drinks"
    part = signed_in.get(path).text
    assert "The first 2 of 3 rows." in part
    assert len(Page(part).all("tr")) == 3
    whole = signed_in.get(f"{path}&rows=all").text
    assert f"{path}&rows=all" in [tag["href"] for tag in Page(part).all("a")]
    assert len(Page(whole).all("tr")) == 4
    assert "The first" not in whole
    for asked in ("", "&rows=all"):
        assert len(signed_in.get(f"{path}{asked}&format=csv").text.splitlines()) == 4


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("rows=7", "rows: expected &#39;all&#39;"),
        ("rows=", "rows: expected &#39;all&#39;"),
        ("rows=all&rows=all", "rows: expected &#39;all&#39;"),
        ("format=xlsx", "format: expected one of: json, csv, parquet, svg, png"),
        ("attributes=smoker,nobody", "&#39;nobody&#39;"),
        ("where=nobody%3Dyes", "&#39;nobody&#39;"),
        ("where=drinks%3Dhourly", "&#39;hourly&#39;"),
        ("confidence=2", "confidence: expected"),
        ("colour=red", "colour: unknown parameter"),
        ("colour=red&size=4&confidence=2", "colour, size: unknown parameters; expected one of"),
        ("colour=red&size=4&confidence=2", "; confidence: expected"),
    ],
)
def test_errors_have_one_line_and_the_query_is_kept(signed_in, filled, asked, said):
    begin = "" if "attributes" in asked else "attributes=drinks,smoker&"
    answer = signed_in.get(f"/results/health/table?{begin}{asked}")
    assert answer.status_code == 422
    assert said in answer.text
    page = Page(answer.text)
    assert [tag.get("role") for tag in page.all("p")].count("alert") == 1
    chosen = {tag["value"] for tag in page.all("option") if "selected" in tag}
    chosen |= {tag["value"] for tag in page.all("input") if "checked" in tag or tag.get("id")}
    assert "smoker" in chosen
    name, _, value = asked.partition("=")
    if name in ("where", "confidence"):
        assert value.replace("%3D", "=") in chosen
    if name == "attributes":
        assert "nobody" in chosen


def test_links_to_other_analyses_keep_the_selection(signed_in, filled):
    picked = "missing=exclude&confidence=0.9&where=smoker%3Dyes"
    pages = [
        Page(signed_in.get(f"/results/health/{name}?attributes=drinks&{picked}").text)
        for name in ("table", "measures")
    ]
    links = {}
    for tag in [tag for page in pages for tag in page.all("a")]:
        address = urlsplit(tag["href"])
        if address.path.startswith("/results/health/"):
            links.setdefault(address.path.rsplit("/", 1)[1], parse_qs(address.query))
    assert links["itemsets"]["where"] == ["smoker=yes"]
    assert links["itemsets"]["confidence"] == ["0.9"]
    assert links["overview"]["missing"] == ["exclude"]
    # Cross tables cannot be restricted to one answer to one of their questions.
    assert "where" not in links["crosstab"]
    assert "attributes" not in links["comparison"]
    for tag in pages[0].all("a"):
        if tag["href"].startswith("/results/health/") and "format=" not in tag["href"]:
            assert signed_in.get(tag["href"]).status_code == 200, tag["href"]


def test_a_multiple_response_question_is_shown_as_one_question(signed_in, store):
    survey = every_kind.survey('kind = "gamma-diagonal"\ngamma = "19"')
    operations.publish_survey(store, survey)
    codes = [survey.schema.encode(person) for person in every_kind.people(2_000, 3)]
    reports = survey.perturbation.reports(np.array(codes), np.random.default_rng(1)).tolist()
    store.reports.add(survey.id, survey.digest, [Report(id=uuid4(), values=row) for row in reports])
    start = "/results/every-kind"
    overview = signed_in.get(start)
    assert "Which did you have?" in overview.text
    assert "none of these" in overview.text
    assert "options chosen on average" in overview.text
    cards = [tag["href"] for tag in Page(overview.text).all("a") if "/comparison?" in tag["href"]]
    assert any("symptoms.cough%3Dyes" in link for link in cards)
    crossed = f"{start}/crosstab?attributes=symptoms%2Csmoker"
    page = Page(signed_in.get(crossed).text)
    assert "allows several options" in page.text
    assert {"symptoms", "symptoms.cough"} <= {tag.get("value") for tag in page.all("option")}
    for link in {tag["href"] for tag in [*page.all("a"), *Page(overview.text).all("a")]} | {
        f"{start}/comparison?answer=symptoms%3Dcough&groups=smoker",
        f"{start}/itemsets?min_support=0.05&attribute=symptoms",
    }:
        if link.startswith(start) and "symptoms" in link:
            assert signed_in.get(link).status_code == 200, link


def test_the_list_links_to_the_report_of_each_survey(signed_in, filled):
    listed = signed_in.get("/results/")
    assert "400 reports, counted on " in listed.text
    assert 'data-findings="/results/health/findings"' in listed.text
    found = signed_in.get("/results/health/findings").get_json()["findings"]
    assert found[-1].startswith("The typical margin of error of a share is ±")
    assert signed_in.get("/results/nobody/findings").status_code == 404
    assert "/results/health/report" in [tag["href"] for tag in Page(listed.text).all("a")]
    answer = signed_in.get("/results/health/report")
    assert answer.status_code == 200
    assert len(Page(answer.text).all("figure")) == 2
    assert "Privacy promise" in answer.text
    refused = signed_in.get("/results/health/report?colour=red")
    assert (refused.status_code, refused.mimetype) == (422, "text/html")
    assert "colour: unknown" in refused.text


def test_pages_state_that_there_are_no_reports_or_no_survey(signed_in, survey):
    answer = signed_in.get("/results/health")
    assert answer.status_code == 200
    assert "no report has been counted; results are served of" in answer.text
    nowhere = signed_in.get("/results/nobody")
    assert (nowhere.status_code, nowhere.mimetype) == (404, "text/html")
    assert "there is no survey" in nowhere.text


PAGES = ("/", "/s/health", "/s/nobody", "/results/", "/sign-in", "/results/health")


@pytest.mark.parametrize("path", PAGES)
def test_pages_load_nothing_from_other_origins_and_forbid_inline_scripts(http, survey, path):
    answer = http.get(path)
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["form-action"] == (
        "'self'" if path.startswith(("/results", "/sign")) else "'none'"
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    page = Page(answer.get_data(as_text=True))
    for tag, attributes in page.tags:
        for name in ("src", "href", "action"):
            assert attributes.get(name, "/").startswith("/"), (tag, attributes)
    [html] = page.all("html")
    assert (html.pop("lang"), html.pop("dir", "ltr"), html) == ("en", "ltr", {})


def test_the_form_page_holds_no_html_form_that_a_browser_could_post(http, survey):
    page = Page(http.get("/s/health").get_data(as_text=True))
    assert not page.all("form")
    assert not page.all("input")
    [form] = page.all("halftruth-form")
    # `history` makes the Back key turn a page back; no other router runs on this page.
    assert form == {"survey": "health", "max-gamma": "19", "history": None}
    assert "scripts are blocked or could not be loaded" in page.text


YES_NO = [Attribute(name, ["no", "yes"]) for name in ("smoker", "drinks")]
DESIGNS = {
    "smoker": {"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"},
    "drinks": {"design": "warner", "p": "3/4"},
}


@pytest.mark.parametrize(
    ("attributes", "mechanism", "unprotected"),
    [
        ([Attribute("region", ["n", "s"], sensitive=False), *YES_NO], GammaDiagonal(19), "region"),
        (YES_NO, DistortionMatrices({}, DESIGNS), "smoker"),
    ],
    ids=["sent as it is", "provable"],
)
def test_the_form_names_attributes_that_are_not_protected(
    http, store, attributes, mechanism, unprotected
):
    operations.publish_survey(store, Survey("told", "Told", Schema(attributes), mechanism))
    [form] = Page(http.get("/s/told").get_data(as_text=True)).all("halftruth-form")
    assert form["unprotected"] == unprotected


def test_the_page_of_a_closed_survey_has_no_form(http, store, survey):
    operations.close_survey(store, "health", confirm="health")
    page = Page(http.get("/s/health").get_data(as_text=True))
    assert not page.all("halftruth-form")
    assert not page.all("script")
    assert "closed" in page.text


def test_texts_of_surveys_are_escaped(http, store, analyst, survey):
    evil = "<script>alert(1)</script><b onclick=x>\"'"
    schema = Schema([Attribute("a", ["no", evil]), Attribute("b", ["no", evil])])
    named = Survey("evil", evil, schema, GammaDiagonal(19), description=evil)
    operations.publish_survey(store, named)
    reports = [Report(id=UUID(int=i), values=[i % 2, i % 2]) for i in range(60)]
    store.reports.add("evil", named.digest, reports)
    token = analyst["Authorization"].removeprefix("Bearer ")
    http.post("/sign-in", data={"token": token})
    for path in ("/", "/s/evil", "/results/evil", *(f"/results/evil/{view}" for view in VIEWS)):
        answer = http.get(path)
        assert answer.status_code == 200
        html = answer.get_data(as_text=True)
        assert "<script>alert" not in html
        assert "<b onclick" not in html


def test_modules_are_served_to_every_origin_and_other_files_are_not(http):
    with http.get("/js/form/index.js") as answer:
        assert answer.mimetype == "text/javascript"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    for path in ("/js/../client.py", "/js/%2e%2e/client.py", "/js/nothing.js", "/js/form"):
        assert http.get(path).status_code == 404
    with http.get("/assets/style.css") as answer:
        assert answer.mimetype == "text/css"
    assert http.get("/assets/../respondents.py").status_code == 404


def test_other_origins_may_only_fetch_surveys_and_send_reports(http, filled, analyst, batch):
    def allowed(answer):
        return answer.headers.get("Access-Control-Allow-Origin")

    assert allowed(http.get("/v1/surveys/health")) == "*"
    assert allowed(http.get("/v1/surveys/nobody")) == "*"
    preflight = http.options("/v1/surveys/health/reports")
    assert allowed(preflight) == "*"
    assert preflight.headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert "Access-Control-Allow-Credentials" not in preflight.headers
    assert allowed(http.post("/v1/surveys/health/reports", json=batch([0, 0]))) == "*"
    assert allowed(http.post("/v1/surveys/health/reports", data="{")) == "*"
    for answer in (
        http.get("/v1/surveys"),
        http.get("/v1/surveys/health/counts", headers=analyst),
        http.get("/v1/surveys/health/itemsets?min_support=0.1", headers=analyst),
        http.post("/v1/surveys", json={}),
        http.get("/"),
        http.get("/results/health"),
    ):
        assert allowed(answer) is None


def test_the_form_has_the_configured_amplification(http, make_app):
    app = make_app(max_gamma="5/2")
    [form] = Page(app.test_client().get("/s/health").get_data(as_text=True)).all("halftruth-form")
    assert form["max-gamma"] == "5/2"


def test_only_forms_can_be_framed_and_only_by_listed_origins(http, make_app):
    def framing(client, path):
        [policy] = client.get(path).headers.getlist("Content-Security-Policy")
        return policy.partition("frame-ancestors ")[2].split(";")[0]

    assert framing(http, "/s/health") == "'none'"
    origins = ("https://lms.example.org", "https://*.example.com")
    client = make_app(frame_origins=origins).test_client()
    assert framing(client, "/s/health") == " ".join(origins)
    for path in ("/", "/results/", "/operate/surveys/", "/v1/surveys", "/s/nobody"):
        assert framing(client, path) == "'none'", path


def test_reports_are_counted_by_day_and_refusals_by_reason(signed_in, batch, survey, store):
    ok = batch([0, 0], [1, 2])
    for body, status in (
        (ok, 202),
        (ok, 202),
        (batch([0, 9]), 422),
        (batch([0, 0], digest="0" * 64), 409),
        (batch([0, 0], digest="0" * 64), 409),
    ):
        assert signed_in.post("/v1/surveys/health/reports", json=body).status_code == status
    signed_in.application.extensions["halftruth"].store.reports.flush()
    [found] = store.reports.daily_outcomes("health")
    assert (found.counted, found.repeated) == (2, 2)
    assert found.refused == {"report-error": 1, "stale-digest": 2}
    text = Page(signed_in.get("/results/health").get_data(as_text=True)).text
    assert "report-error: 1, stale-digest: 2" in text


@pytest.mark.parametrize("path", ["/nothing", "/s", "/js", "/assets/nothing.css"])
def test_unknown_addresses_get_a_page_for_browsers_and_a_problem_document_otherwise(http, path):
    # The Accept header of Chromium.
    accepted = (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
        "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
    )
    page = http.get(path, headers={"Accept": accepted})
    assert page.status_code == 404
    assert page.mimetype == "text/html"
    assert "Content-Security-Policy" in page.headers
    for url in (path, "/v1/nothing"):
        problem = http.get(url, headers={"Accept": "application/json"})
        assert problem.status_code == 404
    lost = http.get("/v1/nothing", headers={"Accept": "text/html"})
    assert lost.mimetype == "application/problem+json"


LANGUAGES = json.loads(
    (Path(__file__).parents[2] / "support" / "languages.json").read_text("utf-8")
)


@pytest.mark.parametrize("case", LANGUAGES["chosen"], ids=str)
def test_a_page_has_the_language_that_its_form_chooses(case):
    assert chosen(case["offered"], case["named"], case["preferred"]) == case["language"]


@pytest.mark.parametrize("way", ["ltr", "rtl"])
def test_a_page_has_the_text_direction_of_its_language(way):
    assert {direction_of(tag) for tag in LANGUAGES[way]} == {way}


def test_the_menu_offers_only_analyses_that_pairs_of_questions_support(
    http, store, signed_in, monkeypatch
):
    of_three = replace(ANALYSES["crosstab"], min_order=3)
    monkeypatch.setitem(ANALYSES, "crosstab", of_three)
    schema = Schema([Attribute(name, ("no", "yes", "hush"), missing=("hush",)) for name in "abc"])
    mechanism = SplitQuestionnaire.designed(schema, "19", (), {1: 1.0, 2: 1.0})
    survey = Survey("pairs", "Pairs", schema, mechanism)
    operations.publish_survey(store, survey)
    rng = np.random.default_rng(1)
    drawn = mechanism.bind(schema).reports(rng.integers(0, 3, (900, 3)), rng).tolist()
    reports = [Report(id=UUID(int=i), values=values) for i, values in enumerate(drawn)]
    store.reports.add(survey.id, survey.digest, reports)
    begin = "/results/pairs/"

    def linked(path):
        page = Page(http.get(path).get_data(as_text=True))
        return {a["href"] for a in page.all("a") if a["href"].startswith(begin)}

    links = set().union(*map(linked, sorted(linked("/results/pairs"))))
    offered = {link.removeprefix(begin) for link in links if "?" not in link} - {"report"}
    assert set(ANALYSES) - offered == {"crosstab", "waves"}
    for name in offered:
        answer = http.get(f"{begin}{name}")
        assert (answer.status_code, 'role="alert"' in answer.text) == (200, False), name
