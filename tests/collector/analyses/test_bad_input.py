"""Invalid queries are refused in one line that names the field, in every interface."""

import html
import math
from uuid import uuid4

import msgspec
import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.cli import main
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import HalftruthError, NoReports
from halftruth_shared.analyses.reading import make
from halftruth_shared.protocol.reports import Report

from .conftest import EMPTY, SURVEYS, command, query_string

PAIR = ["smoker", "coughs"]
MINED = {"min_support": 0.1, "min_confidence": 0.1}
RULE = {"antecedent": {"smoker": "yes"}, "consequent": {"coughs": "yes"}}
COMPARED = {"answer": {"smoker": "yes"}, "groups": "age"}
FITTED = {"outcome": "smoker", "predictors": ["age"]}
WEIGHTED = {"margins": {"smoker": {"no": 0.5, "yes": 0.5}}}

#: Path, parameters, the field in the error, and part of the message over HTTP and in Python.
BAD = [
    ("overview", {"population": 10**400}, "population", "expected an integer of at least 1"),
    ("itemsets", {"min_support": 0.1, "length": 0}, "length", "of at least 1"),
    *(
        ("itemsets", {"min_support": bad}, "min_support", "above 0 and at most 1")
        for bad in (0, 1.01, math.inf, math.nan)
    ),
    *(
        ("rules", {**MINED, "min_confidence": bad}, "min_confidence", "a number from 0 to 1")
        for bad in (-0.01, 1.01, math.nan, math.inf)
    ),
    *(
        ("rules", {**MINED, "min_lift": bad}, "min_lift", "a number of at least 0")
        for bad in (-0.01, math.nan, math.inf, -math.inf)
    ),
    ("rules", {**MINED, "limit": 0}, "limit", "an integer of at least 1"),
    ("rules", {**MINED, "max_length": 0}, "max_length", "an integer of at least 1"),
    ("rules", {**MINED, "sort": "size"}, "sort", "confidence, support or the name of a measure"),
    ("rules", {**MINED, "measures": ["phi", "fi"]}, "measures", "unknown measure 'fi'"),
    (
        "rules",
        {**RULE, "antecedent": {"weight": "yes"}},
        "antecedent",
        "unknown attribute 'weight'",
    ),
    ("rules", {**RULE, "consequent": {"coughs": "maybe"}}, "consequent", "no category 'maybe'"),
    ("rules", {**RULE, "consequent": {"smoker": "yes"}}, "consequent", "in the antecedent too"),
    ("rules", {**RULE, "antecedent": {}}, "antecedent", "expected one or more"),
    ("rules", {**RULE, "consequent": {}}, "consequent", "expected one or more"),
    ("rules", {**RULE, "measures": ["fi"]}, "measures", "unknown measure 'fi'"),
    ("crosstab", {"attributes": ["age"]}, "attributes", "two to four names"),
    ("crosstab", {"attributes": [*PAIR, "age", "vote", "age"]}, "attributes", "two to four names"),
    ("crosstab", {"attributes": ["age", "age"]}, "attributes", "'age' is named twice"),
    ("table", {"attributes": ["age"], "where": {"weight": "9"}}, "where", "attribute 'weight'"),
    ("table", {"attributes": ["age"], "where": {"vote": "no"}}, "where", "no category 'no'"),
    ("table", {"attributes": ["age"], "where": {"age": "old"}}, "attributes", "is filtered on by"),
    ("rules", {**RULE, "where": {"smoker": "no"}}, "antecedent", "is filtered on by"),
    ("overview", {"attributes": ["age"], "where": {"age": "old"}}, "attributes", "is filtered on"),
    ("crosstab", {"attributes": PAIR, "where": {"coughs": "no"}}, "attributes", "filtered on"),
    ("table", {"attributes": []}, "attributes", "one or more"),
    ("table", {"attributes": ["age", "age"]}, "attributes", "'age' is named twice"),
    ("measures", {"attributes": ["age"]}, "attributes", "two or more"),
    ("measures", {"attributes": PAIR, "measures": ["fi"]}, "measures", "unknown measure 'fi'"),
    (
        "measures",
        {"attributes": ["smoker", "age"], "measures": ["phi"]},
        "measures",
        "phi needs binary attributes; expected the category of 'age' that counts as presence",
    ),
    (
        "measures",
        {"attributes": [*PAIR, "age"], "measures": ["phi"]},
        "measures",
        "phi needs two attributes, not 3",
    ),
    ("measures", {"attributes": PAIR, "present": {"smoker": "x"}}, "present", "no category 'x'"),
    ("measures", {"attributes": PAIR, "present": {"age": "old"}}, "present", "smoker, coughs"),
    ("regression", {**FITTED, "predictors": ["age", "age"]}, "predictors", "twice"),
    ("regression", {**FITTED, "predictors": PAIR}, "predictors", "or more other attributes"),
    ("regression", {**FITTED, "where": {"age": "old"}}, "predictors", "is filtered on by where"),
    ("regression", {**FITTED, "where": {"smoker": "no"}}, "outcome", "is filtered on by where"),
    ("regression", {**FITTED, "where": {"vote": "no"}}, "where", "no category 'no'"),
    ("regression", {**FITTED, "predictors": []}, "predictors", "one or more"),
    ("regression", {**FITTED, "outcome": "vote"}, "present", "the answer to 'vote' whose odds"),
    ("regression", {**FITTED, "present": {"smoker": "x"}}, "present", "no category 'x'"),
    ("regression", {**FITTED, "present": {"age": "old"}}, "present", "expected some of: smoker"),
    ("regression", {**FITTED, "model": "linear"}, "scores", "such as smoker=ranks"),
    (
        "regression",
        {**FITTED, "model": "linear", "present": {"smoker": "yes"}},
        "present",
        "expected none in a linear model",
    ),
    ("regression", {**FITTED, "reference": {"age": "x"}}, "reference", "no category 'x'"),
    ("regression", {**FITTED, "reference": {"vote": "left"}}, "reference", "some of: age"),
    (
        "regression",
        {**FITTED, "reference": {"age": "old"}, "scores": {"age": "ranks"}},
        "reference",
        "none of the predictors without scores; expected none",
    ),
    ("regression", {**FITTED, "scores": {"smoker": "ranks"}}, "scores", "none of 'smoker'"),
    ("regression", {**FITTED, "scores": {"vote": "ranks"}}, "scores", "some of: smoker"),
    *(
        ("regression", {**FITTED, "scores": {"age": bad}}, "scores", "age=ranks, or 3 numbers that")
        for bad in ("rank", "1,2", "1,1,1", "1,2,nan", "1,2,inf", "1,2,x")
    ),
    ("comparison", {"answer": {}, "groups": "age"}, "answer", "one attribute=category"),
    (
        "comparison",
        {**COMPARED, "answer": {"smoker": "yes", "coughs": "yes"}},
        "answer",
        "one attribute=category",
    ),
    ("comparison", {**COMPARED, "answer": {"weight": "yes"}}, "answer", "attribute 'weight'"),
    ("comparison", {**COMPARED, "answer": {"smoker": "x"}}, "answer", "no category 'x'"),
    ("comparison", {**COMPARED, "groups": "smoker"}, "groups", "expected another one"),
    ("comparison", {**COMPARED, "among": ["old"]}, "among", "two or more categories"),
    ("comparison", {**COMPARED, "among": ["old", "old"]}, "among", "different categories"),
    ("comparison", {**COMPARED, "among": ["old", "x"]}, "among", "no category 'x'"),
    ("comparison", {**COMPARED, "reference": "x"}, "reference", "no category 'x'"),
    (
        "comparison",
        {**COMPARED, "among": ["old", "young"], "reference": "middle"},
        "reference",
        "'middle' is not among the groups",
    ),
    ("distribution", {"attribute": "age", "groups": "age"}, "groups", "expected another one"),
    ("distribution", {"attribute": "age", "percentiles": [5, 5]}, "percentiles", "different ones"),
    ("distribution", {"attribute": "age", "percentiles": [0]}, "percentiles", "integers"),
    ("distribution", {"attribute": "age", "scores": {"vote": "ranks"}}, "scores", "age=ranks, or"),
    ("distribution", {"attribute": "age", "scores": {"age": "1,2"}}, "scores", "or 3 numbers"),
    ("distribution", {"attribute": "age", "scores": {"age": "3,2,1"}}, "scores", "that grow"),
    # Without any option, the command asks what the page begins with.
    (
        "weighted",
        {"margins": {}, "confidence": 0.9},
        "margins",
        "one or more attribute=category:number",
    ),
    ("weighted", {"margins": {"weight": {"x": 1.0}}}, "margins", "attribute 'weight'"),
    ("weighted", {"margins": {"smoker": {"no": 1.0}}}, "margins", "'smoker', also 'yes'"),
    ("weighted", {"margins": {"smoker": {"no": 0.5, "so": 0.5}}}, "margins", "category 'so'"),
    ("weighted", {"margins": {"smoker": {"no": 0.5, "yes": 0.4}}}, "margins", "sum to 0.9;"),
    (
        "weighted",
        {**WEIGHTED, "attributes": ["vote", "smoker"]},
        "attributes",
        "of 'smoker' is kno",
    ),
    ("weighted", {**WEIGHTED, "where": {"smoker": "yes"}}, "margins", "'smoker' is filtered on by"),
    ("weighted", {**WEIGHTED, "where": {"vote": "x"}}, "where", "no category 'x'"),
    ("risk", {"quasi": [], "sensitive": "vote"}, "quasi", "one or more"),
    ("risk", {"quasi": ["age", "age"], "sensitive": "vote"}, "quasi", "twice"),
    ("risk", {"quasi": PAIR, "sensitive": "smoker"}, "sensitive", "expected another attribute"),
    ("risk", {"quasi": PAIR, "sensitive": "vote", "limit": 0}, "limit", "above 0 and at most 1"),
    ("measures", {"measures": ["phi"]}, "attributes", "two or more, which the measures are of"),
    ("measures", {"attributes": ["age", "age"]}, "attributes", "twice"),
    ("weighted", {**WEIGHTED, "attributes": ["vote", "vote"]}, "attributes", "twice"),
]


