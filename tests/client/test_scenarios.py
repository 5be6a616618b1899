"""What becomes of one person's report, whatever a collector answers: the table of both clients."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import requests
from halftruth_client import AnsweredBefore, Client, CollectorUnavailable, RequestRefused
from halftruth_shared import ParameterError, Survey

from .conftest import INVITATIONS, URL

TABLE = json.loads(Path(__file__).with_name("scenarios.json").read_text("utf-8"))
RECORD = dict.fromkeys("abcdefgh", 7)


@cache
def survey_of(id: str, title: str) -> Survey:
    return Survey.from_json(json.dumps(TABLE["survey"] | {"id": id, "title": title}))


class Collector:
    """Publishes surveys, counts each report once, and answers some as a scenario says."""

    def __init__(self, terms: dict) -> None:
        self.terms, self.title = terms, TABLE["survey"]["title"]
        self.is_there, self.answers, self.always = True, {}, False
        self.posted: list[tuple[str, dict]] = []
        self.counted: dict[str, str] = {}

    def survey(self, id: str) -> Survey:
        return survey_of(id, self.title)

    def __call__(self, request: requests.PreparedRequest) -> tuple[int, bytes]:
        id = request.path_url.split("/")[3]
        if request.method == "GET":
            if not self.is_there:
                return 404, b"{}"
            survey = self.survey(id)
            answer = {"survey": json.loads(survey.canonical_json), "digest": survey.digest}
            terms = {"invitations": False, "sealing_key": None} | self.terms
            answer |= {"status": "open", "terms": terms, "signature": None}
            return 200, json.dumps(answer).encode()
        [report] = json.loads(request.body)["reports"]
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
    """What became of the report of each survey."""
    try:
        delivery = client.flush()
    except CollectorUnavailable:
        return {id: "waiting" for id, *_ in client._outbox.count_waiting(URL)}
    said = {each.survey: "waiting" if each.is_waiting else "given up" for each in delivery.unsent}
    sent = ids - said.keys()
    status = "accepted" if delivery.accepted else "duplicate"
    assert delivery.accepted + delivery.duplicates == len(sent)
    return said | dict.fromkeys(sent, status)


@pytest.mark.parametrize("scenario", TABLE["scenarios"], ids=lambda each: each["name"])
def test_a_report_becomes_what_the_table_says(scenario, answering, tmp_path):
    collector, outbox = Collector(scenario.get("terms", {})), tmp_path / "outbox.db"
    session, _ = answering(collector)
    for step in scenario["steps"]:
        answers, id = step.get("answers", []), step.get("survey", "health")
        collector.answers = dict(answers) if isinstance(answers, dict) else {id: [*answers]}
        collector.always = step.get("always", False)
        for _ in range(step.get("times", 1)):
            client = Client(URL, max_gamma=10**9, outbox=outbox, session=session)
            if step["do"] == "publish":
                collector.is_there = True
                collector.title = step.get("title", TABLE["survey"]["title"])
                collector.terms = step.get("terms", collector.terms)
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
    # One draw of each survey, and one report counted.
    draws = Counter(id for id, _ in {(id, (r["id"], *r["values"])) for id, r in collector.posted})
    assert set(draws.values()) <= {1}
    assert max(Counter(collector.counted.values()).values(), default=0) <= 1
    if "invited" in scenario:
        codes = [None if i is None else INVITATIONS[i] for i in scenario["invited"]]
        assert [report["invitation"] for _, report in collector.posted] == codes
