"""Hostile requests cost time in proportion to their length, and do not delay single reports."""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf

import requests
from hostile import ATTACKS, SIZES, ask, cost, half_sent, reports, reports_beside
from wire import PATIENCE, REPORTS, answers, connect, get, rest

#: Factor by which the cost may exceed proportionality, and a cost that is negligible, in seconds.
SLACK, FLOOR = 3.0, 0.004

#: Maximum cost of a megabyte, in seconds: the first version took more than a hundred.
MOST = 6.0

#: Maximum number of measurements of costs that are not proportional.
TRIES = 5

#: Number of connections that stop sending.
HALF = 150


def test_the_cost_of_a_request_is_proportional_to_its_length(impatient, survey):
    attacks = {**ATTACKS, "reports": reports(survey.digest)}
    workers = impatient.workers()
    for name, make in attacks.items():
        ask(impatient.url, make(SIZES[0]))
        spent = [inf] * len(SIZES)
        # Other load on the machine can only increase the cost.
        for _ in range(TRIES):
            again = [cost(impatient.url, workers, make, size) for size in SIZES]
            spent = list(map(min, spent, again))
            if in_proportion(spent) and spent[-1] < MOST:
                break
        assert in_proportion(spent), (name, spent)
        assert spent[-1] < MOST, (name, spent)
    assert requests.get(f"{impatient.url}/healthz", timeout=PATIENCE).status_code == 200
    assert impatient.workers() == workers


def in_proportion(spent: list[float], sizes: Sequence[int] = SIZES) -> bool:
    return all(
        after <= SLACK * before * large / small + FLOOR
        for (small, before), (large, after) in pairwise(zip(sizes, spent, strict=True))
    )


def test_the_cost_of_a_head_is_proportional_to_its_length(impatient):
    """Longer heads are refused before they are parsed."""
    workers, sizes = impatient.workers(), (400, 7_500)
    fields: dict[str, Callable[[int], str]] = {
        "blanks before a value": lambda size: "X: " + " " * size + "x",
        "tabs before a value": lambda size: "X: " + "\t" * size + "x",
        "blanks and no value": lambda size: "X: " + " " * size,
        "blanks and a wrong value": lambda size: "X: " + " " * size + "\x01",
        "blanks in a value": lambda size: "X: x" + " " * size + "x\x01",
        "blanks after a value": lambda size: "X: x" + " " * size,
        "words of a value": lambda size: "X: " + "x " * (size // 2) + "\x01",
        "blanks before a name": lambda size: " " * size + "X: x",
        "blanks after a name": lambda size: "X" + " " * size + ": x",
        "a folded value": lambda size: "X: x\r\n" + " " * size + "x",
        "fields with blanks": lambda size: "\r\n".join(["X:" + " " * 90 + "x"] * (size // 95)),
    }
    for name, make in fields.items():
        spent = [inf, inf]
        for _ in range(TRIES):
            again = [cost(impatient.url, workers, _head(make), size) for size in sizes]
            spent = list(map(min, spent, again))
            if in_proportion(spent, sizes):
                break
        assert in_proportion(spent, sizes), (name, spent)


def _head(make: Callable[[int], str]) -> Callable[[int], bytes]:
    return lambda size: f"GET /healthz HTTP/1.1\r\nHost: here\r\n{make(size)}\r\n\r\n".encode()


def test_single_reports_are_answered_during_hostile_requests(impatient, body, newly_counted):
    sent = 0
    for name in ("one-byte chunks", "nested JSON", "blanks in a header"):
        request = ATTACKS[name](SIZES[-1])
        with reports_beside(impatient.url, body) as beside:
            end = time.monotonic() + 0.7
            while time.monotonic() < end or not beside.seconds:
                ask(impatient.url, request)
        assert beside.statuses == {202}, name
        sent += len(beside.seconds)
        assert newly_counted() == sent, name


def test_incomplete_requests_do_not_delay_others(impatient, body, newly_counted):
    before = impatient.processor_seconds()
    with (
        half_sent(impatient.url, HALF, heads=True) as heads,
        half_sent(impatient.url, HALF, heads=False) as bodies,
    ):
        for _ in range(20):
            sent = requests.post(impatient.url + REPORTS, data=body(), timeout=PATIENCE)
            assert sent.status_code == 202
            for path in ("/healthz", "/readyz", "/v1/surveys/health"):
                url = impatient.url + path
                assert requests.get(url, timeout=PATIENCE).status_code == 200
        # The server ends the connections, which have cost little.
        assert {rest(connection) for connection in (*heads, *bodies)} == {b""}
    assert impatient.processor_seconds() - before < 0.02 * 2 * HALF
    with connect(impatient.url) as connection:
        connection.sendall(get("/healthz"))
        assert answers(connection, 1) == [200]
    assert newly_counted() == 20
