"""A mechanism that was added, in the tests alone, goes everywhere that any other goes.

Its report is no record but one symbol about all answers. Store, protocol, HTTP, sealing, export,
client, commands, planner and pages take it as they are; what speaks of reports as if they were
records is refused in one line.
"""

import csv
import io
from base64 import b64encode
from uuid import uuid4

import numpy as np
import pytest
from halftruth_client import Analyst, Client
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.cli import main
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.planner import plan
from halftruth_collector.store import Store
from halftruth_shared import Attribute, Schema, Survey
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.protocol.sealing import seal
from halftruth_shared.protocol.terms import Terms
from symbols import Symbol, registered

SCHEMA = Schema(
    [
        Attribute("smoker", ["no", "yes"]),
        Attribute("drinks", ["never", "weekly", "daily"]),
        Attribute("coughs", ["no", "yes"]),
    ]
)


@pytest.fixture(autouse=True)
def _registered():
    with registered():
        yield


@pytest.fixture
def survey():
    return Survey("symbols", "Symbols", SCHEMA, Symbol("19", 25))


@pytest.fixture
def records():
    shares = np.random.default_rng(1).dirichlet(np.ones(SCHEMA.size))
    cells = np.random.default_rng(2).choice(SCHEMA.size, 900, p=shares)
    return np.stack(np.unravel_index(cells, SCHEMA.shape), axis=1)


@pytest.fixture
def counted(live, records):
    """A collector with the reports of these records, sent by the client, and its analyst."""
    client = Client(live.url, max_gamma="19")
    delivery = client.submit_many(
        client.survey("symbols"), [SCHEMA.decode(codes) for codes in records.tolist()]
    )
    assert delivery.accepted == len(records)
    return Analyst(live.url, live.store.tokens.create("analyst"))


def test_what_the_client_sends_is_counted_symbol_by_symbol(live, counted):
    counts = counted.counts("symbols")
    _, stored, _ = live.store.reports.counts("symbols")
    assert (stored.names, stored.shape, stored.reports) == (("symbol",), (25,), 900)
    assert {tuple(cell.values): cell.count for cell in counts.cells} == {
        (symbol,): count for [symbol], count in zip(stored.cells, stored.counts, strict=True)
    }


def test_every_analysis_over_http_is_that_of_the_estimator(live, survey, counted):
    _, stored, _ = live.store.reports.counts("symbols")
    estimator = Estimator(survey, stored)
    pair = ["smoker", "coughs"]
    table = counted.table("symbols", attributes=pair)
    np.testing.assert_allclose(
        [cell.support for cell in table.cells], estimator.table(pair).support.ravel()
    )
    np.testing.assert_allclose(
        [cell.standard_error for cell in table.cells],
        estimator.table(pair).standard_error().ravel(),
    )
    itemsets = counted.itemsets("symbols", min_support=0.1)
    expected = list(estimator.itemsets(0.1))
    assert [found.items for found in itemsets.itemsets] == [found.items for found in expected]
    assert [found.support for found in itemsets.itemsets] == pytest.approx(
        [found.support for found in expected]
    )
    rules = counted.rules("symbols", min_support=0.05, min_confidence=0.3)
    assert len(rules.rules) == len(list(estimator.rules(0.05, 0.3)))
    measures = counted.measures("symbols", attributes=pair)
    assert [found.value for found in measures.measures] == [
        found.value for found in estimator.measures(pair)
    ]
    assert len(counted.associations("symbols").associations) == 6
    partial = counted.partial_correlation(
        "symbols", attributes=pair, given=["drinks"], present={"drinks": "daily"}
    )
    assert partial.randomized is None
    for estimate in ("moment", "projected", "likelihood"):
        for kind in ("naive-bayes", "decision-tree"):
            learned = counted.classifier(
                "symbols", predict="coughs", kind=kind, features=["smoker"], estimate=estimate
            )
            assert learned.model.predict([{"smoker": "yes"}]).shape == (1,)


def test_a_sealed_symbol_is_opened_and_counted(sealing_app, sealing_key, store, survey):
    store.surveys.publish(survey, Terms(sealing_key=sealing_key))
    values = survey.mechanism.perturb(SCHEMA, (1, 2, 0))
    id = uuid4()
    sealed = seal(sealing_key, survey.digest, id, survey.report_space.pack(values))
    body = {
        "digest": survey.digest,
        "reports": [{"id": str(id), "sealed": b64encode(sealed).decode()}],
    }
    answer = sealing_app.test_client().post("/v1/surveys/symbols/reports", json=body)
    assert answer.json == {"accepted": 1, "duplicates": 0}
    _, stored, _ = store.reports.counts("symbols")
    assert stored.cells.tolist() == [list(values)]


def test_commands_plan_perturb_publish_and_show_it(tmp_path, capsys, survey, records):
    file = tmp_path / "symbols.toml"
    attributes = "".join(
        f'[[attributes]]\nname = "{a.name}"\ncategories = {list(a.categories)}\n'
        for a in SCHEMA.attributes
    )
    file.write_text(
        f'id = "symbols"\ntitle = "Symbols"\n{attributes}[mechanism]\nkind = "test-symbol"\n'
        'gamma = "19"\n'.replace("'", '"'),
        encoding="utf-8",
    )
    main(["plan", str(file), "--respondents", "5000"], standalone_mode=False)
    planned = capsys.readouterr().out
    assert planned.count("test-symbol") >= 3
    assert "gamma-diagonal" in planned

    told = tmp_path / "records.csv"
    with told.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(SCHEMA.names)
        writer.writerows(SCHEMA.decode(codes).values() for codes in records.tolist())
    main(["perturb", str(file), str(told)], standalone_mode=False)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["symbol"]
    assert len(rows) == 901
    numbers = [[int(word.removeprefix("number "))] for [word] in rows[1:]]
    assert Counts.from_reports(survey, numbers).reports == 900

    database = ["--database", f"sqlite:///{tmp_path / 'symbols.db'}"]
    main(["survey", "publish", str(file), *database], standalone_mode=False)
    assert "γ = 19" in capsys.readouterr().out


