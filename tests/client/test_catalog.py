"""The client verifies everything that a collector publishes."""

import json

import pytest
from halftruth_client import Client, HalftruthError, SurveyRefused
from halftruth_shared import GammaDiagonal, ParameterError, Survey
from halftruth_shared.protocol.signing import sign
from halftruth_shared.protocol.terms import Signature, Terms

from .conftest import OPERATOR, STRANGER, URL, Stub, posted, sealing_key


def published(survey, **changed):
    return {"survey": json.loads(survey.canonical_json) | changed, "digest": survey.digest}


@pytest.mark.parametrize(
    ("asked", "changed", "why"),
    [
        ("health", {"mechanism": {"kind": "gamma-diagonal", "gamma": "3"}}, "digest"),
        ("other", {}, "digest"),
        ("health", {"send_in_clear": True}, "send_in_clear"),
    ],
)
def test_another_survey_than_the_requested_one_is_refused(scripted, survey, asked, changed, why):
    session, _ = scripted(200, published(survey, **changed))
    with pytest.raises(HalftruthError, match=why):
        Client(URL, max_gamma="19", session=session).survey(asked)


def test_a_survey_that_a_pinned_operator_signed_is_accepted(stub, client, record):
    stub.signer = OPERATOR
    for pins in ([OPERATOR.public], {STRANGER.public, OPERATOR.public}):
        one = client(operator_keys=pins)
        assert one.submit(one.survey("health"), record).status == "accepted"


@pytest.mark.parametrize(
    ("signer", "why"), [(None, "there is none"), (STRANGER, "by a key that is not pinned")]
)
def test_a_survey_that_no_pinned_operator_signed_is_refused(
    stub, client, session, record, signer, why
):
    stub.signer = signer
    assert client().survey("health") == stub.survey
    pinning = client(operator_keys=[OPERATOR.public])
    for call in (
        lambda: pinning.survey("health"),
        lambda: pinning.submit(stub.survey, record),
        lambda: pinning.submit_many(stub.survey, [record]),
    ):
        with pytest.raises(SurveyRefused, match=f"survey 'health': signature: {why}") as caught:
            call()
        assert caught.value.field == "operator_keys"
    assert posted(session) == []


def test_a_signature_of_other_terms_is_refused(stub, client, monkeypatch):
    other = Terms(invitations=True)
    made = sign(OPERATOR, stub.survey.digest, other)
    monkeypatch.setattr(Stub, "signature", lambda _: made)
    with pytest.raises(SurveyRefused, match="does not match"):
        client(operator_keys=[OPERATOR.public]).survey("health")
    stub.terms = other
    assert client(operator_keys=[OPERATOR.public]).survey("health") == stub.survey


def test_a_weakened_mechanism_is_refused_despite_another_signature(stub, client, monkeypatch):
    genuine = sign(OPERATOR, stub.survey.digest, stub.terms)
    weak = Survey("health", stub.survey.title, stub.survey.schema, GammaDiagonal("18"))
    stub.survey = weak
    for key in (OPERATOR.public, STRANGER.public):
        for value in (genuine.value, sign(STRANGER, weak.digest, stub.terms).value):
            made = Signature(key=key, value=value)
            monkeypatch.setattr(Stub, "signature", lambda _, made=made: made)
            with pytest.raises(SurveyRefused, match="signature"):
                client(operator_keys=[OPERATOR.public]).survey("health")


@pytest.mark.parametrize("bad", ["", "ab" * 32, ["AB" * 32], ["ab" * 31], [17]])
def test_an_invalid_pin_is_refused_before_any_request(session, client, bad):
    with pytest.raises(ParameterError, match="operator_keys: expected a list") as caught:
        client(operator_keys=bad)
    assert caught.value.field == "operator_keys"
    assert session.asked == []


@pytest.mark.parametrize("key", ["", "no key", "AB" * 32, "ab" * 31, "00" * 32])
def test_an_invalid_sealing_key_is_refused(stub, client, session, record, key):
    stub.terms = Terms(sealing_key=key)
    with pytest.raises(SurveyRefused, match="sealing_key") as caught:
        client().submit(stub.survey, record)
    assert caught.value.field == "sealing_key"
    assert posted(session) == []


def test_a_downgrade_from_sealed_to_plain_reports_is_refused(stub, client, session, record):
    stub.seal_to(sealing_key(3))
    one = client()
    survey = one.survey("health")
    stub.private, stub.terms = (), Terms()
    with pytest.raises(SurveyRefused, match="its reports were to be sealed") as caught:
        one.submit(survey, record)
    assert caught.value.field == "sealing_key"
    assert all("sealed" in report for batch in posted(session) for report in batch["reports"])
    # Fetching the survey again accepts its new terms.
    assert one.submit(one.survey("health"), record).status == "accepted"
