"""The outcome of a report for each response of a collector or relay: scenarios of both clients."""

import base64
import json
from collections import Counter
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest
import requests
from halftruth_client import (
    AnsweredBefore,
    Client,
    CollectorUnavailable,
    RequestRefused,
    SurveyRefused,
)
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.sealing import SealingKeys, open_envelope, open_relayed

from .conftest import INVITATIONS, URL, sealing_key

TABLE = json.loads(Path(__file__).with_name("scenarios.json").read_text("utf-8"))
RECORD = dict.fromkeys("abcdefgh", 7)

#: Keys of the relay and of the collector behind it.
OUTER, INNER = sealing_key(7), sealing_key(8)
RELAY = {
    "url": "http://127.0.0.1:1",
    "key": OUTER.public_key().public_bytes_raw().hex(),
    "sealing_key": INNER.public_key().public_bytes_raw().hex(),
    "batch": 1_000,
}


@cache
def survey_of(document: str) -> Survey:
    return Survey.from_json(document)


class Collector:
    """Publishes surveys and answers reports as a scenario specifies, itself or as their relay.

    Each report is counted once.
    """

    def __init__(self, terms: dict, relay: dict | None) -> None:
        self.terms, self.title, self.relay = terms, TABLE["survey"]["title"], relay
        self.is_there, self.is_away, self.answers, self.always = True, False, {}, False
        self.posted: list[tuple[str, dict]] = []
        self.counted: dict[str, str] = {}

    def survey(self, id: str) -> Survey:
        relay = {} if self.relay is None else {"relay": self.relay}
        return survey_of(json.dumps(TABLE["survey"] | {"id": id, "title": self.title} | relay))

    def read(self, url: str, id: str, batch: dict) -> dict:
        """Return the single report of a batch, checked for its URL and decrypted for a relay."""
        [report] = batch["reports"]
        assert url.startswith(URL if self.relay is None else RELAY["url"])
        if self.relay is None:
            return report
        # Of constant length, under a separate id, and sealed to the collector inside.
        assert report.keys() == {"id", "sealed"}
        digest, sealed = batch["digest"], base64.b64decode(report["sealed"])
        relay_id, size = UUID(report["id"]), self.survey(id).report_space.packed_size
        inner = open_envelope(SealingKeys((OUTER,)), digest, relay_id, sealed, size)
        report_id, packed = open_relayed(SealingKeys((INNER,)), digest, inner, size)
        assert report_id != relay_id
        return {"id": report["id"], "values": [report_id.int, *packed]}

    def __call__(self, request: requests.PreparedRequest) -> tuple[int, bytes]:
        id = request.path_url.split("/")[3]
        if request.method == "GET":
            assert request.url.startswith(URL)
            if self.is_away:
                raise requests.ConnectionError
            if not self.is_there:
                return 404, b"{}"
            survey = self.survey(id)
            answer = {"survey": json.loads(survey.canonical_json), "digest": survey.digest}
            terms = {"invitations": False, "sealing_key": None} | self.terms
            answer |= {"status": "open", "terms": terms, "signature": None}
            return 200, json.dumps(answer).encode()
        assert "Authorization" not in request.headers or self.relay is None
        report = self.read(request.url, id, json.loads(request.body))
        self.posted.append((id, report))
        left = self.answers.get(id, [])
        answer = left[0] if self.always else left.pop(0) if left else "counts"
        if answer == "away":
            raise requests.ConnectionError
        if isinstance(answer, int):
            answer = {"status": answer}
        if isinstance(answer, dict):
            problem = {"type": "about:blank", "title": "", "detail": "no", **answer}
            return answer["status"], answer.get("body", json.dumps(problem)).encode()
        known = report["id"] in self.counted
        self.counted[report["id"]] = id
        if answer == "lost":
            raise requests.ConnectionError
        return 202, json.dumps({"accepted": 1 - known, "duplicates": int(known)}).encode()


