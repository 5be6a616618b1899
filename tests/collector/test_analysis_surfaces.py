"""Every analysis over HTTP, from Python, on the command line and as Analyst: one answer, one line.

One dictionary of parameters is asked of all four; how each of them writes it stands here again.
"""

import csv
import io
import json
import math
import threading
from types import SimpleNamespace
from urllib.parse import urlencode
from uuid import uuid4

import msgspec
import numpy as np
import pytest
from halftruth_client import Analyst, RequestRefused
from halftruth_collector.api import create_app
from halftruth_collector.cli import main
from halftruth_collector.config import Config
from halftruth_collector.estimate import Counts, Estimator
from halftruth_collector.store import Store
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    HalftruthError,
    NoReports,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.messages import Report
from werkzeug.serving import make_server

SCHEMA = Schema(
    (
        Attribute("smoker", ("no", "yes"), ("yes",)),
        Attribute("coughs", ("no", "yes"), ("yes",)),
        Attribute("age", ("young", "middle", "old")),
        # A category may hold what separates others.
        Attribute("vote", ("left", "right", "none, a=b")),
    )
)
KEEP = {"smoker": "0.85", "coughs": "0.9", "age": "0.8", "vote": "0.8"}
SURVEYS = (
    Survey("study", "Study", SCHEMA, RandomizedResponse(KEEP)),
    Survey("whole", "Whole records", SCHEMA, GammaDiagonal("19")),
)
EMPTY = Survey("empty", "Empty", SCHEMA, RandomizedResponse(KEEP))

#: Command-line options that are not called like the parameter.
OPTIONS = {"measures": "measures", "terms": "term", "antecedent": "if", "consequent": "then"}


def texts(value):
    """A parameter as texts, each of which is given once."""
    if isinstance(value, dict):
        return [f"{name}={category}" for name, category in value.items()]
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [",".join(names) for names in value]
    return [",".join(value)] if isinstance(value, list) else [str(value)]


def query_string(asked):
    return urlencode([(name, text) for name, value in asked.items() for text in texts(value)])


