"""Every analysis over HTTP, from Python, on the command line and on its page: one answer.

One dictionary of parameters is asked of all of them; how each of them writes it stands here again.
"""

import csv
import io
import json
import math
import re
from uuid import uuid4

import pandas as pd
import pytest
from halftruth_client import Analyst, RequestRefused
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES as REGISTRY
from halftruth_collector.cli import main
from halftruth_collector.web.openapi import document
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.analyses import QUERIES, name_of
from halftruth_shared.analyses.reading import make
from halftruth_shared.protocol.base import encode
from halftruth_shared.protocol.reports import Report
from halftruth_shared.results import Estimates

from .conftest import SURVEYS, command, query_string

#: What every row of a file says of all of them.
BESIDE = ["reports", "filter", "confidence_level", "target", "missing_answers", "assumption"]


def plain(message):
    """A message as JSON has it."""
    return json.loads(encode(message))


def asked_of(query):
    """Parameters of a query, but those that are empty."""
    return {name: value for name, value in plain(query).items() if value not in (None, [], {})}


def computed(study, query, survey="study"):
    """What an answer has to hold, without asking any surface."""
    return without_time(plain(REGISTRY[name_of(type(query))].compute(study.counted[survey], query)))


#: Columns behind the keys of every long table.
LONG = list(Estimates.__struct_fields__)

COMPARISON_COLUMNS = ["group", "against", *LONG]
COEFFICIENT_COLUMNS = ["term", "against", *LONG]
WEIGHTED_COLUMNS = ["question", "answer", *LONG]
PAIR = ["smoker", "coughs"]


RULE_COLUMNS = ["antecedent", "consequent", *LONG]


#: By name: path, parameters, columns, number of rows, and what the text for people says.
ANALYSES = {
    "itemsets": (
        "itemsets",
        {"min_support": 0.15, "confidence": 0.9},
        ["itemset", *LONG],
        lambda answer: len(answer["estimates"]["value"]),
        [
            "smoker=yes, coughs=yes",
            "90\u202f% interval",
            "Length 2 is ",
            "of 63 possible itemsets are listed",
        ],
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
        RULE_COLUMNS,
        lambda answer: 7 * 5,
        ["antecedent", "conviction", "leverage", "smoker=yes"],
    ),
    "rules-without-any": (
        "rules",
        {"min_support": 1.0, "min_confidence": 1.0, "measures": ["phi"]},
        RULE_COLUMNS,
        lambda answer: 0,
        ["No matching rules."],
    ),
    "rule-by-name": (
        "rules",
        {
            "antecedent": {"smoker": "yes", "vote": "none, a=b"},
            "consequent": {"coughs": "yes"},
            "measures": ["phi", "lift"],
            "confidence": 0.99,
        },
        RULE_COLUMNS,
        lambda answer: 4,
        [
            "smoker=yes, vote=none, a=b",
            "coughs=yes",
            "φ",
            "lift",
        ],
    ),
    "table-likelihood": (
        "table",
        {"attributes": ["vote", "smoker"], "estimate": "likelihood", "target": "respondents"},
        ["vote", "smoker", *LONG],
        lambda answer: 6,
        ["none, a=b", "the typical error of best guesses"],
    ),
    "table-of-a-group": (
        "table",
        {"attributes": ["age"], "where": {"vote": "none, a=b", "smoker": "no"}, "confidence": 0.9},
        ["age", *LONG],
        lambda answer: 3,
        ["Only people with vote=none, a=b, smoker=no: ", "of everybody, about ", "middle"],
    ),
    "measures": (
        "measures",
        {
            "attributes": ["smoker", "vote"],
            "present": {"vote": "none, a=b"},
            "measures": ["kappa", "chi_squared"],
            "target": "respondents",
        },
        ["row", "column", *LONG],
        lambda answer: 2,
        ["κ", "χ²"],
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
        COEFFICIENT_COLUMNS,
        lambda answer: 8,
        ["age=each unit", "odds of vote=none, a=b", "young 20, middle 45, old 70"],
    ),
    "regression-linear": (
        "regression",
        {"outcome": "age", "predictors": ["vote"], "model": "linear", "scores": {"age": "ranks"}},
        COEFFICIENT_COLUMNS,
        lambda answer: 3,
        ["mean score of age", "vote=left"],
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
        COEFFICIENT_COLUMNS,
        lambda answer: 15,
        ["smoker=yes, age=old", "log odds of vote=none, a=b", "besides smoker:age:vote"],
    ),
    "crosstab": (
        "crosstab",
        {"attributes": ["age", "vote"], "percentages": "row", "confidence": 0.9},
        ["age", "vote", *LONG],
        lambda answer: 9 + 3 + 3 + 3,
        ["none, a=b", "people", "▲", "p < 0.0001", "Strength of the association"],
    ),
    "crosstab-of-four": (
        "crosstab",
        {"attributes": ["vote", "smoker", "coughs", "age"], "percentages": "column"},
        ["vote", "smoker", "coughs", "age", *LONG],
        lambda answer: 36 + 12 + 12,
        ["the same answer to smoker, coughs and age", "within each layer", "none, a=b"],
    ),
    "comparison": (
        "comparison",
        {"answer": {"smoker": "yes"}, "groups": "age", "effect": "odds_ratio", "trend": True},
        COMPARISON_COLUMNS,
        lambda answer: 3 + 3 + 3 + 1,
        ["share of smoker=yes", "odds ratio from all others", "change from one group to the next"],
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
        COMPARISON_COLUMNS,
        lambda answer: 2 + 2 + 1,
        ["none, a=b", "difference in points"],
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
        WEIGHTED_COLUMNS,
        lambda answer: 4 * 3,
        [
            "90\u202f% interval",
            "none, a=b 30.0\u202f%",
            "Sum of weights 100\u202f000",
            "times their mean",
        ],
    ),
    "weighted-by-calibration": (
        "weighted",
        {
            "margins": {"coughs": {"no": 0.52, "yes": 0.48}},
            "attributes": ["vote"],
            "method": "calibration",
            "target": "respondents",
        },
        WEIGHTED_COLUMNS,
        lambda answer: 3 * 3,
        ["calibrated", "none, a=b", "does not correct for nonresponse"],
    ),
    "risk": (
        "risk",
        {"quasi": ["vote", "age"], "sensitive": "smoker", "limit": 0.3},
        ["vote", "age", "smoker", *LONG],
        lambda answer: 18 * 6 + 2 * 5,
        ["none, a=b", "above 30\u202f%", "not a posterior probability", "nearest to the"],
    ),
    "measures-of-all-pairs": (
        "measures",
        {"attributes": ["smoker", "vote", "age"], "confidence": 0.9, "target": "respondents"},
        ["row", "column", *LONG],
        lambda answer: 6,
        ["vote", "90\u202f% interval"],
    ),
}


