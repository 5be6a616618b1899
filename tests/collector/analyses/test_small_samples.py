"""Results below the minimum number of reports are refused in every interface."""

import html
from uuid import uuid4

import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.cli import main
from halftruth_collector.errors import TooFewReports
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.protocol.reports import Report
from sources import source_of

from .conftest import query_string

SURVEY = Survey(
    "few",
    "Few",
    Schema(
        [
            Attribute("smoker", ["no", "yes"]),
            Attribute("coughs", ["no", "yes"]),
            Attribute("region", ["north", "south"], sensitive=False),
        ]
    ),
    RandomizedResponse({"smoker": "0.9", "coughs": "0.9", "region": "1"}),
)
LINE = "survey 'few': 49 reports have been counted; results are served of 50 or more"


def reports(people):
    """Reports, 5 of them from the south."""
    rng = np.random.default_rng(7)
    region = np.arange(people) < 5
    return np.column_stack([rng.integers(0, 2, (people, 2)), region]).tolist()


def send(store, rows):
    store.reports.add(SURVEY.id, SURVEY.digest, [Report(id=uuid4(), values=row) for row in rows])


@pytest.fixture
def collector(database, store):
    """A collector with default settings and 49 reports."""
    operations.publish_survey(store, SURVEY)
    send(store, reports(50)[:49])
    app = create_app(Config(database=database))
    yield app
    app.extensions["halftruth"].store.close()


def test_results_below_the_minimum_are_refused_in_every_format(collector, store, database, capsys):
    client, token = collector.test_client(), operations.create_token(store, "analyst")
    bearer = {"Authorization": f"Bearer {token}"}
    client.post("/sign-in", data={"token": token})
    for name, analysis in ANALYSES.items():
        asked = {
            field: value
            for field, known in analysis.fields.items()
            if (value := getattr(analysis.start(SURVEY), field)) != known.default
        }
        for form in ("json", "csv", "parquet"):
            address = f"/v1/surveys/few/{name}?{query_string({**asked, 'format': form})}"
            answer = client.get(address, headers=bearer)
            problem = answer.get_json()
            assert (answer.status_code, problem["detail"]) == (409, LINE), name
            assert problem["type"] == "urn:halftruth:problem:too-few-reports"
            file = client.get(f"/results/few/{name}?format={form}")
            assert (file.status_code, LINE in html.unescape(file.text)) == (409, True)
        page = client.get(f"/results/few/{name}")
        assert (page.status_code, LINE in html.unescape(page.text)) == (409, True)
        assert ('<form method="get"' in page.text) == bool(analysis.fields)
        assert "<svg" not in page.text
    start = client.get("/results/few")
    assert (start.status_code, LINE in html.unescape(start.text)) == (200, True)
    with pytest.raises(SystemExit) as end:
        main(["analyse", "overview", "few", "--database", database])
    assert (end.value.code, *capsys.readouterr()) == (2, "", f"halftruth: {LINE}\n")


def test_a_command_uses_the_configured_minimum(collector, database, capsys, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_MIN_REPORTS", "49")
    # A command ignores invalid settings that it does not need.
    monkeypatch.setenv("HALFTRUTH_PROXIES", "many")
    main(["analyse", "overview", "few", "--database", database])
    assert capsys.readouterr().out.splitlines()[1].startswith("49 reports, ")
    monkeypatch.setenv("HALFTRUTH_MIN_REPORTS", "few")
    with pytest.raises(SystemExit):
        main(["analyse", "overview", "few", "--database", database])
    assert capsys.readouterr().err == (
        "halftruth: HALFTRUTH_MIN_REPORTS: expected a positive integer of at most 15 digits\n"
    )


def test_a_group_below_the_minimum_is_refused():
    """The region is unperturbed: 30 of 80 are significantly above zero, but below the minimum."""
    rows = np.array(reports(80))
    rows[:, 2] = np.arange(80) < 30
    counted = source_of(SURVEY, rows, min_reports=50)
    analysis = ANALYSES["overview"]
    with pytest.raises(TooFewReports) as refused:
        answer(analysis, counted, OverviewQuery(where={"region": "south"}))
    assert refused.value.field == "where"
    assert str(refused.value) == (
        "where: about 30 of the reports are of those with region=south; results are served of 50 or"
        " more"
    )
    assert answer(analysis, counted, OverviewQuery(where={"region": "north"})).group.people == 50
