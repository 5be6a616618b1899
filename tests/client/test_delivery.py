"""Reports follow the terms of their survey: sealing, invitations, and changes of terms."""

import base64
import logging
from itertools import product

import pytest
from halftruth_client import (
    CollectorUnavailable,
    Delivery,
    HalftruthError,
    RequestRefused,
)
from halftruth_client import client as client_module
from halftruth_shared import ParameterError, Perturbation
from halftruth_shared.protocol.terms import Terms

from .conftest import INVITATIONS, OPERATOR, STRANGER, URL, methods, posted, sealing_key, waiting


def test_reports_to_a_sealed_survey_contain_no_readable_value(stub, client, session, record):
    stub.seal_to(sealing_key(3), invitations=True)
    one = client()
    done = one.submit(one.survey("health"), record, invitation=INVITATIONS[0])
    assert done.status == "accepted"
    [batch] = posted(session)
    [report] = batch["reports"]
    assert set(batch) == {"digest", "reports"}
    assert set(report) == {"id", "sealed"}
    assert len(base64.b64decode(report["sealed"])) == 32 + 2 + 16 + 16
    for request in session.asked:
        said = f"{request.url} {request.headers} {request.body!r}"
        assert INVITATIONS[0] not in said
        assert bytes.fromhex(INVITATIONS[0]) not in base64.b64decode(report["sealed"])
    many = one.submit_many(stub.survey, [record] * 20, invitations=INVITATIONS[1:21])
    assert many.accepted == 20
    assert stub.unspent == set(INVITATIONS[21:])
    assert {tuple(drawn) for drawn in stub.counted.values()} <= {*product(range(2), range(3))}


def test_unknown_terms_are_fetched_before_sending(stub, client, session, record):
    stub.seal_to(sealing_key(3))
    for submit in (
        lambda: client().submit(stub.survey, record),
        lambda: client().submit_many(stub.survey, [record]),
    ):
        session.asked.clear()
        submit()
        assert methods(session) == ["GET", "POST"]
        assert "values" not in posted(session)[0]["reports"][0]


def test_waiting_reports_are_sealed_by_the_next_process(stub, client, session, record, tmp_path):
    stub.away = True
    away = client(outbox=tmp_path / "outbox.db")
    assert away.submit(stub.survey, record).status == "waiting"
    assert away.submit_many(stub.survey, [record] * 5).waiting == 5
    stub.away = False
    stub.seal_to(sealing_key(3))
    session.asked.clear()
    assert client(outbox=tmp_path / "outbox.db").flush().accepted == 6
    assert methods(session) == ["GET", "POST"]
    assert all(set(report) == {"id", "sealed"} for report in posted(session)[0]["reports"])


def test_waiting_reports_are_not_sent_on_unsigned_terms(stub, client, session, record, tmp_path):
    stub.away = True
    outbox = tmp_path / "outbox.db"
    pinning = client(operator_keys=[OPERATOR.public], outbox=outbox)
    pinning.submit(stub.survey, record)
    stub.away, stub.signer = False, STRANGER
    for _ in range(2):
        [unsent] = pinning.flush().unsent
        assert unsent.is_waiting
        assert "not pinned" in unsent.reason
    assert posted(session) == []
    assert len(waiting(outbox)) == 1
    stub.signer = OPERATOR
    assert pinning.flush().accepted == 1


def test_a_new_sealing_key_is_fetched_when_the_old_one_is_retired(stub, client, session, record):
    stub.signer = OPERATOR
    stub.seal_to(sealing_key(3))
    one = client(operator_keys=[OPERATOR.public])
    survey = one.survey("health")
    # While both keys are valid, the old one is used.
    stub.seal_to(sealing_key(4), sealing_key(3))
    assert one.submit(survey, record).status == "accepted"
    assert methods(session) == ["GET", "POST"]
    stub.seal_to(sealing_key(4))
    assert one.submit(survey, record).status == "accepted"
    assert methods(session) == ["GET", "POST", "POST", "GET", "POST"]
    assert one.submit_many(survey, [record] * 3).accepted == 3
    assert methods(session)[5:] == ["POST"]
    assert len(stub.counted) == 5


@pytest.mark.parametrize("changed", [False, True])
def test_refused_reports_are_retried_once_if_the_terms_changed(
    stub, client, session, record, tmp_path, changed
):
    stub.seal_to(sealing_key(3))
    one = client(outbox=tmp_path / "outbox.db")
    survey = one.survey("health")
    if changed:
        stub.seal_to(sealing_key(4))
    stub.private = (sealing_key(5),)
    with pytest.raises(RequestRefused, match="sealed") as caught:
        one.submit(survey, record)
    assert (caught.value.status, caught.value.field) == (422, "sealed")
    assert methods(session) == ["GET", "POST", "GET", *(["POST"] if changed else [])]
    assert waiting(tmp_path / "outbox.db") == []


