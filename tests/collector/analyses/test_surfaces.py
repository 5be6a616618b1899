"""Every analysis gives the same result over HTTP, in Python, in a command and on its page."""

import csv
import io
import json
import math
import re
from uuid import uuid4

import pandas as pd
import pytest
from halftruth_client import Analyst
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES as REGISTRY
from halftruth_collector.analyses import answer
from halftruth_collector.analyses.tabular import harmless
from halftruth_collector.web.openapi import document
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.analyses import QUERIES, name_of
from halftruth_shared.analyses.reading import make
from halftruth_shared.columns import encode
from halftruth_shared.protocol.reports import Report

from .conftest import SURVEYS, command, query_string

#: Columns of a file that have the same value in every row.
BESIDE = ["reports", "filter", "confidence_level", "target", "missing_answers", "assumption"]


def plain(message):
    """Return a message as JSON objects."""
    return json.loads(encode(message))


def asked_of(query):
    """Return the parameters of a query that are not empty."""
    return {name: value for name, value in plain(query).items() if value not in (None, [], {})}


def computed(study, query, survey="study"):
    """Return the expected result, computed without an interface."""
    analysis = REGISTRY[name_of(type(query))]
    return without_time(plain(analysis.described(answer(analysis, study.counted[survey], query))))


PAIR = ["smoker", "coughs"]


#: Queries other than those with which pages start: name of the analysis, and its parameters.
QUERIES_OF = {
    "itemsets": (
        "itemsets",
        {"min_support": 0.15, "confidence": 0.9},
    ),
    "rules": (
        "rules",
        {
            "min_support": 0.02,
            "min_confidence": 0.3,
            "min_lift": 1.1,
            "measures": ["lift", "conviction", "leverage"],
            "sort": "chi_squared",
            "limit": 7,
            "target": "respondents",
        },
    ),
    "rules-without-any": (
        "rules",
        {"min_support": 1.0, "min_confidence": 1.0, "measures": ["phi"]},
    ),
    "rule-by-name": (
        "rules",
        {
            "antecedent": {"smoker": "yes", "vote": "none, a=b"},
            "consequent": {"coughs": "yes"},
            "measures": ["phi", "lift"],
            "confidence": 0.99,
        },
    ),
    "table-likelihood": (
        "table",
        {"attributes": ["vote", "smoker"], "estimate": "likelihood", "target": "respondents"},
    ),
    "table-of-a-group": (
        "table",
        {"attributes": ["age"], "where": {"vote": "none, a=b", "smoker": "no"}, "confidence": 0.9},
    ),
    "measures": (
        "measures",
        {
            "attributes": ["smoker", "vote"],
            "present": {"vote": "none, a=b"},
            "measures": ["kappa", "chi_squared"],
            "target": "respondents",
        },
    ),
    "regression": (
        "regression",
        {
            "outcome": "vote",
            "predictors": ["smoker", "age"],
            "present": {"vote": "none, a=b"},
            "reference": {"smoker": "yes"},
            "scores": {"age": "20,45,70"},
            "target": "respondents",
        },
    ),
    "regression-linear": (
        "regression",
        {"outcome": "age", "predictors": ["vote"], "model": "linear", "scores": {"age": "ranks"}},
    ),
    "regression-by-model": (
        "regression",
        {
            "outcome": "vote",
            "predictors": ["smoker", "age"],
            "interactions": [["smoker", "age"]],
            "present": {"vote": "none, a=b"},
            "estimate": "model",
        },
    ),
    "crosstab": (
        "crosstab",
        {"attributes": ["age", "vote"], "percentages": "row", "confidence": 0.9},
    ),
    "crosstab-of-four": (
        "crosstab",
        {"attributes": ["vote", "smoker", "coughs", "age"], "percentages": "column"},
    ),
    "comparison": (
        "comparison",
        {"answer": {"smoker": "yes"}, "groups": "age", "effect": "odds_ratio", "trend": True},
    ),
    "comparison-of-two": (
        "comparison",
        {
            "answer": {"age": "old"},
            "groups": "vote",
            "among": ["none, a=b", "right"],
            "reference": "none, a=b",
            "target": "respondents",
        },
    ),
    "weighted": (
        "weighted",
        {
            "margins": {
                "age": {"young": 0.3, "middle": 0.3, "old": 0.4},
                "vote": {"left": 30_000, "right": 40_000, "none, a=b": 30_000},
            },
            "attributes": ["smoker", "coughs"],
            "confidence": 0.9,
        },
    ),
    "weighted-by-calibration": (
        "weighted",
        {
            "margins": {"coughs": {"no": 0.52, "yes": 0.48}},
            "attributes": ["vote"],
            "method": "calibration",
            "target": "respondents",
        },
    ),
    "risk": (
        "risk",
        {"quasi": ["vote", "age"], "sensitive": "smoker", "limit": 0.3},
    ),
    "measures-of-all-pairs": (
        "measures",
        {"attributes": ["smoker", "vote", "age"], "confidence": 0.9, "target": "respondents"},
    ),
}