def command(path, survey, asked):
    words = [path, survey]
    for name, value in asked.items():
        for text in texts(value):
            words += [f"--{OPTIONS.get(name, name).replace('_', '-')}", text]
    return words


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A collector that answers on loopback, with two surveys that have reports and one without."""
    database = f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}"
    store = Store(database)
    rng = np.random.default_rng(201)
    smoker = rng.random(3000) < 0.4
    coughs = np.where(rng.random(3000) < 0.75, smoker, ~smoker)
    age = rng.integers(0, 3, 3000)
    vote = np.where(rng.random(3000) < 0.5, age, rng.integers(0, 3, 3000))
    records = np.stack([smoker, coughs, age, vote], axis=1).astype(int)
    for survey in (*SURVEYS, EMPTY):
        store.surveys.publish(survey)
        if survey is not EMPTY:
            reports = survey.mechanism.perturb_many(SCHEMA, records, rng).tolist()
            store.reports.add(
                survey.id, survey.digest, [Report(id=uuid4(), values=row) for row in reports]
            )
    app = create_app(Config(database=database))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    url, token = f"http://127.0.0.1:{server.port}", store.tokens.create("analyst")
    yield SimpleNamespace(
        database=database,
        url=url,
        token=token,
        http=app.test_client(),
        analyst=Analyst(url, token, retries=0),
        estimators={
            survey.id: Estimator(survey, store.reports.counts(survey.id)[1]) for survey in SURVEYS
        },
    )
    server.shutdown()
    thread.join()
    server.server_close()
    app.extensions["halftruth"].store.close()
    store.close()


@pytest.fixture
def get(study):
    """Status and document of an answer over HTTP."""

    def ask(path, asked, survey="study"):
        response = study.http.get(
            f"/v1/surveys/{survey}/{path}?{query_string(asked)}",
            headers={"Authorization": f"Bearer {study.token}"},
        )
        return response.status_code, response.get_json()

    return ask


@pytest.fixture
def halftruth(study, capsys):
    """Status, standard output and standard error of a command."""

    def run(*words, elsewhere=False):
        at = ("--url", study.url, "--token", study.token)
        try:
            main([*words, *(at if elsewhere else ("--database", study.database))])
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        return (status, *capsys.readouterr())

    return run


def plain(message):
    """A message as JSON has it."""
    return json.loads(msgspec.json.encode(message))


def computed(path, asked, estimator):
    """What an answer has to hold, by the estimator itself."""
    if path == "table":
        return {"cells": cells_of_table(estimator, **asked)}
    found = getattr(estimator, path.replace("-", "_"))(**asked)
    if path == "itemsets":
        return {
            "itemsets": list(found),
            "precision": list(found.precision),
            "candidates": found.candidates,
        }
    if path == "partial-correlation":
        asked = {name: value for name, value in asked.items() if name != "target"}
        others = estimator.randomized_partial_correlation(**asked)
        return {"reconstructed": found, "randomized": others}
    if path == "loglinear":
        fit, preserved, statement = found
        return {
            "chi_squared": fit.chi_squared,
            "g_squared": fit.g_squared,
            "degrees_of_freedom": fit.degrees_of_freedom,
            "chi_squared_p": fit.p_value(fit.chi_squared),
            "g_squared_p": fit.p_value(fit.g_squared),
            "preserved": preserved,
            "statement": statement,
        }
    fields = {
        "rules": "rules",
        "rule": "rule",
        "classifier": "model",
        "associations": "associations",
    }
    return {fields.get(path, "measures"): list(found) if path == "rules" else found}


def cells_of_table(estimator, attributes, estimate="moment", confidence=0.95, target="population"):
    table = estimator.table(attributes)
    lower, upper = table.interval(confidence, target)
    support, error = estimator.support(attributes, estimate), np.sqrt(table.variance(target))
    chosen = [SCHEMA.attributes[SCHEMA.position(name)] for name in attributes]
    return [
        {
            "values": {a.name: a.categories[code] for a, code in zip(chosen, cell, strict=True)},
            "support": support[cell].item(),
            "standard_error": error[cell].item(),
            "interval": [lower[cell].item(), upper[cell].item()],
        }
        for cell in np.ndindex(support.shape)
    ]


MEASURE_COLUMNS = [
    "measure",
    "value",
    "standard_error",
    "lower",
    "upper",
    "chebyshev_lower",
    "chebyshev_upper",
    "undefined",
]
RULE_COLUMNS = [
    "antecedent",
    "consequent",
    "support",
    "support_standard_error",
    "support_lower",
    "support_upper",
    "confidence",
    "confidence_mean",
    "confidence_standard_error",
    "confidence_lower",
    "confidence_upper",
    "fieller_kind",
    "fieller_lower",
    "fieller_upper",
]
ITEMSET_COLUMNS = ["itemset", "length", "support", "standard_error", "lower", "upper", "decision"]
CELL_COLUMNS = ["support", "standard_error", "lower", "upper"]
PAIR = ["smoker", "coughs"]


def with_measures(*names):
    parts = ("", "_standard_error", "_lower", "_upper")
    return RULE_COLUMNS + [f"{name}{part}" for name in names for part in parts]


#: By name: path, parameters, columns, number of rows, and what the text for people says.
ANALYSES = {
    "itemsets-bonferroni": (
        "itemsets",
        {"min_support": 0.15, "select": "bonferroni", "confidence": 0.9},
        ITEMSET_COLUMNS,
        lambda answer: len(answer["itemsets"]),
        ["smoker=yes, coughs=yes", "90% interval", "length 2: ", "is at most 0.1, among 63 that"],
    ),
    "itemsets-holm-likelihood": (
        "itemsets",
        {"min_support": 0.15, "max_length": 2, "select": "holm", "estimate": "likelihood"},
        ITEMSET_COLUMNS,
        lambda answer: len(answer["itemsets"]),
        ["vote=none, a=b", "frequent", "is at most 0.05, among 30 that"],
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
            "select": "upper",
            "target": "respondents",
        },
        with_measures("lift", "conviction", "leverage"),
        lambda answer: 7,
        ["antecedent", "Fieller set", "conviction", "leverage", "smoker=yes"],
    ),
    "rules-without-any": (
        "rules",
        {"min_support": 1.0, "min_confidence": 1.0, "measures": ["phi"]},
        with_measures("phi"),
        lambda answer: 0,
        ["antecedent", "phi"],
    ),
    "rule": (
        "rule",
        {
            "antecedent": {"smoker": "yes", "vote": "none, a=b"},
            "consequent": {"coughs": "yes"},
            "measures": ["phi", "lift"],
            "confidence": 0.99,
        },
        with_measures("phi", "lift"),
        lambda answer: 1,
        ["smoker=yes, vote=none, a=b", "coughs=yes", "99% Chebyshev interval", "phi", "lift"],
    ),
    "table-likelihood": (
        "table",
        {"attributes": ["vote", "smoker"], "estimate": "likelihood", "target": "respondents"},
        ["vote", "smoker", *CELL_COLUMNS],
        lambda answer: 6,
        ["none, a=b", "95% interval"],
    ),
    "table-projected": (
        "table",
        {"attributes": ["age", "vote", "coughs"], "estimate": "projected", "confidence": 0.5},
        ["age", "vote", "coughs", *CELL_COLUMNS],
        lambda answer: 18,
        ["middle", "50% interval"],
    ),
    "measures": (
        "measures",
        {
            "attributes": ["smoker", "vote"],
            "present": {"vote": "none, a=b"},
            "measures": ["kappa", "chi_squared"],
            "target": "respondents",
        },
        MEASURE_COLUMNS,
        lambda answer: 2,
        ["kappa", "chi_squared", "Chebyshev interval"],
    ),
    "associations": (
        "associations",
        {"attributes": ["smoker", "vote", "age"], "confidence": 0.9, "target": "respondents"},
        ["row", "column", *MEASURE_COLUMNS],
        lambda answer: 6,
        ["vote", "90% interval"],
    ),
    "associations-of-all": (
        "associations",
        {},
        ["row", "column", *MEASURE_COLUMNS],
        lambda answer: 12,
        ["coughs"],
    ),
    "randomized": (
        "randomized",
        {"attributes": PAIR, "confidence": 0.9},
        [*MEASURE_COLUMNS, "never_grows", "order_preserved", "statement"],
        lambda answer: 20,
        ["odds_ratio", "its distance from 1 is at least as large for the answers", "nothing"],
    ),
    "partial-correlation": (
        "partial-correlation",
        {
            "attributes": PAIR,
            "given": ["age", "vote"],
            "present": {"age": "old", "vote": "left"},
            "target": "respondents",
        },
        ["of", *MEASURE_COLUMNS],
        lambda answer: 2,
        ["answers", "reports", "what the reports alone say of the answers: nothing"],
    ),
    "loglinear": (
        "loglinear",
        {"terms": [["smoker", "coughs"], ["vote"]]},
        ["smoker", "coughs", "vote", "count", "fitted", "residual"],
        lambda answer: 12,
        ["chi-squared ", "6 df, p-value ", "G-squared ", "if the model holds for the answers"],
    ),
    "loglinear-not-preserved": (
        "loglinear",
        {"terms": [["smoker", "coughs"], ["coughs", "age"]]},
        ["smoker", "coughs", "age", "count", "fitted", "residual"],
        lambda answer: 12,
        ["p-value ", "nothing can be concluded: a distorted attribute stands in more than one"],
    ),
    "loglinear-saturated": (
        "loglinear",
        {"terms": [["age"]]},
        ["age", "count", "fitted", "residual"],
        lambda answer: 3,
        ["0 df, p-value undefined"],
    ),
    "naive-bayes": (
        "classifier",
        {"predict": "coughs", "features": ["smoker", "vote"], "estimate": "moment"},
        ["where", "share", "class", "probability"],
        lambda answer: 2 * (1 + 2 + 3),
        ["everybody", "smoker=yes", "vote=none, a=b", "probability"],
    ),
    "decision-tree": (
        "classifier",
        {"predict": "vote", "kind": "decision-tree", "max_depth": 2, "min_support": 0.01},
        ["where", "share", "class", "probability"],
        lambda answer: 3 * leaves(answer["model"]["root"]),
        ["age=old", "none, a=b", "warning: "],
    ),
}


def leaves(node):
    return sum(map(leaves, node["children"].values())) if node["children"] else 1


every_analysis = pytest.mark.parametrize(
    ("path", "asked", "columns", "rows", "said"),
    [pytest.param(*analysis, id=name) for name, analysis in ANALYSES.items()],
)


def without_time(answer):
    return {name: value for name, value in answer.items() if name != "as_of"}


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.id)
@every_analysis
def test_http_answers_what_the_estimator_computes(
    study, get, survey, path, asked, columns, rows, said
):
    status, answer = get(path, asked, survey.id)
    assert status == 200
    assert (answer["survey"], answer["digest"]) == (survey.id, survey.digest)
    assert answer["reports"] == 3000
    for field, value in computed(path, asked, study.estimators[survey.id]).items():
        assert answer[field] == plain(value), field
    for name, value in asked.items():
        assert answer["query"][name] == value


@every_analysis
def test_command_line_and_analyst_give_the_answer_of_http(
    study, get, halftruth, path, asked, columns, rows, said
):
    expected = without_time(get(path, asked)[1])
    for elsewhere in (False, True):
        words = command(path, "study", asked)
        status, printed, complaint = halftruth(*words, "--json", elsewhere=elsewhere)
        assert (status, complaint) == (0, "")
        assert without_time(json.loads(printed)) == expected
    found = getattr(study.analyst, path.replace("-", "_"))("study", **asked)
    assert without_time(plain(found)) == expected
    assert found.as_of.tzinfo is not None


@every_analysis
def test_csv_and_data_frames_have_the_same_columns_and_rows(
    study, get, halftruth, path, asked, columns, rows, said
):
    answer = get(path, asked)[1]
    status, printed, complaint = halftruth(*command(path, "study", asked), "--csv")
    assert (status, complaint) == (0, "")
    header, *lines = csv.reader(io.StringIO(printed))
    assert header == columns
    assert len(lines) == rows(answer)
    frame = getattr(study.analyst, path.replace("-", "_"))("study", **asked).to_pandas()
    # The index of a frame is what its rows are called by.
    if frame.index.names != [None]:
        frame = frame.reset_index()
    assert list(frame.columns) == columns
    assert len(frame) == len(lines)
    for expected in (frame.itertuples(index=False, name=None), rows_of(path, answer)):
        for line, row in zip(lines, expected, strict=True):
            assert all(map(same, line, row)), (line, row)
            assert len(line) == len(row)


def items(found):
    return frozenset(f"{name}={category}" for name, category in found.items())


def of_measure(measure):
    ends = [
        *(measure["interval"] or (None, None)),
        *(measure["chebyshev_interval"] or (None, None)),
    ]
    return [measure["name"], measure["value"], measure["standard_error"], *ends]


def of_rule(rule):
    fieller = rule["confidence_fieller"]
    row = [
        items(rule["antecedent"]),
        items(rule["consequent"]),
        rule["support"],
        rule["support_standard_error"],
        *(rule["support_interval"] or (None, None)),
        rule["confidence"],
        rule["confidence_mean"],
        rule["confidence_standard_error"],
        *(rule["confidence_interval"] or (None, None)),
        *((fieller["kind"], fieller["lower"], fieller["upper"]) if fieller else [None] * 3),
    ]
    for measure in rule["measures"]:
        row += of_measure(measure)[1:5]
    return row


def of_tree(node, classes, path):
    if not node["children"]:
        for name, probability in zip(classes, node["probabilities"], strict=True):
            yield [items(path), node["share"], name, probability]
    for category, child in node["children"].items():
        yield from of_tree(child, classes, {**path, node["attribute"]: category})


def of_classifier(model):
    if model["type"] == "decision-tree":
        yield from of_tree(model["root"], model["classes"], {})
        return
    for name, prior in zip(model["classes"], model["prior"], strict=True):
        yield [frozenset(), None, name, prior]
    for feature in model["features"]:
        for code, category in enumerate(feature["categories"]):
            for name, shares in zip(model["classes"], feature["shares"], strict=True):
                yield [items({feature["name"]: category}), None, name, shares[code]]


def rows_of(path, answer):
    """The rows of a table of an answer, from its JSON."""
    if path == "itemsets":
        for found in answer["itemsets"]:
            numbers = [found["support"], found["standard_error"], *found["interval"]]
            yield [items(found["items"]), len(found["items"]), *numbers, found["decision"]]
    elif path in ("rules", "rule"):
        yield from map(of_rule, answer["rules"] if path == "rules" else [answer["rule"]])
    elif path == "table":
        for cell in answer["cells"]:
            numbers = [cell["support"], cell["standard_error"], *cell["interval"]]
            yield [*cell["values"].values(), *numbers]
    elif path == "measures":
        for measure in answer["measures"]:
            yield [*of_measure(measure), measure["undefined"]]
    elif path == "associations":
        for pair in answer["associations"]:
            measure = pair["estimate"]
            yield [pair["row"], pair["column"], *of_measure(measure), measure["undefined"]]
    elif path == "randomized":
        for measure in answer["measures"]:
            said = [measure["never_grows"], measure["order_preserved"], measure["statement"]]
            yield [*of_measure(measure["estimate"]), measure["estimate"]["undefined"], *said]
    elif path == "partial-correlation":
        found = {"answers": answer["reconstructed"], "reports": answer["randomized"]["estimate"]}
        for of, measure in found.items():
            yield [of, *of_measure(measure), measure["undefined"]]
    elif path == "loglinear":
        for cell in answer["cells"]:
            yield [*cell["values"].values(), cell["count"], cell["fitted"], cell["residual"]]
    else:
        yield from of_classifier(answer["model"])


def same(text, value):
    """Whether a cell of a CSV file and one of a data frame are the same."""
    if isinstance(value, frozenset):
        # An item can hold a comma itself.
        return sorted(text.replace(", ", "")) == sorted("".join(value).replace(", ", ""))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return text == ""
    if isinstance(value, float):
        return float(text) == value
    return text == str(value)


@every_analysis
def test_text_says_what_people_need(halftruth, path, asked, columns, rows, said):
    status, printed, complaint = halftruth(*command(path, "study", asked))
    assert (status, complaint) == (0, "")
    assert printed.startswith("3000 reports\n")
    for words in said:
        assert words in printed


def test_text_shows_the_test_of_a_loglinear_model(study, halftruth):
    fit, _, _ = study.estimators["study"].loglinear([["smoker"], ["coughs"]])
    printed = halftruth("loglinear", "study", "--term", "smoker", "--term", "coughs")[1]
    # Independence of two answers that hang together is refuted also after distortion.
    assert fit.chi_squared > 50
    assert f"chi-squared {fit.chi_squared:.2f}, 1 df, p-value " in printed
    assert float(printed.split("1 df, p-value ")[1].split(";")[0]) < 1e-9


def test_warnings_of_a_classifier_are_printed_one_a_line(get, halftruth):
    asked = {"predict": "vote", "kind": "decision-tree", "max_depth": 4, "min_support": 0.001}
    warnings = get("classifier", asked)[1]["model"]["warnings"]
    printed = halftruth(*command("classifier", "study", asked))[1]
    assert len(warnings) > 3
    assert [line for line in printed.splitlines() if line.startswith("warning: ")] == [
        f"warning: {warning}" for warning in warnings
    ]


def test_statements_of_whole_record_mechanisms_are_printed(halftruth):
    reason = "nothing can be concluded: the mechanism changes whole records at once"
    printed = halftruth("randomized", "whole", "--attributes", "smoker,coughs")[1]
    assert printed.count(reason) == 20
    words = ("partial-correlation", "whole", "--attributes", "smoker,coughs", "--given", "age")
    assert f"of the answers: {reason}" in halftruth(*words, "--present", "age=old")[1]
    printed = halftruth("loglinear", "whole", "--term", "smoker", "--term", "coughs")[1]
    assert "nothing can be concluded: the mechanism changes whole records at once" in printed


@every_analysis
def test_every_analysis_needs_a_token(study, capsys, path, asked, columns, rows, said):
    url = f"/v1/surveys/study/{path}?{query_string(asked)}"
    for headers in ({}, {"Authorization": "Bearer ht_wrong"}, {"Authorization": "Bearer "}):
        response = study.http.get(url, headers=headers)
        assert response.status_code in (401, 403)
        assert response.get_json()["field"] == "token"
    with pytest.raises(RequestRefused, match="token") as caught:
        getattr(Analyst(study.url, "ht_wrong", retries=0), path.replace("-", "_"))("study", **asked)
    assert caught.value.field == "token"
    for token in ([], ["--token", "ht_wrong"]):
        with pytest.raises(SystemExit) as end:
            main([*command(path, "study", asked), "--url", study.url, *token])
        printed, complaint = capsys.readouterr()
        assert (end.value.code, printed) == (2, "")
        assert complaint.count("\n") == 1
        assert "token" in complaint


MINED = {"min_support": 0.1, "min_confidence": 0.1}
RULE = {"antecedent": {"smoker": "yes"}, "consequent": {"coughs": "yes"}}
PARTIAL = {"attributes": PAIR, "given": ["age"], "present": {"age": "old"}}

#: Path, parameters, the field that is named, and what is said over HTTP and in Python.
BAD = [
    ("itemsets", {"min_support": 0.1, "select": "best"}, "select", "estimate, lower, upper, bonf"),
    ("itemsets", {"min_support": 0.1, "estimate": "em"}, "estimate", "moment, projected, likeli"),
    ("itemsets", {"min_support": 0.1, "confidence": 0}, "confidence", "above 0 and below 1"),
    ("itemsets", {"min_support": 0.1, "confidence": 1}, "confidence", "above 0 and below 1"),
    ("itemsets", {"min_support": math.nan}, "min_support", "above 0 and at most 1"),
    *(
        ("rules", {**MINED, "min_confidence": bad}, "min_confidence", "a number from 0 to 1")
        for bad in (-0.01, 1.01, math.nan, math.inf)
    ),
    *(
        ("rules", {**MINED, "min_lift": bad}, "min_lift", "a number of at least 0")
        for bad in (-0.01, math.nan, math.inf, -math.inf)
    ),
    ("rules", {**MINED, "limit": 0}, "limit", "an integer of at least 1"),
    ("rules", {**MINED, "limit": -3}, "limit", "an integer of at least 1"),
    ("rules", {**MINED, "max_length": 0}, "max_length", "an integer of at least 1"),
    ("rules", {**MINED, "sort": "size"}, "sort", "confidence, support or the name of a measure"),
    ("rules", {**MINED, "select": "best"}, "select", "estimate, lower, upper, bonferroni, holm"),
    ("rules", {**MINED, "target": "all"}, "target", "population"),
    ("rules", {**MINED, "measures": ["phi", "fi"]}, "measures", "unknown measure 'fi'"),
    ("rules", {**MINED, "confidence": 1}, "confidence", "above 0 and below 1"),
    ("rule", {**RULE, "antecedent": {"weight": "yes"}}, "antecedent", "unknown attribute 'weight'"),
    ("rule", {**RULE, "consequent": {"weight": "yes"}}, "consequent", "unknown attribute 'weight'"),
    ("rule", {**RULE, "antecedent": {"smoker": "maybe"}}, "antecedent", "no category 'maybe'"),
    ("rule", {**RULE, "consequent": {"coughs": "maybe"}}, "consequent", "no category 'maybe'"),
    ("rule", {**RULE, "consequent": {"smoker": "no"}}, "consequent", "in the antecedent too"),
    ("rule", {**RULE, "consequent": {"smoker": "yes"}}, "consequent", "in the antecedent too"),
    ("rule", {**RULE, "antecedent": {}}, "antecedent", "expected"),
    ("rule", {**RULE, "consequent": {}}, "consequent", "expected"),
    ("rule", {**RULE, "measures": ["fi"]}, "measures", "unknown measure 'fi'"),
    ("rule", {**RULE, "confidence": 0}, "confidence", "above 0 and below 1"),
    ("rule", {**RULE, "confidence": 1}, "confidence", "above 0 and below 1"),
    ("table", {"attributes": ["weight"]}, "attributes", "unknown attribute 'weight'"),
    ("table", {"attributes": []}, "attributes", "one or more of: smoker, coughs, age, vote"),
    ("table", {"attributes": ["age", "age"]}, "attributes", "'age' is named twice"),
    ("table", {"attributes": ["age"], "confidence": 1}, "confidence", "above 0 and below 1"),
    ("table", {"attributes": ["age"], "estimate": "em"}, "estimate", "moment, projected, likeli"),
    ("measures", {"attributes": ["age"]}, "attributes", "two or more"),
    ("measures", {"attributes": ["age", "weight"]}, "attributes", "unknown attribute 'weight'"),
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
    ("measures", {"attributes": PAIR, "confidence": 0}, "confidence", "above 0 and below 1"),
    ("associations", {"attributes": ["age"]}, "attributes", "two or more"),
    ("associations", {"attributes": ["age", "weight"]}, "attributes", "attribute 'weight'"),
    ("associations", {"attributes": ["age", "age"]}, "attributes", "twice"),
    ("associations", {"confidence": 1}, "confidence", "above 0 and below 1"),
    ("randomized", {"attributes": ["age"]}, "attributes", "two or more"),
    ("randomized", {"attributes": ["age", "weight"]}, "attributes", "unknown attribute 'weight'"),
    ("randomized", {"attributes": PAIR, "measures": ["fi"]}, "measures", "unknown measure 'fi'"),
    (
        "randomized",
        {"attributes": ["smoker", "vote"], "measures": ["kappa"]},
        "measures",
        "kappa needs binary attributes; expected the category of 'vote' that counts as presence",
    ),
    ("randomized", {"attributes": PAIR, "present": {"coughs": "x"}}, "present", "no category 'x'"),
    ("randomized", {"attributes": PAIR, "confidence": 1}, "confidence", "above 0 and below 1"),
    ("partial-correlation", {**PARTIAL, "given": []}, "given", "one attribute or more"),
    ("partial-correlation", {**PARTIAL, "attributes": [*PAIR, "vote"]}, "attributes", "two"),
    ("partial-correlation", {**PARTIAL, "attributes": ["vote"]}, "attributes", "two"),
    ("partial-correlation", {**PARTIAL, "given": ["smoker"]}, "attributes", "twice"),
    ("partial-correlation", {**PARTIAL, "given": ["weight"]}, "given", "attribute 'weight'"),
    ("partial-correlation", {**PARTIAL, "present": {}}, "present", "the category of 'age' that"),
    ("partial-correlation", {**PARTIAL, "present": {"age": "x"}}, "present", "no category 'x'"),
    ("partial-correlation", {**PARTIAL, "confidence": 0}, "confidence", "above 0 and below 1"),
    ("loglinear", {"terms": [["smoker"], ["weight"]]}, "terms", "attribute 'weight'"),
    ("loglinear", {"terms": [["smoker"], []]}, "terms", "attributes in every term"),
    ("loglinear", {"terms": [["age", "age"]]}, "terms", "'age' is named twice in one term"),
    ("classifier", {"predict": "weight"}, "predict", "unknown attribute 'weight'"),
    ("classifier", {"predict": "age", "features": ["weight"]}, "features", "attribute 'weight'"),
    ("classifier", {"predict": "age", "features": ["age", "vote"]}, "features", "other attributes"),
    ("classifier", {"predict": "age", "features": []}, "features", "one attribute or more"),
    ("classifier", {"predict": "age", "features": PAIR * 2}, "features", "twice"),
    ("classifier", {"predict": "age", "kind": "forest"}, "kind", "naive-bayes"),
    ("classifier", {"predict": "age", "estimate": "em"}, "estimate", "moment, projected, likeli"),
    ("classifier", {"predict": "age", "confidence": 1}, "confidence", "above 0 and below 1"),
    *(
        ("classifier", {"predict": "age", "kind": "decision-tree", **bad}, *bad, "of at least 1")
        for bad in ({"max_depth": 0}, {"max_depth": -1})
    ),
    *(
        (
            "classifier",
            {"predict": "age", "kind": "decision-tree", "min_support": bad},
            "min_support",
            "above 0 and below 1",
        )
        for bad in (0, 1, -0.1, math.nan)
    ),
]
bad_questions = pytest.mark.parametrize(("path", "asked", "field", "said"), BAD)


@bad_questions
def test_a_bad_question_over_http_is_one_line_that_names_the_field(
    study, get, path, asked, field, said
):
    status, answer = get(path, asked)
    assert (status, answer["field"]) == (422, field)
    assert said in answer["detail"]
    assert "\n" not in answer["detail"]
    with pytest.raises(RequestRefused) as caught:
        getattr(study.analyst, path.replace("-", "_"))("study", **asked)
    assert (caught.value.status, caught.value.field) == (422, field)
    assert said in str(caught.value)


@bad_questions
def test_a_bad_question_in_python_is_one_line_that_names_the_field(study, path, asked, field, said):
    estimator = study.estimators["study"]
    with pytest.raises(HalftruthError) as caught:
        computed(path, asked, estimator)
    assert caught.value.field == field
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@bad_questions
def test_a_bad_question_on_the_command_line_is_one_line_and_status_2(
    halftruth, path, asked, field, said
):
    for elsewhere in (False, True):
        words = command(path, "study", asked)
        status, printed, complaint = halftruth(*words, elsewhere=elsewhere)
        assert (status, printed) == (2, "")
        assert complaint.count("\n") == 1
        assert complaint.startswith("halftruth: ")
        # What is refused by the command itself is called by its option.
        option = f"--{OPTIONS.get(field, field).replace('_', '-')}"
        assert said in complaint or f"'{option}'" in complaint


def test_an_attribute_twice_on_one_side_of_a_rule_is_one_line(study, halftruth):
    twice = "antecedent=smoker%3Dyes&antecedent=smoker%3Dno&consequent=coughs%3Dyes"
    headers = {"Authorization": f"Bearer {study.token}"}
    response = study.http.get(f"/v1/surveys/study/rule?{twice}", headers=headers)
    assert (response.status_code, response.get_json()["field"]) == (422, "antecedent")
    assert response.get_json()["detail"] == "antecedent: 'smoker' is given twice; expected once"
    words = ("rule", "study", "--if", "smoker=yes", "--then", "coughs=yes", "--then", "coughs=no")
    status, printed, complaint = halftruth(*words)
    assert (status, printed) == (2, "")
    assert complaint == "halftruth: --consequent: 'coughs' is given twice; expected once\n"


@every_analysis
def test_without_reports_nothing_is_concluded(
    study, get, halftruth, path, asked, columns, rows, said
):
    status, answer = get(path, asked, "empty")
    line = "survey 'empty': no report has been counted yet"
    assert (status, answer["detail"]) == (409, line)
    for elsewhere in (False, True):
        words = command(path, "empty", asked)
        assert halftruth(*words, elsewhere=elsewhere) == (2, "", f"halftruth: {line}\n")
    with pytest.raises(RequestRefused, match=line) as caught:
        getattr(study.analyst, path.replace("-", "_"))("empty", **asked)
    assert caught.value.status == 409


def test_without_reports_there_is_no_estimator(study):
    counts = Counts.from_cells(SCHEMA, np.zeros((0, 4), dtype=int), [])
    with pytest.raises(NoReports, match="survey 'empty': no report has been counted yet"):
        Estimator(EMPTY, counts)


def test_a_rule_of_nobody_is_a_conflict_in_one_line(store, app, database, capsys):
    # One report says that somebody is young, so that the estimate of the old is below 0.
    survey = SURVEYS[0]
    store.surveys.publish(survey)
    store.reports.add(survey.id, survey.digest, [Report(id=uuid4(), values=[0, 0, 0, 0])])
    asked = {"antecedent": {"age": "old"}, "consequent": {"coughs": "yes"}}
    line = "antecedent: its estimated share is not above 0, so the rule has no confidence"
    response = app.test_client().get(
        f"/v1/surveys/study/rule?{query_string(asked)}",
        headers={"Authorization": f"Bearer {store.tokens.create('analyst')}"},
    )
    problem = response.get_json()
    assert (response.status_code, problem["field"], problem["detail"]) == (409, "antecedent", line)
    with pytest.raises(SystemExit) as end:
        main([*command("rule", "study", asked), "--database", database])
    assert end.value.code == 2
    assert capsys.readouterr() == ("", f"halftruth: {line}\n")


@pytest.fixture
def classify(halftruth, tmp_path):
    """Run ``halftruth classifier … --records`` on a file of these bytes."""

    def run(content, *words):
        path = tmp_path / "records.csv"
        path.write_bytes(content)
        asked = ("--predict", "coughs", "--features", "smoker,vote", "--records", str(path))
        return halftruth("classifier", "study", *asked, *words)

    return run


@pytest.mark.parametrize("kind", ["naive-bayes", "decision-tree"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_records_are_classified_one_a_line(study, halftruth, tmp_path, kind, elsewhere):
    records = [
        {"vote": vote, "smoker": smoker, "name": "somebody"}
        for smoker in ("no", "yes")
        for vote in ("left", "right", "none, a=b")
    ]
    path = tmp_path / "records.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["name", "vote", "smoker"])
        writer.writeheader()
        writer.writerows(records)
    asked = {"predict": "coughs", "kind": kind, "features": ["smoker", "vote"]}
    words = [*command("classifier", "study", asked), "--records", str(path)]
    status, printed, complaint = halftruth(*words, elsewhere=elsewhere)
    model = study.estimators["study"].classifier(**asked)
    assert (status, complaint) == (0, "")
    assert printed.splitlines() == ["coughs", *model.predict(records)]
    # Those who smoke cough, so that both classes occur.
    assert printed.splitlines()[1:] == ["no"] * 3 + ["yes"] * 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"smoker,vote\nyes,left\nhush-hush,left\n", "'smoker': expected one of: no, yes"),
        (b"smoker,vote\nyes,hush-hush\n", "'vote': expected one of: left, right, none, a=b"),
        (b"smoker,vote\nyes,left\nyes\n", "'vote': expected one of: left, right, none, a=b"),
        (b"smoker\nhush-hush\n", "'smoker': expected one of: no, yes"),
        (b"hush-hush,vote\nyes,left\n", "'smoker': missing"),
        (b"smoker,vote\nyes,left\n\nyes,hush-hush\n", "'vote': expected one of: left, right"),
        (b'smoker,vote\n"hush-hush,left\nyes,left\n', "'smoker': expected one of: no, yes"),
    ],
)
@pytest.mark.parametrize("kind", ["naive-bayes", "decision-tree"])
def test_a_bad_answer_in_a_file_of_records_is_one_line_that_does_not_quote_it(
    classify, kind, content, said
):
    status, printed, complaint = classify(content, "--kind", kind)
    assert (status, printed) == (2, "")
    assert said in complaint
    assert complaint.startswith("halftruth: line ")
    assert complaint.count("\n") == 1
    assert "hush" not in complaint


@pytest.mark.parametrize("place", [2, 20_000])
def test_a_file_of_records_in_another_encoding_is_one_line(classify, place):
    status, printed, complaint = classify(b"smoker,vote\n" + b"yes,left\n" * place + b"\xe9,left\n")
    assert (status, printed) == (2, "")
    assert complaint.count("\n") == 1
    assert "UTF-8" in complaint


def test_a_file_of_records_that_is_no_csv_is_one_line(classify):
    status, printed, complaint = classify(b"smoker,vote\nyes," + b"x" * 200_000 + b"\n")
    assert (status, printed) == (2, "")
    assert complaint.count("\n") == 1


def test_a_file_of_no_records_has_no_predictions(classify):
    assert classify(b"smoker,vote\n") == (0, "coughs\n", "")


def test_a_file_of_records_that_is_not_there_is_one_line(halftruth, tmp_path):
    words = ("classifier", "study", "--predict", "coughs", "--records")
    for path, said in ((tmp_path / "none.csv", "No such file"), (tmp_path, "Is a directory")):
        status, printed, complaint = halftruth(*words, str(path))
        assert (status, printed) == (2, "")
        assert complaint.count("\n") == 1
        assert said in complaint


@pytest.mark.parametrize("bad", [{"max_depth": 0}, {"min_support": 7}, {"min_support": math.nan}])
def test_limits_of_a_tree_are_checked_whatever_the_kind(get, bad):
    status, answer = get("classifier", {"predict": "age", **bad})
    assert (status, answer["field"]) == (422, next(iter(bad)))


@pytest.mark.parametrize("path", ["measures", "randomized"])
def test_a_measure_has_the_name_under_which_it_was_asked_for(study, path):
    frame = getattr(study.analyst, path)("study", PAIR, measures=["lift", "leverage"]).to_pandas()
    assert list(frame.index) == ["lift", "leverage"]


def test_no_terms_at_all_get_the_same_line_from_everywhere(study):
    line = "terms: expected one term or more"
    with pytest.raises(HalftruthError, match=line):
        study.estimators["study"].loglinear([])
    with pytest.raises(RequestRefused, match=line):
        study.analyst.loglinear("study", [])


def test_an_attribute_may_be_called_like_a_column(store, live):
    schema = Schema((Attribute("support", ("no", "yes")), Attribute("lower", ("no", "yes"))))
    survey = Survey("measures", "Names", schema, GammaDiagonal("19"))
    store.surveys.publish(survey)
    store.reports.add("measures", survey.digest, [Report(id=uuid4(), values=[0, 1])])
    analyst = Analyst(live.url, store.tokens.create("analyst"), retries=0)
    frame = analyst.table("measures", ["support", "lower"]).to_pandas()
    assert frame.index.names == ["support", "lower"]
    assert len(frame) == 4