def asked_first(path):
    """Return the parameters with which a page starts, without defaults."""
    query = ANALYSES[path].start(SURVEYS[0])
    asked = msgspec.to_builtins(query)
    return {n: asked[n] for n, field in ANALYSES[path].fields.items() if asked[n] != field.default}


def wrong_values(path):
    """Yield an invalid choice, name or level for every field that has one."""
    asked = asked_first(path)
    for name, field in ANALYSES[path].fields.items():
        if name == "confidence":
            yield 1, name, "above 0 and below 1"
        elif field.kind == "choice":
            yield "other", name, field.choices[0]
        elif field.of == "attribute" and field.kind == "names":
            yield [*asked.get(name, ["age", "vote"])[:-1], "weight"], name, "attribute 'weight'"
        elif field.of == "attribute" and field.kind == "text":
            yield "weight", name, "attribute 'weight'"


BAD += [
    (path, {**asked_first(path), field: value}, field, said)
    for path in ANALYSES
    for value, field, said in wrong_values(path)
]


def method(analyst, path):
    return getattr(analyst, path.replace("-", "_"))


@pytest.mark.parametrize(("path", "asked", "field", "said"), BAD)
def test_an_invalid_query_is_refused_in_one_line_that_names_the_field(
    study, get, path, asked, field, said
):
    status, found = get(path, asked)
    assert (status, found["field"]) == (422, field)
    with pytest.raises(HalftruthError) as caught:
        answer(ANALYSES[path], study.counted["study"], make(ANALYSES[path].query, asked))
    assert caught.value.field == field
    for line in (found["detail"], str(caught.value)):
        assert said in line
        assert "\n" not in line