def without_time(answer):
    return {name: value for name, value in answer.items() if name != "as_of"}


def same_everywhere(study, halftruth, query, asked):
    """Assert that the command and both Python methods give the expected result."""
    name, expected = name_of(type(query)), computed(study, query)
    for elsewhere in (False, True):
        words = command(name, "study", asked)
        status, printed, complaint = halftruth(*words, "--json", elsewhere=elsewhere)
        assert (status, complaint) == (0, "")
        assert without_time(json.loads(printed)) == expected
    for result in (
        study.analyst.ask("study", query),
        getattr(study.analyst, name.replace("-", "_"))("study", **asked),
    ):
        assert without_time(plain(result)) == expected
        assert result.as_of.tzinfo is not None


@pytest.mark.parametrize("name", QUERIES_OF)
def test_all_interfaces_return_the_computed_result(study, get, halftruth, name):
    path, asked = QUERIES_OF[name]
    query = make(REGISTRY[path].query, asked)
    for survey in SURVEYS:
        status, found = get(path, asked, survey.id)
        assert status == 200
        assert (found["survey"], found["digest"]) == (survey.id, survey.digest)
        assert found["reports"] == 3000
        assert without_time(found) == computed(study, query, survey.id)
        for name, value in asked.items():
            assert found["query"][name] == value
    same_everywhere(study, halftruth, query, asked)


