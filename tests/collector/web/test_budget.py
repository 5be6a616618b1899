"""Expensive queries are refused before they are computed, or end at a deadline."""

import json
import math
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from shutil import copyfile
from types import SimpleNamespace
from urllib.parse import urlencode
from uuid import uuid4

import msgspec
import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, identified
from halftruth_collector.analyses.work import affordable_length
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import budget, create_app, turns
from halftruth_collector.web.routes import results, surveys
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    RandomizedResponse,
    Schema,
    Series,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.reading import write
from halftruth_shared.deadlines import Deadline, DeadlinePassed, check_deadline, until
from halftruth_shared.protocol.reports import Report
from wire import PATIENCE

BINARY = Schema(tuple(Attribute(f"q{j}", ("left", "right")) for j in range(20)))
WIDE = Survey("wide", "Wide", BINARY, RandomizedResponse.for_amplification(BINARY, "1000"))


def compute_for_ever(started=None):
    if started:
        started.set()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        check_deadline()
    raise AssertionError("nothing ended it")


@pytest.mark.parametrize(
    ("question", "field", "said"),
    [
        (
            "itemsets?min_support=0.05&max_length=5",
            "max_length",
            "max_length: longer itemsets take too long among 20 attributes; expected max_length = 4"
            " at most, or a higher min_support",
        ),
        (
            "rules?max_length=6",
            "max_length",
            "max_length: longer rules take too long among 20 attributes; expected max_length = 4 at"
            " most, or a higher min_support",
        ),
        (
            "table?attributes=" + ",".join(BINARY.names[:18]),
            "attributes",
            "attributes: a table of 262144 cells; expected at most 65536, so fewer attributes",
        ),
        (
            "microdata",
            "attributes",
            "attributes: a model of 1048576 cells; expected at most 262144, so fewer attributes,"
            f" such as {', '.join(f'q{j}' for j in range(14))}",
        ),
    ],
)
def test_expensive_queries_are_refused_before_reports_are_read(
    http, store, analyst, monkeypatch, question, field, said
):
    operations.publish_survey(store, WIDE)
    monkeypatch.setattr(results, "get_counts", None)
    response = http.get(f"/v1/surveys/wide/{question}", headers=analyst)
    assert response.status_code == 422
    assert (response.get_json()["field"], response.get_json()["detail"]) == (field, said)


@pytest.mark.parametrize("name", ["itemsets", "rules"])
def test_the_initial_query_of_a_page_is_affordable(survey, name):
    analysis = ANALYSES[name]
    assert analysis.start(survey).max_length is None
    for each in (survey, WIDE):
        analysis.check_work(each, analysis.start(each))


def test_the_affordable_length_bounds_the_number_of_itemsets_and_rules():
    # 20, 190, 1 140 and 4 845 combinations with 2, 4, 8 and 16 cells are 87 440 itemsets. Of each
    # of 15 504 more at most 1 / 0.05 = 20 are frequent, which makes 397 520.
    assert affordable_length(WIDE, 0.05) == 4
    # At most 2 are frequent of 21 699 combinations of up to 5, and of 60 459 of up to 6.
    assert affordable_length(WIDE, 0.5) == 5
    # 760 · 2 + 9 120 · 6 + 77 520 · 14 = 1 141 520 rules, and 310 080 · 30 more.
    assert affordable_length(WIDE, 0.05, rules=True) == 4


def test_computations_time_out_with_advice(http, store, analyst, monkeypatch):
    monkeypatch.setattr(budget, "SECONDS", 0.2)
    monkeypatch.setattr(results, "get_counts", lambda _: compute_for_ever())
    for path in ("/v1/surveys/health/overview", "/v1/surveys/health/table?attributes=smoker"):
        response = http.get(path, headers=analyst)
        assert response.status_code == 422
        assert response.get_json()["detail"] == (
            "the answer takes more than 0.2 seconds here; expected a question about fewer"
            " attributes, or a lower max_length"
        )