def test_the_planner_and_simulated_surveys_agree(survey, records):
    result = plan(survey, PlanQuery(respondents=900, lengths=[1, 2, 3], support=0.05))
    own = result.mechanisms[0]
    assert (own.kind, own.own, own.answer_amplification) == ("test-symbol", True, 5.5)
    assert {other.kind for other in result.mechanisms} == {
        "test-symbol",
        "gamma-diagonal",
        "randomized-gamma-diagonal",
        "randomized-response",
        "split-questionnaire",
    }
    # People of whom 5 % have the first cell of each table, all others evenly spread.
    rng = np.random.default_rng(3)
    for length in own.lengths:
        names = SCHEMA.names[: length.length]
        size = int(np.prod(SCHEMA.shape[: length.length]))
        rest = SCHEMA.size // size
        shares = np.repeat([0.05, *[0.95 / (size - 1)] * (size - 1)], rest) / rest
        found = []
        for _ in range(400):
            cells = rng.choice(SCHEMA.size, 900, p=shares)
            people = np.stack(np.unravel_index(cells, SCHEMA.shape), axis=1)
            reports = survey.mechanism.perturb_many(SCHEMA, people, rng)
            table = Estimator(survey, Counts.from_reports(survey, reports)).table(names)
            found.append(table.support.flat[0])
        # A mean of 400 is known to a twentieth of their spread, a spread to 3.5 %: four of each.
        error = np.std(found, ddof=1)
        assert np.mean(found) == pytest.approx(0.05, abs=4 * error / 20)
        assert length.standard_error == pytest.approx(error, rel=0.14)


ASKED = {
    "itemsets": {"min_support": "0.1"},
    "rules": {"min_support": "0.1", "min_confidence": "0.3"},
    "rule": {"antecedent": "smoker=yes", "consequent": "coughs=yes"},
    "partial-correlation": {
        "attributes": "smoker,coughs",
        "given": "drinks",
        "present": "drinks=daily",
    },
    "loglinear": {"terms": "smoker,coughs"},
    "classifier": {"predict": "coughs"},
    "regression": {"outcome": "coughs", "predictors": "smoker,drinks"},
    "comparison": {"answer": "coughs=yes", "groups": "drinks"},
    "distribution": {"attribute": "drinks", "groups": "smoker"},
    "several": {"attributes": "smoker,coughs"},
    "risk": {"quasi": "smoker,drinks", "sensitive": "coughs"},
    "weighted": {"margins": ["smoker=no:0.6", "smoker=yes:0.4"]},
}


def asked_of(name):
    """What is asked of an analysis: two attributes, unless it wants something else."""
    pair = "attributes" in ANALYSES[name].query.__struct_fields__
    return ASKED.get(name, {"attributes": "smoker,coughs"} if pair else {})


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_has_a_page_and_a_file_for_it(live, counted, name):
    http = live.app.test_client()
    token = live.store.tokens.create("analyst")
    assert http.post("/results/sign-in", data={"token": token}).status_code == 303
    bearer = {"Authorization": f"Bearer {token}"}
    page = http.get(f"/results/symbols/{name}", query_string=asked_of(name))
    answer = http.get(f"/v1/surveys/symbols/{name}", query_string=asked_of(name), headers=bearer)
    if name in ("randomized", "loglinear"):
        assert (page.status_code, answer.status_code) == (409, 409)
        assert "its reports are no records" in page.get_data(as_text=True)
        assert "its reports are no records" in answer.json["detail"]
    else:
        assert (page.status_code, answer.status_code) == (200, 200), answer.get_data(as_text=True)
        table = {**asked_of(name), "format": "csv"}
        rows = http.get(f"/v1/surveys/symbols/{name}", query_string=table, headers=bearer)
        assert rows.status_code == 200


def test_the_form_is_shown_with_its_survey(live):
    http = live.app.test_client()
    assert http.get("/s/symbols").status_code == 200
    assert '"kind":"test-symbol"' in http.get("/v1/surveys/symbols").get_data(as_text=True)


def test_counts_of_symbols_are_exported_imported_and_backed_up(live, counted, tmp_path, database):
    files = {name: str(tmp_path / name) for name in ("exported", "backup", "fresh")}
    fresh = ["--database", f"sqlite:///{files['fresh']}"]
    main(["export", "symbols", files["exported"], "--database", database], standalone_mode=False)
    main(["backup", files["backup"], "--database", database], standalone_mode=False)
    main(["migrate", *fresh], standalone_mode=False)
    main(["import", files["exported"], *fresh], standalone_mode=False)
    _, here, _ = live.store.reports.counts("symbols")
    with Store(fresh[1]) as other:
        _, there, _ = other.reports.counts("symbols")
    np.testing.assert_array_equal(there.cells, here.cells)
    np.testing.assert_array_equal(there.counts, here.counts)
