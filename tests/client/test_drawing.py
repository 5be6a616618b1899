"""A record is drawn once: a collector that never acknowledges sees one draw per person."""

import json
import threading
import unicodedata
from contextlib import suppress

import pytest
from halftruth_client import AnsweredBefore, Client, ClientError
from halftruth_client import client as client_module
from halftruth_client.drawing import Unsettled
from halftruth_shared import (
    Attribute,
    HalftruthError,
    ParameterError,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.attribute import MultipleResponse
from halftruth_shared.number import NumberRange
from halftruth_shared.protocol.terms import Terms

from .conftest import INVITATIONS, NOWHERE, URL, Stub, posted

WIDTH = 30
SCHEMA = Schema(tuple(Attribute(f"a{j}", tuple("abcdef")) for j in range(WIDTH)))
RECORD = dict.fromkeys(SCHEMA.names, "c")
OTHER = dict.fromkeys(SCHEMA.names, "d")
TRIES = 8


@pytest.fixture
def survey() -> Survey:
    """Return a survey in which two draws of one record coincide with a probability of 6^−30."""
    return Survey("wide", "Wide", SCHEMA, RandomizedResponse(dict.fromkeys(SCHEMA.names, "1/5")))


@pytest.fixture
def hostile(stub, answering):
    """Create a session with a collector that publishes correctly, with given answers to reports."""

    def make(answer):
        def respond(request):
            return stub(request) if request.method == "GET" else answer(request)

        session, adapter = answering(respond)
        session.asked = adapter.asked
        return session

    return make


def client_of(session, url=URL, **options) -> Client:
    return Client(url, max_gamma=10**40, session=session, **options)


def seen(session) -> set[tuple]:
    """Return the distinct reports that the collector received, with their ids."""
    return {
        (report["id"], tuple(report["values"]))
        for batch in posted(session)
        for report in batch["reports"]
    }


REFUSALS = {
    "503": (503, b"{}"),
    "409": (409, b"{}"),
    "500 with a page": (500, b"<html>"),
    "a receipt that cannot be read": (202, b"[]"),
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("kept", [False, True])
def test_a_collector_that_never_acknowledges_sees_one_draw(hostile, survey, answer, kept, tmp_path):
    session = hostile(lambda _: answer)
    client = client_of(session, outbox=tmp_path / "outbox.db" if kept else None)
    for _ in range(TRIES):
        # Equal answers in another object; a waiting report must not be submitted again.
        with suppress(ClientError):
            if client.submit(survey, dict(RECORD)).status == "waiting":
                break
    for _ in range(3):
        with suppress(ClientError):
            client.flush()
    assert len(seen(session)) == 1


def test_an_interrupted_call_is_continued_with_the_same_report(hostile, survey):
    def pull_the_plug(_):
        raise KeyboardInterrupt

    session = hostile(pull_the_plug)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            client_of(session).submit(survey, RECORD)
    assert len(posted(session)) == 3
    assert len(seen(session)) == 1


def test_clients_of_a_process_share_draws_for_all_spellings_of_an_address(hostile, survey):
    session = hostile(lambda _: (503, b"{}"))
    session.mount("HTTP://", session.get_adapter("http://"))
    for url in (URL, URL + "/", "http://COLLECTOR.test", "HTTP://collector.test//"):
        with pytest.raises(ClientError):
            client_of(session, url).submit(survey, RECORD)
    assert len(posted(session)) == 4
    assert len(seen(session)) == 1


def test_two_people_with_equal_answers_have_separate_draws(stub, hostile, survey):
    answers = iter([(503, b"{}")] * 4)
    session = hostile(lambda request: next(answers, None) or stub(request))
    client = client_of(session)
    for _ in range(4):
        with pytest.raises(ClientError):
            client.submit(survey, RECORD)
    both = [client.submit(survey, RECORD) for _ in range(2)]
    assert [one.status for one in both] == ["accepted", "accepted"]
    assert len(stub.counted) == 2
    assert len(set(map(tuple, stub.counted.values()))) == 2
    # The first of them was counted with the report that the collector had seen before.
    assert len(seen(session)) == 2


def test_concurrent_people_with_equal_answers_have_separate_draws(hostile, survey):
    people = 6
    together = threading.Barrier(people)

    def answer(_):
        together.wait(10)
        return 503, b"{}"

    session = hostile(answer)
    client = client_of(session)
    client.survey("wide")

    def try_twice():
        for _ in range(2):
            with pytest.raises(ClientError):
                client.submit(survey, RECORD)

    threads = [threading.Thread(target=try_twice) for _ in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(posted(session)) == 2 * people
    assert len(seen(session)) == people


def retitled(survey: Survey, i: int) -> Survey:
    return Survey(survey.id, f"Wide {i}", survey.schema, survey.mechanism)


def with_another_question(survey: Survey, i: int) -> Survey:
    """Return the survey with an additional optional question, in another order."""
    extra = Attribute(f"more{i}", ("x", "y"), missing=("no answer",), optional=True)
    schema = Schema((extra, *reversed(survey.schema.attributes)))
    kept = dict.fromkeys(schema.names, "2/5" if i % 2 else "1/2")
    return Survey(survey.id, survey.title, schema, RandomizedResponse(kept))


@pytest.mark.parametrize("change", [retitled, with_another_question])
@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
def test_a_collector_that_changes_the_survey_each_time_gets_one_draw(
    hostile, stub, survey, answer, change
):
    session = hostile(lambda _: answer)
    refused = set()
    for i in range(6):
        stub.survey = change(survey, i)
        client = client_of(session)
        with pytest.raises(ClientError) as caught:
            client.submit(client.survey("wide"), dict(RECORD))
        if i > 0:
            refused.add(type(caught.value))
            assert "another version" in str(caught.value)
            assert "'c'" not in str(caught.value)
    assert refused == {AnsweredBefore}
    assert len(seen(session)) == 1
    # The original version is answered with its draw; afterwards another draw is possible.
    stub.survey = change(survey, 0)
    with pytest.raises(ClientError):
        client_of(session).submit(stub.survey, RECORD)
    assert len(seen(session)) == 1
    session = hostile(stub)
    for i in range(2):
        stub.survey = change(survey, i)
        if change is retitled:
            assert client_of(session).submit(stub.survey, RECORD).status == "accepted"


def test_equivalent_numbers_and_lists_are_the_same_answers(hostile, stub):
    pets = MultipleResponse("pets")
    options = [
        Attribute(f"pets.{pet}", ("no", "yes"), ("yes",), question=pets) for pet in ("cat", "dog")
    ]
    schema = Schema((Attribute("age", number=NumberRange(0, 100, 1)), *options))
    asked = Survey("pets", "Pets", schema, RandomizedResponse(dict.fromkeys(schema.names, "9/10")))
    stub.survey = asked
    session = hostile(lambda _: (409, b"{}"))
    for age, chosen in ((31, ["dog", "cat"]), (31.0, ("cat", "dog")), ("31", {"cat", "dog"})):
        with pytest.raises(ClientError):
            client_of(session).submit(asked, {"age": age, "pets": chosen})
    assert len(seen(session)) == 1


def test_a_batch_with_an_answered_record_leaves_all_draws_unchanged(hostile, stub, survey):
    session = hostile(lambda _: (503, b"{}"))
    client = client_of(session)
    for record in (RECORD, OTHER):
        stub.survey = survey if record is RECORD else retitled(survey, 1)
        with pytest.raises(ClientError):
            client.submit(stub.survey, record)
    stub.survey = survey
    with pytest.raises(AnsweredBefore, match="record 1: survey 'wide': a report of these answers"):
        client.submit_many(survey, [RECORD, OTHER])
    with pytest.raises(ClientError):
        client.submit(survey, RECORD)
    assert len(seen(session)) == 2


@pytest.mark.parametrize("answer", [(503, b"{}"), (409, b"{}")], ids=["503", "409"])
def test_respondents_have_one_draw_for_all_unicode_forms_of_their_name(
    hostile, survey, answer, tmp_path
):
    session = hostile(lambda _: answer)
    outbox = tmp_path / "outbox.db"
    people = ("Zoë Ångström", "bob")
    for form, url in (("NFC", URL), ("NFD", URL + "/"), ("NFC", "http://COLLECTOR.test:80")):
        for respondent in (unicodedata.normalize(form, name) for name in people):
            with suppress(ClientError):
                client = client_of(session, url, outbox=outbox)
                client.submit(survey, RECORD, respondent=respondent)
    assert len(seen(session)) == 2


@pytest.mark.parametrize("respondent", ["", 7, b"ada"])
def test_a_respondent_that_is_not_text_is_refused(hostile, survey, respondent):
    session = hostile(lambda _: (503, b"{}"))
    with pytest.raises(ParameterError, match="respondent: expected text"):
        client_of(session).submit(survey, RECORD, respondent=respondent)
    assert session.asked == []


@pytest.mark.parametrize("answer", [(503, b"{}"), (409, b"{}")], ids=["503", "409"])
def test_a_resubmitted_batch_is_drawn_once(hostile, survey, answer):
    session = hostile(lambda _: answer)
    records = [RECORD] * 50 + [OTHER] * 50
    for _ in range(10):
        with pytest.raises(ClientError):
            client_of(session).submit_many(survey, records)
    assert len(seen(session)) == 100


def test_a_partly_sent_batch_counts_once(stub, hostile, survey, monkeypatch):
    monkeypatch.setattr(client_module, "BATCH", 4)
    answers = iter([None, (503, b"{}"), (503, b"{}")])
    session = hostile(lambda request: next(answers, None) or stub(request))
    client, records = client_of(session), [RECORD] * 10
    for accepted in (4, 0):
        with pytest.raises(ClientError) as caught:
            client.submit_many(survey, records)
        assert caught.value.accepted == accepted
    delivery = client.submit_many(survey, records)
    assert (delivery.accepted, delivery.duplicates) == (6, 4)
    assert len(stub.counted) == 10
    assert len(seen(session)) == 10
    # The next person has a separate report.
    assert client.submit(survey, RECORD).status == "accepted"


@pytest.mark.parametrize("kept", [False, True])
def test_a_retry_with_another_invitation_sends_the_same_report(stub, session, kept, tmp_path):
    stub.terms = Terms(invitations=True)
    one = client_of(session, outbox=tmp_path / "outbox.db" if kept else None)
    for _ in range(3):
        with pytest.raises(ClientError):
            one.submit(stub.survey, RECORD, invitation="ab" * 16)
    assert one.submit(stub.survey, RECORD, invitation=INVITATIONS[0]).status == "accepted"
    [(id, values)] = stub.counted.items()
    assert seen(session) == {(str(id), tuple(values))}


def bare(records: int) -> Survey:
    """Return a survey whose reports are the records, which makes their order visible."""
    schema = Schema((Attribute("number", tuple(map(str, range(records))), sensitive=False),))
    return Survey("bare", "Bare", schema, RandomizedResponse({"number": "1"}))


@pytest.mark.parametrize("kept", [False, True])
def test_reports_are_sent_in_random_order(answering, kept, tmp_path):
    stub = Stub(bare(1_000), terms=Terms(invitations=True))
    session, adapter = answering(stub)
    outbox = tmp_path / "outbox.db" if kept else None
    how = {"unprotected": ["number"], "digests": [stub.survey.digest]}
    client = Client(URL, max_gamma="2", session=session, outbox=outbox, **how)
    records = [{"number": str(i)} for i in range(1_000)]
    client.submit_many(stub.survey, records, invitations=INVITATIONS[:1_000])
    [batch] = [json.loads(asked.body) for asked in adapter.asked if asked.method == "POST"]
    order = [report["values"][0] for report in batch["reports"]]
    assert sorted(order) == list(range(1_000))
    assert order != sorted(order)
    # In a random order, one record on average keeps its position.
    assert sum(place == number for place, number in enumerate(order)) < 20
    # Each report has the invitation of its record.
    assert [report["invitation"] for report in batch["reports"]] == [INVITATIONS[i] for i in order]


def test_failed_calls_leave_no_record_in_memory_and_marks_are_keyed(survey):
    records = [RECORD, OTHER, RECORD]
    client = Client(NOWHERE, max_gamma="1000000", retries=0)
    with pytest.raises(HalftruthError):
        client.submit_many(survey, records)
    left = client_module._unsettled()
    assert sum(map(len, left._reports.values())) == 3
    codes = [SCHEMA.encode(record) for record in records]
    for shown in (repr(vars(left)), repr(left._marks)):
        assert all(repr(list(code))[1:-1] not in shown for code in codes)
    marks = [left.mark(survey.id, record) for record in records]
    assert marks[0] == marks[2] != marks[1]
    assert set(marks) == set(left._reports)
    assert not {Unsettled().mark(survey.id, record) for record in records} & set(marks)
    assert not {left.mark("another", record) for record in records} & set(marks)