@pytest.mark.parametrize(
    "bad", ["", "ab" * 15, "ab" * 17, "AB" * 16, "xy" * 16, " " + "ab" * 16, b"ab" * 16, 7]
)
def test_an_invalid_invitation_is_refused_before_any_request(stub, client, session, record, bad):
    stub.terms = Terms(invitations=True)
    given = [INVITATIONS[0], bad]
    for name, submit in {
        "invitation": lambda: client().submit(stub.survey, record, invitation=bad),
        "invitation 1": lambda: client().submit_many(stub.survey, [record] * 2, invitations=given),
    }.items():
        with pytest.raises(ParameterError, match=f"^{name}: expected 32 lower-case") as caught:
            submit()
        assert caught.value.field == "invitation"
        assert str(bad) == "7" or not bad or str(bad) not in str(caught.value)
    assert session.asked == []


@pytest.mark.parametrize("sealed", [False, True])
def test_a_missing_invitation_is_refused_before_sending(
    stub, client, session, record, sealed, tmp_path
):
    stub.terms = Terms(invitations=True)
    if sealed:
        stub.seal_to(sealing_key(3), invitations=True)
    outbox = tmp_path / "outbox.db"
    one = client(outbox=outbox)
    for submit in (
        lambda: one.submit(stub.survey, record),
        lambda: one.submit(stub.survey, record, respondent="ada"),
        lambda: one.submit_many(stub.survey, [record]),
    ):
        with pytest.raises(ParameterError, match="'health' asks for an invitation") as caught:
            submit()
        assert caught.value.field == "invitation"
    assert posted(session) == []
    assert waiting(outbox) == []


def test_an_unnecessary_invitation_is_refused_and_not_sent(stub, client, session, record):
    for submit in (
        lambda: client().submit(stub.survey, record, invitation=INVITATIONS[0]),
        lambda: client().submit_many(stub.survey, [record], invitations=INVITATIONS[:1]),
    ):
        with pytest.raises(ParameterError, match="asks for no invitation") as caught:
            submit()
        assert INVITATIONS[0] not in str(caught.value)
    assert posted(session) == []


def test_changed_terms_are_fetched_before_an_invitation_is_refused(stub, client, record):
    one = client()
    survey = one.survey("health")
    stub.terms = Terms(invitations=True)
    assert one.submit(survey, record, invitation=INVITATIONS[0]).status == "accepted"


@pytest.mark.parametrize("given", [0, 2, 4])
def test_the_number_of_invitations_must_match_the_records(
    stub, client, session, record, given, monkeypatch
):
    stub.terms = Terms(invitations=True)
    monkeypatch.setattr(Perturbation, "reports", lambda *_: pytest.fail("drawn"))
    with pytest.raises(ParameterError, match="one for each of the 3 records") as caught:
        client().submit_many(stub.survey, iter([record] * 3), invitations=iter(INVITATIONS[:given]))
    assert caught.value.field == "invitations"
    assert session.asked == []


def test_a_refused_report_does_not_affect_the_others(stub, client, record, tmp_path, monkeypatch):
    # The batch size is the collector's limit; here ten reports take three requests.
    assert client_module.BATCH == 1_000
    monkeypatch.setattr(client_module, "BATCH", 4)
    stub.terms = Terms(invitations=True)
    one = client(outbox=tmp_path / "outbox.db")
    given = INVITATIONS[:10]
    given[5] = "ab" * 16
    with pytest.raises(RequestRefused, match=r"^record 5: ") as caught:
        one.submit_many(stub.survey, [record] * 10, invitations=given)
    assert caught.value.report == 5
    # The refused report may be in any of the three batches; the rest of it and later ones wait.
    assert caught.value.accepted in (0, 4, 8)
    assert one.flush().accepted == 9 - caught.value.accepted
    assert len(stub.counted) == 9


def test_only_the_waiting_report_without_an_invitation_is_given_up(
    stub, client, session, record, tmp_path
):
    outbox = tmp_path / "outbox.db"
    stub.away = True
    one = client(outbox=outbox)
    one.submit(stub.survey, record, invitation=INVITATIONS[0])
    one.submit(stub.survey, record)
    one.submit(stub.survey, record, invitation=INVITATIONS[2])
    stub.away = False
    stub.seal_to(sealing_key(3), invitations=True)
    delivery = one.flush()
    [unsent] = delivery.unsent
    assert (unsent.reports, unsent.is_waiting) == (1, False)
    assert unsent.reason == "survey 'health' asks for invitations; expected one"
    assert delivery.accepted == 2
    assert one.flush() == Delivery()


def test_no_log_error_or_repr_contains_an_invitation(stub, client, record, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "5ec2e7" + "0" * 26
    stub.terms = Terms(invitations=True)
    one = client(outbox=tmp_path / "outbox.db")
    stub.away = True
    one.submit(stub.survey, record, invitation=secret)
    [stored] = one._outbox.waiting(URL, "health", stub.survey.digest, 10)
    assert secret not in repr(stored)
    assert "values" not in repr(stored)
    with pytest.raises(CollectorUnavailable) as away:
        one.flush()
    stub.away = False
    # The waiting report is refused while another one is sent.
    one.submit(stub.survey, record, invitation=INVITATIONS[0])
    with pytest.raises(HalftruthError) as refused:
        client().submit(stub.survey, record, invitation=secret)
    for error in (away.value, refused.value):
        assert secret not in f"{error!r} {vars(error)}"
    assert "could not be sent" in caplog.text
    assert secret not in caplog.text