def test_computations_wait_for_their_turn_and_end_with_advice(
    make_app, published, store, monkeypatch
):
    """Each frees its turn, also one that fails, and requests of others need none."""
    monkeypatch.setattr(turns, "PATIENCE", 0.2)
    begun, end = threading.Semaphore(0), threading.Event()
    http = make_app(threads=2).test_client()
    analyst = {"Authorization": f"Bearer {operations.create_token(store, 'analyst')}"}

    def compute(_):
        begun.release()
        assert end.wait(PATIENCE)
        raise DomainTooLarge("too large")

    def ask():
        return http.get("/v1/surveys/health/overview", headers=analyst)

    monkeypatch.setattr(results, "get_counts", compute)
    with ThreadPoolExecutor(2) as pool:
        computing = [pool.submit(ask) for _ in range(2)]
        for _ in computing:
            assert begun.acquire(timeout=PATIENCE)
        response = ask()
        assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
        assert response.get_json()["detail"] == "the server does not keep up; try again later"
        assert http.get("/v1/surveys/health").status_code == 200
        end.set()
        assert [one.result().status_code for one in computing] == [422, 422]
    assert ask().status_code == 422


def test_only_some_large_bodies_are_read_at_a_time(http, published, batch, monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.2)
    begun, end = threading.Semaphore(0), threading.Event()
    read = surveys.read

    def wait(*given):
        begun.release()
        assert end.wait(PATIENCE)
        return read(*given)

    def send(reports):
        return http.post("/v1/surveys/health/reports", json=batch(*[[0, 0]] * reports))

    monkeypatch.setattr(surveys, "read", wait)
    with ThreadPoolExecutor(17) as pool:
        sending = [pool.submit(send, 1_000) for _ in range(16)]
        for _ in sending:
            assert begun.acquire(timeout=PATIENCE)
        assert send(1_000).status_code == 503
        single = pool.submit(send, 1)
        assert begun.acquire(timeout=PATIENCE)
        end.set()
        assert {one.result().status_code for one in (*sending, single)} == {202}
    assert send(1_000).status_code == 202


def test_a_deadline_holds_in_its_block_and_thread_only():
    passed = Deadline(0)
    with until(passed):
        with pytest.raises(DeadlinePassed):
            check_deadline()
        # No handler of errors swallows it.
        with pytest.raises(DeadlinePassed), suppress(Exception):
            check_deadline()
        with until(Deadline(PATIENCE)):
            check_deadline()
        other = threading.Thread(target=check_deadline)
        other.start()
        other.join()
    check_deadline()


#: Questions of two surveys: reports about all of them, and about pairs.
NAMES = [f"q{j}" for j in range(4)]
DESIGNS = {
    "whole": lambda schema: RandomizedResponse(dict.fromkeys(schema.names, "0.9")),
    "pairs": lambda schema: SplitQuestionnaire.for_amplification(schema, "19", max_length=2),
}


def published(store, design: str) -> Survey:
    """Publish a survey and another wave of it, and count simulated reports to both."""
    schema = Schema([Attribute(name, ["a", "b", "c"]) for name in NAMES])
    for wave in (1, 2):
        here = "https://survey.example.org"
        series = Series(id=design, wave=wave, total_gamma=10**30, origin=here)
        survey = Survey(f"{design}{wave}", "Many", schema, DESIGNS[design](schema), series=series)
        rng = np.random.default_rng(wave)
        base = rng.random((2_000, 1))
        records = (3 * (base + rng.random((2_000, len(NAMES)))) / 2).astype(int)
        operations.publish_survey(store, survey)
        values = survey.perturbation.reports(records, rng).tolist()
        reports = [Report(id=uuid4(), values=row) for row in values]
        store.reports.add(survey.id, survey.digest, reports)
    return survey


@pytest.fixture(scope="module")
def served(sqlite_template, tmp_path_factory):
    """A client that may do everything, with the two surveys, and the addresses that compute."""
    file = copyfile(sqlite_template, tmp_path_factory.mktemp("budget") / "all.db")
    app = create_app(Config(database=f"sqlite:///{file}", min_reports=1))
    store = app.extensions["halftruth"].store
    http = app.test_client()
    token = operations.create_token(store, "operator")
    http.post("/sign-in", data={"token": token})
    surveys = {design: published(store, design) for design in DESIGNS}
    bearer = {"Authorization": f"Bearer {token}"}
    yield SimpleNamespace(http=http, surveys=surveys, bearer=bearer)
    store.close()