every_analysis = pytest.mark.parametrize(
    ("path", "asked", "columns", "rows", "phrases"),
    [pytest.param(*analysis, id=name) for name, analysis in ANALYSES.items()],
)


def without_time(answer):
    return {name: value for name, value in answer.items() if name != "as_of"}


def same_everywhere(study, halftruth, query, asked):
    """Ask every surface, and give back what all of them answer."""
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


@every_analysis
def test_all_give_what_is_computed(study, get, halftruth, path, asked, columns, rows, phrases):
    query = make(REGISTRY[path].query, asked)
    for survey in SURVEYS:
        status, answer = get(path, asked, survey.id)
        assert status == 200
        assert (answer["survey"], answer["digest"]) == (survey.id, survey.digest)
        assert answer["reports"] == 3000
        assert without_time(answer) == computed(study, query, survey.id)
        for name, value in asked.items():
            assert answer["query"][name] == value
    same_everywhere(study, halftruth, query, asked)


@every_analysis
def test_csv_and_data_frames_have_the_same_columns_and_rows(
    study, get, halftruth, path, asked, columns, rows, phrases
):
    answer = get(path, asked)[1]
    status, printed, complaint = halftruth(*command(path, "study", asked), "--csv")
    assert (status, complaint) == (0, "")
    header, *lines = csv.reader(io.StringIO(printed))
    assert header == [*columns, *BESIDE]
    assert len(lines) == rows(answer)
    asked_of = [
        str(answer["query"].get(name) or "") for name in ("confidence", "target", "missing")
    ]
    group = ", ".join("=".join(item) for item in asked.get("where", {}).items())
    assert {tuple(line[len(columns) : -1]) for line in lines} <= {("3000", group, *asked_of)}
    for line in lines:
        assert line[-1].startswith("The model has no ") if answer["model_fit"] else line[-1] == ""
    lines = [line[: len(columns)] for line in lines]
    frame = getattr(study.analyst, path.replace("-", "_"))("study", **asked).to_pandas()
    # The index of a frame is what its rows are called by.
    if frame.index.names != [None]:
        frame = frame.reset_index()
    # A key of several quantities includes which it is.
    assert sorted(frame.columns) == sorted(columns)
    frame = frame[columns]
    assert len(frame) == len(lines)
    for line, row in zip(lines, frame.itertuples(index=False, name=None), strict=True):
        assert all(map(same, line, row)), (line, row)