def submitted(client: Client, survey: Survey, **invitation) -> str:
    try:
        return client.submit(survey, RECORD, respondent="ada", **invitation).status
    except AnsweredBefore:
        return "answered before"
    except ParameterError as error:
        return f"{error.field} expected"
    except RequestRefused:
        waits = client._outbox.count_waiting(URL)
        return "refused, waiting" if survey.id in [id for id, *_ in waits] else "refused"


def flushed(client: Client, ids: set[str]) -> dict[str, str]:
    """Flush the client, and return the status of each survey's report."""
    try:
        delivery = client.flush()
    except CollectorUnavailable:
        return {id: "waiting" for id, *_ in client._outbox.count_waiting(URL)}
    said = {each.survey: "waiting" if each.is_waiting else "given up" for each in delivery.unsent}
    sent = ids - said.keys()
    status = "accepted" if delivery.accepted else "duplicate"
    assert delivery.accepted + delivery.duplicates == len(sent)
    return said | dict.fromkeys(sent, status)


def scenarios():
    """Yield each scenario with and without a relay, where relays apply."""
    for scenario in TABLE["scenarios"]:
        if "relay" not in scenario:
            yield pytest.param(scenario, None, id=scenario["name"])
        has_terms = any("terms" in each for each in (scenario, *scenario["steps"]))
        if "relay" in scenario or not has_terms:
            yield pytest.param(scenario, RELAY, id=f"{scenario['name']}, relay")


@pytest.mark.parametrize(("scenario", "relay"), list(scenarios()))
def test_reports_follow_the_scenario(scenario, relay, answering, tmp_path):
    collector, outbox = Collector(scenario.get("terms", {}), relay), tmp_path / "outbox.db"
    session, _ = answering(collector)
    for step in scenario["steps"]:
        answers, id = step.get("answers", []), step.get("survey", "health")
        by_id = answers if isinstance(answers, dict) else {id: answers}
        # Copy the answers, since the step is run again with a relay.
        collector.answers = {id: [*left] for id, left in by_id.items()}
        collector.always = step.get("always", False)
        collector.is_away = step.get("collector") == "away"
        for _ in range(step.get("times", 1)):
            client = Client(URL, max_gamma=10**9, outbox=outbox, session=session, token="t0ken")
            if step["do"] == "publish":
                collector.is_there = True
                collector.title = step.get("title", TABLE["survey"]["title"])
                collector.terms = step.get("terms", collector.terms)
                if "relay" in step:
                    collector.relay = RELAY | step["relay"]
            elif step["do"] == "delete":
                collector.is_there = False
            elif step["do"] == "flush":
                waiting = {id for id, *_ in client._outbox.count_waiting(URL)}
                assert flushed(client, waiting) == step["is"], step
            else:
                given = step.get("invitation")
                code = INVITATIONS[given] if isinstance(given, int) else given
                result = submitted(client, collector.survey(id), invitation=code)
                assert result == step["is"], step
    assert len(collector.posted) == scenario["posts"]
    # One draw per survey, and one counted report.
    draws = Counter(id for id, _ in {(id, (r["id"], *r["values"])) for id, r in collector.posted})
    assert set(draws.values()) <= {1}
    assert max(Counter(collector.counted.values()).values(), default=0) <= 1
    if "invited" in scenario:
        codes = [None if i is None else INVITATIONS[i] for i in scenario["invited"]]
        assert [report["invitation"] for _, report in collector.posted] == codes


@pytest.mark.parametrize("case", TABLE["relays"], ids=lambda case: case["name"])
def test_a_relay_is_asked_once_before_the_first_question(case, answering, tmp_path):
    """What it answers, or somebody in its place; only its own refusal refuses the survey."""
    collector = Collector({}, RELAY)
    digest = collector.survey("health").digest

    def answer(request):
        if request.url.startswith(URL):
            return collector(request)
        assert (request.method, "Authorization" in request.headers) == ("GET", False)
        if case["status"] == 0:
            raise requests.ConnectionError
        body = json.dumps(case["body"]).replace("DIGEST", digest)
        return case["status"], body.encode()

    session, adapter = answering(answer)
    settings = {"max_gamma": 10**9, "session": session, "token": "t0ken"}
    client = Client(URL, outbox=tmp_path / "outbox.db", **settings)
    for respondent in (None, "ada"):
        if case["is"] == "asked":
            assert client.survey("health", respondent=respondent).digest == digest
        else:
            with pytest.raises(SurveyRefused) as refused:
                client.survey("health", respondent=respondent)
            assert refused.value.field == "relay"
            assert RELAY["url"] in str(refused.value)
    path = f"{RELAY['url']}/v1/surveys/health"
    assert [request.url for request in adapter.asked if not request.url.startswith(URL)] == [
        path
    ] * 2