def addresses(survey: Survey):
    """Yield method, path and body of everything that is computed for a survey."""
    for analysis in identified(survey):
        if analysis.name == "counts":
            # It shows the counts, and computes nothing.
            continue
        query = analysis.start(survey)
        if hasattr(query, "min_support"):
            query = msgspec.structs.replace(query, min_support=0.02)
        asked = urlencode(
            [(name, text) for name, texts in write(query).items() for text in texts], safe=","
        )
        yield "GET", f"/v1/surveys/{survey.id}/{analysis.name}?{asked}", None
        if survey.id.startswith("whole"):
            # Pages differ by the analysis only.
            yield "GET", f"/results/{survey.id}/{analysis.name}?{asked}", None
    yield "GET", f"/results/{survey.id}", None
    yield "GET", f"/results/{survey.id}/report", None
    yield "POST", "/v1/check", json.loads(survey.canonical_json)
    yield "POST", "/v1/plan", {"survey": json.loads(survey.canonical_json), "respondents": 1_000}


class Numbered(Deadline):
    """A deadline that passes at a numbered check."""

    last: "Numbered"
    at: float = math.inf

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.checks = 0
        #: Function calls since the last check, and the most between two checks.
        self.calls = self.most = 0
        Numbered.last = self

    def check(self) -> None:
        self.checks += 1
        self.note()
        if self.checks > self.at:
            raise DeadlinePassed

    def note(self) -> None:
        self.most, self.calls = max(self.most, self.calls), 0


def count_call(frame, event, _argument):
    """Count the calls of functions, except those that draw a chart, which is shortened before."""
    if event in ("call", "c_call") and "/matplotlib/" not in frame.f_code.co_filename:
        Numbered.last.calls += 1


@pytest.fixture
def numbered(monkeypatch):
    monkeypatch.setattr(budget, "Deadline", Numbered)
    monkeypatch.setattr(Numbered, "at", math.inf)
    return Numbered


@pytest.mark.parametrize("design", DESIGNS)
def test_every_analysis_and_page_ends_once_its_deadline_has_passed(
    served, numbered, monkeypatch, design
):
    for method, path, body in addresses(served.surveys[design]):
        ask = partial(served.http.open, path, method=method, json=body, headers=served.bearer)
        if path.startswith("/v1/"):
            # Fitted models are cached, and are not fitted again below.
            ask()
        assert ask().status_code == 200, path
        checks = numbered.last.checks
        # The first check is before the computation begins.
        assert checks > 1, path
        for at in {1, checks // 2} if path.startswith("/v1/") else {1}:
            monkeypatch.setattr(numbered, "at", at)
            ended = ask()
            assert ended.status_code == 422, path
            assert "the answer takes more than 30 seconds here" in ended.text
            assert numbered.last.checks == at + 1
        monkeypatch.setattr(numbered, "at", math.inf)


#: Most function calls between two checks, of Python and of its libraries: a tenth of a second.
MOST_CALLS = 60_000


@pytest.mark.nightly
@pytest.mark.parametrize("design", DESIGNS)
def test_no_computation_runs_long_after_its_deadline(served, numbered, design):
    """Counts function calls, which are the same on a busy machine."""
    for method, path, body in addresses(served.surveys[design]):
        ask = partial(served.http.open, path, method=method, json=body, headers=served.bearer)
        # Modules are imported at the first request.
        ask()
        before = sys.getprofile()
        sys.setprofile(count_call)
        try:
            assert ask().status_code == 200
        finally:
            sys.setprofile(before)
        numbered.last.note()
        assert 0 < numbered.last.most < MOST_CALLS, path


def test_threads_switch_often_only_while_something_is_computed():
    usual = sys.getswitchinterval()
    switches = budget.FrequentSwitches()
    with switches:
        assert sys.getswitchinterval() == pytest.approx(0.0005)
        with ThreadPoolExecutor(1) as other:
            other.submit(switches.__enter__).result()
            other.submit(switches.__exit__).result()
        assert sys.getswitchinterval() == pytest.approx(0.0005)
    assert sys.getswitchinterval() == pytest.approx(usual)