def same(text, value):
    """Whether a cell of a CSV file and one of a data frame are the same."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return text == ""
    if isinstance(value, float):
        return float(text) == value
    return text == str(value)


@every_analysis
def test_text_says_what_people_need(halftruth, path, asked, columns, rows, phrases):
    status, printed, complaint = halftruth(*command(path, "study", asked))
    assert (status, complaint) == (0, "")
    for phrase in phrases:
        assert phrase in printed
    title, headline, *_ = printed.splitlines()
    assert title.startswith(f"{REGISTRY[path].title} · study · 3\u202f000 reports · ")
    assert headline[-1] == "."


@pytest.mark.parametrize("name", REGISTRY)
def test_a_command_says_each_sentence_once_the_answer_first(study, halftruth, name):
    analysis = REGISTRY[name]
    query = analysis.start(SURVEYS[0])
    asked = asked_of(query)
    printed = halftruth(*command(name, "study", asked))[1]
    shown = analysis.present(analysis.compute(study.counted["study"], query))
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


def test_a_measure_has_the_name_under_which_it_was_asked_for(study):
    frame = study.analyst.measures(
        "study", attributes=PAIR, measures=["lift", "leverage"]
    ).to_pandas()
    assert [quantity for *_, quantity in frame.index] == ["lift", "leverage"]


def test_an_attribute_may_be_called_like_a_column(store, live):
    schema = Schema((Attribute("support", ("no", "yes")), Attribute("lower", ("no", "yes"))))
    survey = Survey("measures", "Names", schema, GammaDiagonal("19"))
    operations.publish_survey(store, survey)
    store.reports.add("measures", survey.digest, [Report(id=uuid4(), values=[0, 1])])
    analyst = Analyst(live.url, operations.create_token(store, "analyst"), retries=0)
    frame = analyst.table("measures", ["support", "lower"]).to_pandas()
    assert frame.index.names == ["support", "lower"]
    assert len(frame) == 4


def test_every_question_has_an_analysis_and_every_analysis_a_question():
    assert set(REGISTRY) == set(QUERIES)
    for name, analysis in REGISTRY.items():
        assert analysis.query is QUERIES[name]


@pytest.mark.parametrize("name", REGISTRY)
def test_every_analysis_has_all_surfaces(study, halftruth, tmp_path, name):
    analysis = REGISTRY[name]
    query = analysis.start(SURVEYS[0])
    asked = asked_of(query)
    same_everywhere(study, halftruth, query, asked)
    path, headers = f"/v1/surveys/study/{name}", {"Authorization": f"Bearer {study.token}"}

    answer = study.http.get(f"{path}?{query_string(asked)}", headers=headers)
    assert without_time(answer.get_json()) == computed(study, query)
    method = getattr(Analyst, name.replace("-", "_"))
    assert analysis.summary in method.__doc__
    assert set(method.__signature__.parameters) == {"self", "survey", *analysis.fields}

    file = tmp_path / "result.parquet"
    words = command(name, "study", asked)
    assert halftruth(*words, "--json", "--parquet", str(file))[0] == 0
    assert halftruth(*words)[0] == 0
    if analysis.chart:
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
    frame = analysis.compute(study.counted["study"], query).to_pandas()
    stored = pd.read_parquet(file)
    assert len(stored) == len(frame)
    columns = study.analyst.ask("study", query).columns
    assert list(stored.columns) == [*(column for column, _ in columns), *BESIDE]

    page = study.browser.get(f"/results/study/{name}")
    assert page.status_code == 200
    assert f">{analysis.title}</h2>" in page.text
    pictures = ('<figure class="chart"', 'class="questions"', 'class="scroll map"')
    assert any(each in page.text for each in pictures) == (analysis.chart is not None)
    assert re.search(r'<p class="answer">[^<]+\.</p>', page.text)
    for field in analysis.fields:
        assert f'name="{field}"' in page.text

    described = document()["paths"]["/v1/surveys/{survey_id}/" + name]["get"]
    assert [p["name"] for p in described["parameters"]] == [*analysis.fields, "format"]


def test_an_analysis_needs_a_token(study, capsys):
    name = "table"
    query = REGISTRY[name].start(SURVEYS[0])
    asked = asked_of(query)
    for headers in ({}, {"Authorization": "Bearer ht_wrong"}, {"Authorization": "Bearer "}):
        response = study.http.get(f"/v1/surveys/study/{name}", headers=headers)
        assert (response.status_code, response.get_json()["field"]) == (401, "token")
    with pytest.raises(RequestRefused, match="token"):
        Analyst(study.url, "ht_wrong", retries=0).ask("study", query)
    for token in ([], ["--token", "ht_wrong"]):
        with pytest.raises(SystemExit) as end:
            main([*command(name, "study", asked), "--url", study.url, *token])
        printed, complaint = capsys.readouterr()
        assert (end.value.code, printed) == (2, "")
        assert complaint.count("\n") == 1
        assert "token" in complaint


def test_cells_that_a_spreadsheet_would_compute_are_only_text_in_csv(store, live):
    names = ("=1+1", "+49", "-1", "@x", "plain")
    survey = Survey("cells", "Cells", Schema([Attribute("a", names)]), GammaDiagonal("19"))
    operations.publish_survey(store, survey)
    reports = [Report(id=uuid4(), values=[n % 5]) for n in range(60)]
    store.reports.add("cells", survey.digest, reports)
    headers = {"Authorization": f"Bearer {operations.create_token(store, 'analyst')}"}
    path = "/v1/surveys/cells/table?attributes=a&format="
    text = live.app.test_client().get(f"{path}csv", headers=headers).text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["a"] for row in rows] == ["'=1+1", "'+49", "'-1", "'@x", "plain"]
    # Numbers stay numbers.
    assert all(float(row["lower"]) < float(row["value"]) for row in rows)
    content = live.app.test_client().get(f"{path}parquet", headers=headers).data
    assert list(pd.read_parquet(io.BytesIO(content))["a"]) == list(names)
