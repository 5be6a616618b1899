"""Surveys are parsed once, however many there are, as long as they fit into the cache."""

import tracemalloc
from dataclasses import replace

import pytest
from halftruth_collector import operations
from halftruth_collector.store.parsed import ParsedSurveys, size_in_memory
from halftruth_collector.store.parsed import parsed_surveys as shared
from halftruth_relay.store import RegisteredSurvey
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from relays import with_relay

#: More than the 64 that the cache once held.
MANY = 70


@pytest.fixture
def parsed(monkeypatch):
    """Record the ids of the surveys that are parsed."""
    ids: list[str] = []
    parse = Survey.from_json

    def record(document):
        made = parse(document)
        ids.append(made.id)
        return made

    monkeypatch.setattr(Survey, "from_json", record)
    shared.clear()
    yield ids
    shared.clear()


def test_reports_to_seventy_surveys_in_turn_parse_each_survey_once(app, store, survey, parsed):
    http, ids = app.test_client(), [f"health-{n}" for n in range(MANY)]
    digests = {}
    for id in ids:
        renamed = replace(survey, id=id)
        operations.publish_survey(store, renamed)
        digests[id] = renamed.digest
    parsed.clear()
    for turn in range(3):
        for number, id in enumerate(ids):
            report = {"id": f"{turn:04x}{number:028x}", "values": [0, 0]}
            body = {"digest": digests[id], "reports": [report]}
            assert http.post(f"/v1/surveys/{id}/reports", json=body).status_code == 202
    assert sorted(parsed) == sorted(ids)


def test_a_relay_reads_seventy_surveys_in_turn_and_parses_each_once(survey, tmp_path, parsed):
    """Collector and relay share the cache."""
    other = with_relay(survey, tmp_path)
    surveys = [replace(other, id=f"health-{n}") for n in range(MANY)]
    registered = [
        RegisteredSurvey(
            number=number,
            id=each.id,
            digest=each.digest,
            document=each.canonical_json.decode(),
            collector="http://127.0.0.1:8000",
            token="",
            closes_at=None,
            status="open",
            closed_at=None,
            passed=0,
            unopened=0,
            batch_passed=0,
            batch_unopened=0,
            issued=0,
            is_stopped=False,
        )
        for number, each in enumerate(surveys)
    ]
    for _ in range(3):
        assert [stored.relay for stored in registered] == [other.relay] * MANY
    assert sorted(parsed) == sorted(each.id for each in surveys)


def made(questions: int, id: str = "some") -> Survey:
    schema = Schema(tuple(Attribute(f"q{j}", ("a", "b", "c")) for j in range(questions)))
    mechanism = SplitQuestionnaire.for_amplification(schema, "19", max_length=2)
    return Survey(id, "Some", schema, mechanism)


def test_the_cache_keeps_the_surveys_used_last_up_to_its_size(parsed):
    surveys = {id: made(6, id) for id in "abcd"}
    for survey in surveys.values():
        _ = survey.canonical_json

    def get(cache, id):
        survey = surveys[id]
        assert cache.get(survey.digest, survey.canonical_json.decode()) == survey

    every = ParsedSurveys()
    for id in "abcd":
        get(every, id)
    size = every._size / 4
    cache = ParsedSurveys(int(3.5 * size))
    parsed.clear()
    for id in "abcabdabd":
        get(cache, id)
    # The third is dropped for the fourth, since the others were used after it.
    assert "".join(parsed) == "abcd"
    get(cache, "c")
    assert "".join(parsed) == "abcdc"
    assert cache._size <= 3.5 * size


def test_a_survey_above_the_whole_size_is_kept_until_the_next_one(parsed):
    cache, document = ParsedSurveys(1), made(3).canonical_json.decode()
    for digest in ("one", "one", "two", "two", "one"):
        cache.get(digest, document)
        cache.get(digest, document)
    assert len(parsed) == 3


@pytest.mark.parametrize("questions", [4, 40])
def test_the_size_is_close_to_the_memory_that_a_survey_takes(questions):
    """A document of 2 kB can describe hundreds of views, so its length says little."""
    document = made(questions).canonical_json
    # The views of the last two surveys are known.
    for other in (5, 6):
        made(other)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        survey = Survey.from_json(document)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(survey.perturbation.views) == questions * (questions - 1) // 2
    assert 0.4 < size_in_memory(survey) / taken < 1.5