def same(text, value):
    """Return whether a cell of a CSV file equals one of a data frame."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return text == ""
    if isinstance(value, float):
        return float(text) == value
    return text == str(value)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_command_prints_each_sentence_once_and_the_headline_first(study, halftruth, name):
    analysis = REGISTRY[name]
    query = analysis.start(SURVEYS[0])
    asked = asked_of(query)
    printed = halftruth(*command(name, "study", asked))[1]
    shown = analysis.present(answer(analysis, study.counted["study"], query))
    parts = [
        f"{analysis.title} · study · ",
        shown.headline,
        *shown.basis,
        *shown.warnings,
        *(["---"] if shown.grid.rows else []),
        *shown.notes,
    ]
    places = [printed.index(f"\n{part}") for part in parts[1:]]
    assert printed.startswith(parts[0])
    assert places == sorted(places)
    sentences = [part for part in parts[1:] if part.endswith(".")]
    assert [printed.count(sentence) for sentence in sentences] == [1] * len(sentences)


def test_a_measure_keeps_the_name_of_the_request(study):
    frame = study.analyst.measures(
        "study", attributes=PAIR, measures=["lift", "leverage"]
    ).to_pandas()
    assert [quantity for *_, quantity in frame.index] == ["lift", "leverage"]


def test_an_attribute_can_have_the_name_of_a_column(store, live):
    schema = Schema((Attribute("support", ("no", "yes")), Attribute("lower", ("no", "yes"))))
    survey = Survey("measures", "Names", schema, GammaDiagonal("19"))
    operations.publish_survey(store, survey)
    store.reports.add("measures", survey.digest, [Report(id=uuid4(), values=[0, 1])])
    analyst = Analyst(live.url, operations.create_token(store, "analyst"), retries=0)
    frame = analyst.table("measures", ["support", "lower"]).to_pandas()
    assert frame.index.names == ["support", "lower"]
    assert len(frame) == 4


def test_every_query_type_has_an_analysis_and_vice_versa():
    assert set(REGISTRY) == set(QUERIES)
    for name, analysis in REGISTRY.items():
        assert analysis.query is QUERIES[name]


@pytest.mark.parametrize("name", REGISTRY)
def test_every_analysis_has_all_interfaces(study, halftruth, tmp_path, name):
    analysis = REGISTRY[name]
    query = analysis.start(SURVEYS[0])
    asked = asked_of(query)
    same_everywhere(study, halftruth, query, asked)
    path, headers = f"/v1/surveys/study/{name}", {"Authorization": f"Bearer {study.token}"}

    response = study.http.get(f"{path}?{query_string(asked)}", headers=headers)
    assert without_time(response.get_json()) == computed(study, query)
    method = getattr(Analyst, name.replace("-", "_"))
    assert analysis.summary in method.__doc__
    assert set(method.__signature__.parameters) == {"self", "survey", *analysis.fields}

    file = tmp_path / "result.parquet"
    words = command(name, "study", asked)
    assert halftruth(*words, "--json", "--parquet", str(file))[0] == 0
    assert halftruth(*words)[0] == 0
    if analysis.pictured:
        picture = tmp_path / "chart.svg"
        status, printed, complaint = halftruth(*words, "--plot", str(picture))
        assert (status, complaint) == (0, f"drawn: {picture}\n")
        assert "3\u202f000 reports" in printed
        assert picture.read_bytes().startswith(b"<svg")

    forms = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
    for form, media_type in forms.items():
        named = study.http.get(f"{path}?{query_string({**asked, 'format': form})}", headers=headers)
        wanted = study.http.get(
            f"{path}?{query_string(asked)}", headers={**headers, "Accept": media_type}
        )
        shown = study.browser.get(f"/results/study/{name}?{query_string(asked)}&format={form}")
        assert named.mimetype == wanted.mimetype == shown.mimetype == media_type
        assert named.data == wanted.data == shown.data
    assert file.read_bytes() == named.data
    frame = answer(analysis, study.counted["study"], query).to_pandas()
    stored = pd.read_parquet(file)
    assert len(stored) == len(frame)
    columns = study.analyst.ask("study", query).columns
    assert list(stored.columns) == [*(column for column, _ in columns), *BESIDE]

    page = study.browser.get(f"/results/study/{name}")
    assert page.status_code == 200
    assert f">{analysis.title}</h2>" in page.text
    pictures = ('<figure class="chart ', 'class="questions"', 'class="scroll map"')
    assert any(each in page.text for each in pictures) == analysis.pictured
    assert re.search(r'<p class="answer">[^<]+\.</p>', page.text)
    for field in analysis.fields:
        assert f'name="{field}"' in page.text

    described = document()["paths"]["/v1/surveys/{survey_id}/" + name]["get"]
    assert [p["name"] for p in described["parameters"]] == [*analysis.fields, "format"]


@pytest.mark.parametrize("before", ["", " ", "\u3000", "\t", "\r", "\n", "\t\r\n "])
@pytest.mark.parametrize(
    "first", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫"]
)
def test_whatever_a_spreadsheet_may_take_for_a_formula_is_text(before, first):
    written = f"{before}{first}SUM(A1)"
    assert harmless(written) == f"'{written}"


@pytest.mark.parametrize("written", ["", "plain", "a=1", "1", "’=1", "(=1)", -1, None, 2.5])
def test_other_cells_are_unchanged(written):
    assert harmless(written) == written


@pytest.mark.parametrize("written", ["\tplain", "\rplain", "\nplain"])
def test_control_characters_that_a_spreadsheet_may_drop_are_kept_as_text(written):
    assert harmless(written) == f"'{written}"


def test_formulas_are_escaped_in_csv_files(store, live):
    names = ("=1+1", "+49", "-1", "@x", "＝1+1", "＋49", "－1", "＠x", "plain", "a=1")
    survey = Survey("cells", "Cells", Schema([Attribute("a", names)]), GammaDiagonal("19"))
    operations.publish_survey(store, survey)
    reports = [Report(id=uuid4(), values=[n % 10]) for n in range(300)]
    store.reports.add("cells", survey.digest, reports)
    headers = {"Authorization": f"Bearer {operations.create_token(store, 'analyst')}"}
    path = "/v1/surveys/cells/table?attributes=a&format="
    text = live.app.test_client().get(f"{path}csv", headers=headers).text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["a"] for row in rows] == [f"'{name}" for name in names[:8]] + ["plain", "a=1"]
    # Numbers are unchanged.
    assert all(float(row["lower"]) < float(row["value"]) for row in rows)
    content = live.app.test_client().get(f"{path}parquet", headers=headers).data
    assert list(pd.read_parquet(io.BytesIO(content))["a"]) == list(names)
