"""Expensive queries are refused before they are computed, or time out."""

import threading
import time

import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.analyses.work import affordable_length
from halftruth_collector.web import budget
from halftruth_collector.web.routes import results
from halftruth_shared import Attribute, DomainTooLarge, RandomizedResponse, Schema, Survey
from werkzeug.exceptions import ClientDisconnected
from wire import PATIENCE

BINARY = Schema(tuple(Attribute(f"q{j}", ("no", "yes")) for j in range(20)))
WIDE = Survey("wide", "Wide", BINARY, RandomizedResponse.for_amplification(BINARY, "1000"))


def compute_for_ever(started=None):
    if started:
        started.set()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        pass
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
            "microdata?attributes=q0,q1",
            "modelled",
            "modelled: a model of 1048576 cells; expected at most 262144, so fewer attributes",
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


@pytest.mark.parametrize("begun", [False, True])
def test_computations_end_when_the_client_disconnects(begun):
    computation, started = budget.Computation(), threading.Event()

    def leave():
        if begun:
            assert started.wait(PATIENCE)
        computation.abandon()

    leaving = threading.Thread(target=leave)
    leaving.start()
    if not begun:
        leaving.join()
    with pytest.raises(ClientDisconnected), computation.running(PATIENCE):
        compute_for_ever(started)
    leaving.join()


def test_abandoning_a_finished_computation_interrupts_nothing():
    computation = budget.Computation()
    with computation.running(PATIENCE):
        pass
    computation.abandon()
    for _ in range(10_000):
        pass
    with pytest.raises(DomainTooLarge), budget.Computation().running(0.01):
        compute_for_ever()