#: The first invalid query of each analysis.
ONE_OF_EACH = {path: (path, asked, field, said) for path, asked, field, said in BAD[::-1]}


@pytest.mark.parametrize(("path", "asked", "field", "said"), ONE_OF_EACH.values())
def test_every_interface_refuses_an_invalid_query_with_the_same_line(
    study, halftruth, path, asked, field, said
):
    with pytest.raises(HalftruthError) as caught:
        method(study.analyst, path)("study", **asked)
    assert caught.value.field == field
    lines = [str(caught.value)]
    for elsewhere in (False, True):
        words = command(path, "study", asked)
        status, printed, complaint = halftruth(*words, elsewhere=elsewhere)
        assert (status, printed) == (2, "")
        assert complaint.startswith("halftruth: ")
        lines.append(complaint.rstrip("\n"))
    for line in lines:
        assert said in line
        assert "\n" not in line
    if {} in asked.values() or f"{query_string(asked)}&".count("=&"):
        return  # Forms omit empty parameters.
    response = study.browser.get(f"/results/study/{path}?{query_string(asked)}")
    page = html.unescape(response.text)
    assert response.status_code == 422
    assert said in page
    assert f'name="{field}"' in page
    assert ">Show</button>" in page
    for name, value in asked.items():
        if isinstance(value, (int, float)):
            assert f'name="{name}" value="{value}"' in page


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("itemsets", "", "min_support"),
        ("itemsets", "min_support=much", "min_support"),
        ("itemsets", "min_support=0.1&min_support=0.2", "min_support"),
        ("itemsets", "min_support=0.1&max_length=1.5", "max_length"),
        ("itemsets", "min_support=0.1&max_length=null", "max_length"),
        ("itemsets", "min_support=0.1&minsupport=0.1", "minsupport"),
        ("itemsets", "min_support=0.1&format=xml", "format"),
        ("itemsets", "min_support=0.1&format=csv&format=json", "format"),
        ("table", "", "attributes"),
        ("table", "attributes=", "attributes"),
        ("table", "attributes=smoker&covariance=maybe", "covariance"),
        ("measures", "attributes=smoker,coughs&present=daily", "present"),
        ("regression", "outcome=smoker&predictors=age&scores=ranks", "scores"),
        ("weighted", "", "margins"),
        ("weighted", "margins=", "margins"),
        *(
            ("weighted", f"margins=smoker%3Dno:0.5&margins=smoker%3D{bad}", "margins")
            for bad in ("yes", "yes:", "yes:half", "yes:-0.5", "yes:nan", "no:0.5", "yes:0.4")
        ),
        ("weighted", "margins=smoker:0.5", "margins"),
        ("rules", "antecedent=smoker%3Dyes&antecedent=smoker%3Dno", "antecedent"),
        ("counts", "x=1", "x"),
    ],
)
def test_an_invalid_query_string_names_the_parameter(study, path, query, field):
    headers = {"Authorization": f"Bearer {study.token}"}
    response = study.http.get(f"/v1/surveys/study/{path}?{query}", headers=headers)
    assert (response.status_code, response.get_json()["field"]) == (422, field)
    assert response.get_json()["detail"].startswith(f"{field}: ")