def test_a_relay_is_not_asked_if_questions_depend_on_answers(answering):
    """To the relay, the time until the report would reveal which questions were asked."""
    yes_no = {"categories": ["no", "yes"]}
    document = {
        "id": "health",
        "title": "Health",
        "attributes": [
            {"name": "smoker", **yes_no},
            {"name": "quit", **yes_no, "ask_if": {"smoker": ["yes"]}},
        ],
        "mechanism": {"kind": "gamma-diagonal", "gamma": "19"},
        "relay": RELAY,
    }
    survey = survey_of(json.dumps(document))

    def answer(request):
        assert request.url.startswith(URL)
        found = {"survey": json.loads(survey.canonical_json), "digest": survey.digest}
        return 200, json.dumps(found).encode()

    session, _ = answering(answer)
    assert Client(URL, max_gamma=10**9, session=session).survey("health") == survey


def test_a_relay_is_not_asked_about_a_respondent_whose_report_is_stored(answering, tmp_path):
    """It is sent again whatever the relay says."""
    collector, asked = Collector({}, RELAY), []

    def answer(request):
        if request.method == "GET" and request.url.startswith(RELAY["url"]):
            asked.append(request.url)
            return 404, json.dumps({"detail": "no", "field": "survey"}).encode()
        return collector(request)

    session, _ = answering(answer)
    client = Client(URL, max_gamma=10**9, outbox=tmp_path / "outbox.db", session=session)
    assert submitted(client, collector.survey("health")) == "accepted"
    survey = client.survey("health", respondent="ada")
    assert submitted(client, survey) == "duplicate"
    assert asked == []


def test_a_batch_for_a_relay_is_one_request_and_waits_for_it(answering, tmp_path):
    survey = survey_of(json.dumps(TABLE["survey"] | {"id": "health", "relay": RELAY}))
    collector, batches, is_away = Collector({}, RELAY), [], True

    def answer(request):
        if request.method == "GET":
            return collector(request)
        if is_away:
            raise requests.ConnectionError
        batches.append((request.url, json.loads(request.body)["reports"]))
        return 202, json.dumps({"accepted": len(batches[-1][1]), "duplicates": 0}).encode()

    session, adapter = answering(answer)
    client = Client(URL, max_gamma=10**9, outbox=tmp_path / "outbox.db", session=session, retries=0)
    # The survey of the scenarios has the title that the collector publishes.
    delivery = client.submit_many(survey, [RECORD] * 5)
    assert not delivery.is_complete
    [unsent] = delivery.unsent
    said = "relay http://127.0.0.1:1 cannot be reached (ConnectionError)"
    assert (unsent.reports, unsent.reason) == (5, said)
    with pytest.raises(CollectorUnavailable) as error:
        client.flush()
    assert error.value.is_relay
    is_away = False
    delivery = client.flush()
    assert str(delivery) == "all 5 reports are with the relay"
    [(url, reports)] = batches
    assert url == f"{RELAY['url']}/v1/surveys/health/reports"
    assert len({report["id"] for report in reports}) == 5
    assert {len(report["sealed"]) for report in reports} == {len(reports[0]["sealed"])}
    # A relay does not justify a larger amplification.
    with pytest.raises(SurveyRefused) as refused:
        Client(URL, max_gamma=19, session=session).survey("health")
    assert refused.value.field == "max_gamma"
    # No request to the collector contains a report id.
    asked = [request.url for request in adapter.asked if request.url.startswith(URL)]
    assert set(asked) == {f"{URL}/v1/surveys/health"}