def test_a_survey_without_reports_has_no_results_in_any_interface(study, get, halftruth):
    asked = {"attributes": ["age"]}
    line = "survey 'empty': no report has been counted; results are served of 50 or more"
    status, answer = get("table", asked, "empty")
    assert (status, answer["detail"]) == (409, line)
    for elsewhere in (False, True):
        words = command("table", "empty", asked)
        assert halftruth(*words, elsewhere=elsewhere) == (2, "", f"halftruth: {line}\n")
    with pytest.raises(HalftruthError, match=line):
        study.analyst.table("empty", **asked)
    page = study.browser.get("/results/empty/table")
    assert page.status_code == 409
    assert line in html.unescape(page.text)


def test_an_estimator_without_reports_is_refused(study):
    counts = Counts.from_cells(EMPTY, np.zeros((0, 4), dtype=int), [])
    with pytest.raises(NoReports, match="survey 'empty': no report has been counted yet"):
        Estimator(EMPTY, counts)


def test_a_rule_with_an_empty_antecedent_is_a_conflict_in_one_line(
    store, app, database, capsys, monkeypatch
):
    monkeypatch.setenv("HALFTRUTH_MIN_REPORTS", "1")
    # The only report has the answer young, so that the estimate of old is below 0.
    survey = SURVEYS[0]
    operations.publish_survey(store, survey)
    store.reports.add(survey.id, survey.digest, [Report(id=uuid4(), values=[0, 0, 0, 0])])
    asked = {"antecedent": {"age": "old"}, "consequent": {"coughs": "yes"}}
    line = "antecedent: its estimated share is not above 0, so the rule has no confidence"
    response = app.test_client().get(
        f"/v1/surveys/study/rules?{query_string(asked)}",
        headers={"Authorization": f"Bearer {operations.create_token(store, 'analyst')}"},
    )
    problem = response.get_json()
    assert (response.status_code, problem["field"], problem["detail"]) == (409, "antecedent", line)
    with pytest.raises(SystemExit) as end:
        main([*command("rules", "study", asked), "--database", database])
    assert end.value.code == 2
    assert capsys.readouterr() == ("", f"halftruth: {line}\n")


def test_another_media_type_is_not_acceptable(study):
    headers = {"Authorization": f"Bearer {study.token}", "Accept": "text/html"}
    response = study.http.get("/v1/surveys/study/counts", headers=headers)
    assert (response.status_code, response.get_json()["field"]) == (406, "Accept")


def test_parquet_without_pyarrow_is_refused_in_one_line(study, halftruth, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    headers = {"Authorization": f"Bearer {study.token}"}
    response = study.http.get("/v1/surveys/study/counts?format=parquet", headers=headers)
    assert (response.status_code, response.get_json()["field"]) == (406, "format")
    status, printed, complaint = halftruth(
        "analyse", "counts", "study", "--parquet", "counts.parquet"
    )
    assert (status, printed) == (2, "")
    assert complaint.startswith("halftruth: parquet: expected PyArrow")
