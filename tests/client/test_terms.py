"""Terms of surveys: who signed them, what is sealed, and who was invited."""

import base64
import json
import logging
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from halftruth_client import (
    Client,
    CollectorUnavailable,
    HalftruthError,
    RequestRefused,
    SurveyRefused,
)
from halftruth_shared import GammaDiagonal, ParameterError, ReportError, Survey
from halftruth_shared.messages import Signature, Terms
from halftruth_shared.sealing import SealingKeys, open_sealed
from halftruth_shared.signing import OperatorKey, sign

URL = "http://collector.test"
OPERATOR = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)))
STRANGER = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes([2] * 32)))
INVITATIONS = [f"{i:032x}" for i in range(0xFACE000, 0xFACE000 + 3_000)]


def sealing_key(number: int) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(bytes([number] * 32))


@dataclass
class Stub:
    """A collector as docs/protocol.md describes it, in a few lines and in memory."""

    survey: Survey
    terms: Terms = field(default_factory=Terms)
    signer: OperatorKey | None = None
    private: tuple[X25519PrivateKey, ...] = ()
    away: bool = False
    unspent: set[str] = field(default_factory=lambda: set(INVITATIONS))
    counted: dict[UUID, list[int]] = field(default_factory=dict)

    def seal_to(self, *private: X25519PrivateKey, invitations: bool = False) -> None:
        """Take sealed reports from now on, by the first of these keys."""
        self.private = private
        public = private[0].public_key().public_bytes_raw().hex()
        self.terms = Terms(invitations=invitations, sealing_key=public)

    def signature(self) -> Signature | None:
        return None if self.signer is None else sign(self.signer, self.survey.digest, self.terms)

    def __call__(self, request: requests.PreparedRequest) -> tuple[int, bytes]:
        if self.away:
            raise requests.ConnectionError
        if request.method == "GET":
            made = self.signature()
            answer = {
                "survey": json.loads(self.survey.canonical_json),
                "digest": self.survey.digest,
                "status": "open",
                "terms": {
                    "invitations": self.terms.invitations,
                    "sealing_key": self.terms.sealing_key,
                },
                "signature": made and {"key": made.key, "value": made.value},
            }
            return 200, json.dumps(answer).encode()
        return self.take(json.loads(request.body))

    def take(self, batch: dict) -> tuple[int, bytes]:
        new, spent = {}, set()
        for i, report in enumerate(batch["reports"]):
            if ("sealed" in report) != (self.terms.sealing_key is not None):
                return problem(422, "values", i)
            report_id = UUID(report["id"])
            try:
                values, invitation = self.opened(batch["digest"], report_id, report)
            except ReportError:
                return problem(422, "sealed", i)
            if report_id in self.counted:
                assert self.counted[report_id] == values
                continue
            if invitation is not None and not self.terms.invitations:
                return problem(422, "invitation", i)
            if self.terms.invitations and invitation not in self.unspent - spent:
                return problem(403, "invitation", i)
            new[report_id] = values
            spent |= {invitation}
        self.counted |= new
        self.unspent -= spent
        receipt = {"accepted": len(new), "duplicates": len(batch["reports"]) - len(new)}
        return 202, json.dumps(receipt).encode()

    def opened(self, digest: str, report_id: UUID, report: dict) -> tuple[list[int], str | None]:
        if "values" in report:
            return report["values"], report["invitation"]
        sealed = base64.b64decode(report["sealed"], validate=True)
        size, invited = 2, self.terms.invitations
        keys = SealingKeys(self.private)
        packed, invitation = open_sealed(keys, digest, report_id, sealed, size, invited)
        return list(packed), invitation


def problem(status: int, name: str, report: int) -> tuple[int, bytes]:
    body = {
        "type": "about:blank",
        "title": "Refused",
        "status": status,
        "detail": f"report {report}: {name}: expected something else",
        "field": name,
        "report": report,
    }
    return status, json.dumps(body).encode()


@pytest.fixture
def stub(survey) -> Stub:
    return Stub(survey)


@pytest.fixture
def session(stub, answering):
    session, adapter = answering(stub)
    session.asked = adapter.asked
    return session


@pytest.fixture
def client(session):
    """Makes clients of the stub."""

    def make(**options) -> Client:
        return Client(URL, max_gamma="19", session=session, **options)

    return make


def posted(session) -> list[dict]:
    return [json.loads(request.body) for request in session.asked if request.method == "POST"]


def methods(session) -> list[str]:
    return [request.method for request in session.asked]


def waiting(outbox) -> list[tuple]:
    with sqlite3.connect(outbox) as connection:
        rows = connection.execute("SELECT id, invitation FROM reports WHERE waiting").fetchall()
    connection.close()
    return rows


# Signatures.


def test_a_survey_that_a_pinned_operator_signed_is_accepted(stub, client, record):
    stub.signer = OPERATOR
    for pins in ([OPERATOR.public], {STRANGER.public, OPERATOR.public}):
        one = client(operator_keys=pins)
        assert one.submit(one.survey("health"), record).status == "accepted"


def test_without_pins_signatures_are_not_looked_at(stub, client):
    for signer in (None, OPERATOR, STRANGER):
        stub.signer = signer
        assert client().survey("health") == stub.survey


@pytest.mark.parametrize(
    ("signer", "why"), [(None, "there is none"), (STRANGER, "by a key that is not pinned")]
)
def test_a_survey_that_no_pinned_operator_signed_is_refused(stub, client, signer, why):
    stub.signer = signer
    with pytest.raises(SurveyRefused, match=f"survey 'health': signature: {why}") as caught:
        client(operator_keys=[OPERATOR.public]).survey("health")
    assert caught.value.field == "operator_keys"


def test_a_signature_of_other_terms_is_refused(stub, client, monkeypatch):
    other = Terms(invitations=True)
    made = sign(OPERATOR, stub.survey.digest, other)
    monkeypatch.setattr(Stub, "signature", lambda _: made)
    with pytest.raises(SurveyRefused, match="does not match"):
        client(operator_keys=[OPERATOR.public]).survey("health")
    stub.terms = other
    assert client(operator_keys=[OPERATOR.public]).survey("health") == stub.survey


def test_a_weakened_mechanism_is_refused_whoever_signs_it_again(stub, session, monkeypatch):
    genuine = sign(OPERATOR, stub.survey.digest, stub.terms)
    weak = Survey("health", stub.survey.title, stub.survey.schema, GammaDiagonal("1000"))
    stub.survey = weak
    pinning = Client(
        URL,
        max_gamma="1000",
        operator_keys=[OPERATOR.public],
        session=session,
    )
    stub.signer = STRANGER
    with pytest.raises(SurveyRefused, match="not pinned"):
        pinning.survey("health")
    for key in (OPERATOR.public, STRANGER.public):
        for value in (genuine.value, sign(STRANGER, weak.digest, stub.terms).value):
            made = Signature(key=key, value=value)
            monkeypatch.setattr(Stub, "signature", lambda _, made=made: made)
            with pytest.raises(SurveyRefused, match="signature"):
                pinning.survey("health")


def test_a_survey_from_a_file_is_not_answered_on_unsigned_terms(stub, client, session, record):
    pinning = client(operator_keys=[OPERATOR.public])
    for submit in (
        lambda: pinning.submit(stub.survey, record),
        lambda: pinning.submit_many(stub.survey, [record]),
    ):
        with pytest.raises(SurveyRefused, match="there is none"):
            submit()
    assert posted(session) == []


@pytest.mark.parametrize("bad", ["", "ab" * 32, ["AB" * 32], ["ab" * 31], [17]])
def test_a_pin_that_is_no_key_is_refused_before_anything_is_asked(session, client, bad):
    with pytest.raises(ParameterError, match="operator_keys: expected a list") as caught:
        client(operator_keys=bad)
    assert caught.value.field == "operator_keys"
    assert session.asked == []


# Sealed reports.


def test_what_is_sent_to_a_sealed_survey_holds_no_value(stub, client, session, record):
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
    assert INVITATIONS[0] not in stub.unspent
    assert len(stub.counted) == 1


def test_many_sealed_reports_are_counted_as_they_were_drawn(stub, client, record):
    stub.seal_to(sealing_key(3), invitations=True)
    one = client()
    delivery = one.submit_many(
        one.survey("health"), [record] * 1_500, invitations=INVITATIONS[:1_500]
    )
    assert delivery.accepted == 1_500
    assert len(stub.unspent) == 1_500
    drawn = [tuple(values) for values in stub.counted.values()]
    # The true record is kept in 19 of 24 draws; anything else would be far off.
    kept = drawn.count((1, 1)) / len(drawn)
    assert abs(kept - 19 / 24) < 0.06
    assert set(drawn) <= {(i, j) for i in range(2) for j in range(3)}


def test_terms_that_are_not_known_are_fetched_before_anything_is_sent(
    stub, client, session, record
):
    stub.seal_to(sealing_key(3))
    for submit in (
        lambda: client().submit(stub.survey, record),
        lambda: client().submit_many(stub.survey, [record]),
    ):
        session.asked.clear()
        submit()
        assert methods(session) == ["GET", "POST"]
        assert "values" not in posted(session)[0]["reports"][0]


def test_reports_that_waited_are_sealed_by_the_next_process(
    stub, client, session, record, tmp_path
):
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


def test_reports_that_waited_are_not_sent_on_unsigned_terms(
    stub, client, session, record, tmp_path
):
    stub.away = True
    outbox = tmp_path / "outbox.db"
    pinning = client(operator_keys=[OPERATOR.public], outbox=outbox)
    pinning.submit(stub.survey, record)
    stub.away, stub.signer = False, STRANGER
    for _ in range(2):
        with pytest.raises(SurveyRefused):
            pinning.flush()
    assert posted(session) == []
    assert len(waiting(outbox)) == 1
    stub.signer = OPERATOR
    assert pinning.flush().accepted == 1


def test_another_key_is_fetched_when_the_old_one_is_retired(stub, client, session, record):
    stub.signer = OPERATOR
    stub.seal_to(sealing_key(3))
    one = client(operator_keys=[OPERATOR.public])
    survey = one.survey("health")
    # While both keys are there, the old one will do.
    stub.seal_to(sealing_key(4), sealing_key(3))
    assert one.submit(survey, record).status == "accepted"
    assert methods(session) == ["GET", "POST"]
    stub.seal_to(sealing_key(4))
    assert one.submit(survey, record).status == "accepted"
    assert methods(session) == ["GET", "POST", "POST", "GET", "POST"]
    assert one.submit_many(survey, [record] * 3).accepted == 3
    assert methods(session)[5:] == ["POST"]
    assert len(stub.counted) == 5


def test_a_plain_report_to_a_survey_that_is_sealed_now_is_sent_again_sealed(
    stub, client, session, record, tmp_path
):
    one = client(outbox=tmp_path / "outbox.db")
    survey = one.survey("health")
    stub.seal_to(sealing_key(3))
    assert one.submit(survey, record).status == "accepted"
    plain, sealed = posted(session)
    assert plain["reports"][0]["id"] == sealed["reports"][0]["id"]
    assert set(sealed["reports"][0]) == {"id", "sealed"}
    assert waiting(tmp_path / "outbox.db") == []


def test_terms_that_have_not_changed_are_not_tried_again(stub, client, session, record, tmp_path):
    stub.seal_to(sealing_key(3))
    one = client(outbox=tmp_path / "outbox.db")
    survey = one.survey("health")
    stub.private = (sealing_key(4),)
    with pytest.raises(RequestRefused, match="sealed") as caught:
        one.submit(survey, record)
    assert (caught.value.status, caught.value.field) == (422, "sealed")
    assert methods(session) == ["GET", "POST", "GET"]
    assert waiting(tmp_path / "outbox.db") == []


def test_changed_terms_are_tried_once(stub, client, session, record):
    stub.seal_to(sealing_key(3))
    one = client()
    survey = one.survey("health")
    stub.seal_to(sealing_key(4))
    stub.private = (sealing_key(5),)
    with pytest.raises(RequestRefused):
        one.submit(survey, record)
    assert methods(session) == ["GET", "POST", "GET", "POST"]


def test_a_report_waits_while_changed_terms_cannot_be_had(stub, client, record, tmp_path):
    outbox = tmp_path / "outbox.db"
    stub.signer = OPERATOR
    stub.seal_to(sealing_key(3))
    one = client(operator_keys=[OPERATOR.public], outbox=outbox)
    survey = one.survey("health")
    stub.seal_to(sealing_key(4))
    stub.signer = STRANGER
    with pytest.raises(SurveyRefused, match="not pinned"):
        one.submit(survey, record)
    assert len(waiting(outbox)) == 1
    stub.signer = OPERATOR
    assert one.flush().accepted == 1


def test_a_sealed_survey_does_not_become_a_plain_one_by_itself(stub, client, session, record):
    stub.seal_to(sealing_key(3))
    one = client()
    survey = one.survey("health")
    stub.private, stub.terms = (), Terms()
    with pytest.raises(SurveyRefused, match="its reports were to be sealed") as caught:
        one.submit(survey, record)
    assert caught.value.field == "sealing_key"
    assert all("sealed" in report for batch in posted(session) for report in batch["reports"])
    # The caller may say so.
    assert one.submit(one.survey("health"), record).status == "accepted"


@pytest.mark.parametrize("key", ["", "no key", "AB" * 32, "ab" * 31, "00" * 32])
def test_a_sealing_key_that_is_none_is_refused(stub, client, session, record, key):
    stub.terms = Terms(sealing_key=key)
    with pytest.raises(SurveyRefused, match="sealing_key") as caught:
        client().submit(stub.survey, record)
    assert caught.value.field == "sealing_key"
    assert posted(session) == []


def test_another_version_of_the_survey_is_not_asked_for_its_terms(stub, client, session, record):
    old = Survey("health", "Health, before", stub.survey.schema, GammaDiagonal("19"))
    with pytest.raises(RequestRefused, match="another version") as caught:
        client().submit(old, record)
    assert caught.value.status == 409
    assert posted(session) == []


def test_a_replaced_survey_is_not_remembered_as_answered(stub, client, record, tmp_path):
    old = Survey("health", "Health, before", stub.survey.schema, GammaDiagonal("19"))
    one = client(outbox=tmp_path / "outbox.db")
    with pytest.raises(RequestRefused, match="another version"):
        one.submit(old, record, respondent="ada")
    assert one.submit(one.survey("health"), record, respondent="ada").status == "accepted"


def test_waiting_reports_of_a_replaced_survey_are_given_up(stub, client, session, record, tmp_path):
    outbox = tmp_path / "outbox.db"
    stub.away = True
    client(outbox=outbox).submit(stub.survey, record)
    stub.away = False
    stub.survey = Survey("health", "Health, again", stub.survey.schema, GammaDiagonal("19"))
    with pytest.raises(RequestRefused, match="another version"):
        client(outbox=outbox).flush()
    assert waiting(outbox) == []
    assert posted(session) == []


# Invitations.


def test_an_invitation_is_sent_with_the_report_and_spent(stub, client, session, record):
    stub.terms = Terms(invitations=True)
    one = client()
    one.submit(one.survey("health"), record, invitation=INVITATIONS[7])
    assert posted(session)[0]["reports"][0]["invitation"] == INVITATIONS[7]
    assert INVITATIONS[7] not in stub.unspent


@pytest.mark.parametrize(
    "bad", ["", "ab" * 15, "ab" * 17, "AB" * 16, "xy" * 16, " " + "ab" * 16, b"ab" * 16, 7]
)
def test_what_is_no_invitation_is_refused_before_anything_is_sent(
    stub, client, session, record, bad
):
    stub.terms = Terms(invitations=True)
    for submit in (
        lambda: client().submit(stub.survey, record, invitation=bad),
        lambda: client().submit_many(stub.survey, [record], invitations=[bad]),
    ):
        with pytest.raises(ParameterError, match="expected 32 lower-case") as caught:
            submit()
        assert caught.value.field == "invitation"
        assert str(bad) == "7" or not bad or str(bad) not in str(caught.value)
    assert session.asked == []


@pytest.mark.parametrize("sealed", [False, True])
def test_a_missing_invitation_is_refused_before_anything_is_sent(
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


def test_an_invitation_that_is_not_asked_for_is_not_sent(stub, client, session, record):
    for submit in (
        lambda: client().submit(stub.survey, record, invitation=INVITATIONS[0]),
        lambda: client().submit_many(stub.survey, [record], invitations=INVITATIONS[:1]),
    ):
        with pytest.raises(ParameterError, match="asks for no invitation") as caught:
            submit()
        assert INVITATIONS[0] not in str(caught.value)
    assert posted(session) == []


def test_terms_that_changed_are_looked_up_before_the_caller_is_blamed(stub, client, record):
    one = client()
    survey = one.survey("health")
    stub.terms = Terms(invitations=True)
    assert one.submit(survey, record, invitation=INVITATIONS[0]).status == "accepted"


@pytest.mark.parametrize("given", [0, 2, 4])
def test_there_is_one_invitation_for_each_record(stub, client, session, record, given, monkeypatch):
    stub.terms = Terms(invitations=True)
    monkeypatch.setattr(GammaDiagonal, "perturb_many", lambda *_: pytest.fail("drawn"))
    with pytest.raises(ParameterError, match="one for each of the 3 records") as caught:
        client().submit_many(stub.survey, iter([record] * 3), invitations=iter(INVITATIONS[:given]))
    assert caught.value.field == "invitations"
    assert session.asked == []


def test_the_invitation_that_is_wrong_is_named_by_its_position(stub, client, record):
    stub.terms = Terms(invitations=True)
    given = [*INVITATIONS[:2], "spelt wrongly", *INVITATIONS[3:5]]
    with pytest.raises(ParameterError, match=r"^invitation 2: expected 32 lower-case"):
        client().submit_many(stub.survey, [record] * 5, invitations=given)


@pytest.mark.parametrize("sealed", [False, True])
def test_a_report_that_was_counted_before_is_a_duplicate_whatever_its_invitation(
    stub, client, record, sealed, tmp_path
):
    stub.terms = Terms(invitations=True)
    if sealed:
        stub.seal_to(sealing_key(3), invitations=True)
    one = client(outbox=tmp_path / "outbox.db")
    first = one.submit(stub.survey, record, respondent="ada", invitation=INVITATIONS[0])
    for invitation in INVITATIONS[:2]:
        again = one.submit(stub.survey, record, respondent="ada", invitation=invitation)
        assert (again.id, again.status) == (first.id, "duplicate")
    assert len(stub.counted) == 1
    assert INVITATIONS[1] in stub.unspent


def test_a_refused_invitation_is_final_and_another_one_is_for_the_same_report(
    stub, client, session, record, tmp_path
):
    outbox = tmp_path / "outbox.db"
    stub.terms = Terms(invitations=True)
    one = client(outbox=outbox)
    with pytest.raises(RequestRefused) as caught:
        one.submit(stub.survey, record, respondent="ada", invitation="ab" * 16)
    assert (caught.value.status, caught.value.field) == (403, "invitation")
    assert "ab" * 16 not in str(caught.value)
    assert waiting(outbox) == []
    assert (
        one.submit(stub.survey, record, respondent="ada", invitation=INVITATIONS[0]).status
        == "accepted"
    )
    first, second = (batch["reports"][0] for batch in posted(session))
    assert (first["id"], first["values"]) == (second["id"], second["values"])


def test_another_invitation_waits_while_the_collector_is_away(stub, client, record, tmp_path):
    outbox = tmp_path / "outbox.db"
    stub.terms = Terms(invitations=True)
    one = client(outbox=outbox)
    with pytest.raises(RequestRefused):
        one.submit(stub.survey, record, respondent="ada", invitation="ab" * 16)
    stub.away = True
    again = one.submit(stub.survey, record, respondent="ada", invitation=INVITATIONS[0])
    assert again.status == "waiting"
    assert waiting(outbox) == [(str(again.id), INVITATIONS[0])]
    stub.away = False
    assert client(outbox=outbox).flush().accepted == 1


def test_a_refusal_that_is_not_about_an_invitation_is_not_final(stub, answering, record, tmp_path):
    # What a proxy says in the collector's stead.
    def forbidding(request):
        return stub(request) if request.method == "GET" else (403, b"<html>Forbidden</html>")

    session, _ = answering(forbidding)
    one = Client(URL, max_gamma="19", session=session, outbox=tmp_path / "outbox.db")
    with pytest.raises(RequestRefused):
        one.submit(stub.survey, record)
    assert len(waiting(tmp_path / "outbox.db")) == 1


def test_one_refused_report_gives_up_itself_alone(stub, client, record, tmp_path):
    outbox = tmp_path / "outbox.db"
    stub.terms = Terms(invitations=True)
    one = client(outbox=outbox)
    given = INVITATIONS[:1_200]
    given[1_100] = "ab" * 16
    with pytest.raises(RequestRefused, match=r"^records 1000 to 1199: report 100: ") as caught:
        one.submit_many(stub.survey, [record] * 1_200, invitations=given)
    assert (caught.value.report, caught.value.accepted) == (1_100, 1_000)
    assert one.flush().accepted == 199
    assert len(stub.counted) == 1_199


def test_the_reports_after_a_refused_one_wait(stub, client, record, tmp_path):
    stub.terms = Terms(invitations=True)
    one = client(outbox=tmp_path / "outbox.db")
    given = INVITATIONS[:2_500]
    given[0] = "ab" * 16
    with pytest.raises(RequestRefused) as caught:
        one.submit_many(stub.survey, [record] * 2_500, invitations=given)
    assert (caught.value.report, caught.value.accepted) == (0, 0)
    assert one.flush().accepted == 2_499


def test_a_report_that_waits_without_an_invitation_is_given_up_alone(
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
    with pytest.raises(RequestRefused, match="asks for invitations") as caught:
        one.flush()
    assert (caught.value.status, caught.value.field) == (403, "invitation")
    assert posted(session) == []
    assert one.flush().accepted == 2


def test_an_invitation_that_is_no_longer_asked_for_is_left_out(
    stub, client, session, record, tmp_path
):
    stub.terms = Terms(invitations=True)
    one = client(outbox=tmp_path / "outbox.db")
    survey = one.survey("health")
    stub.away = True
    assert one.submit(survey, record, invitation=INVITATIONS[0]).status == "waiting"
    stub.away, stub.terms = False, Terms()
    assert one.flush().accepted == 1
    assert posted(session)[-1]["reports"][0]["invitation"] is None


# The outbox.


def test_the_outbox_keeps_an_invitation_only_while_its_report_waits(stub, client, record, tmp_path):
    outbox = tmp_path / "outbox.db"
    stub.terms = Terms(invitations=True)
    stub.away = True
    one = client(outbox=outbox)
    one.submit(stub.survey, record, invitation=INVITATIONS[0])
    one.submit(stub.survey, record, respondent="ada", invitation=INVITATIONS[1])
    assert {invitation for _, invitation in waiting(outbox)} == set(INVITATIONS[:2])
    stub.away = False
    assert client(outbox=outbox).flush().accepted == 2
    left = outbox.read_bytes()
    for invitation in INVITATIONS[:2]:
        assert invitation.encode() not in left
    assert stub.unspent == set(INVITATIONS[2:])


OLD_OUTBOX = """
CREATE TABLE reports (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    survey TEXT NOT NULL,
    digest TEXT NOT NULL,
    report TEXT NOT NULL,
    respondent BLOB,
    waiting INTEGER NOT NULL DEFAULT 1,
    UNIQUE (url, survey, respondent)
) STRICT;
CREATE INDEX reports_waiting ON reports (url) WHERE waiting;
CREATE TABLE secret (only INTEGER PRIMARY KEY CHECK (only = 1), key BLOB NOT NULL) STRICT;
INSERT INTO secret VALUES (1, x'00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff');
"""


def test_an_outbox_of_an_earlier_version_is_taken_over(stub, client, record, tmp_path):
    outbox, report_id = tmp_path / "outbox.db", uuid4()
    with sqlite3.connect(outbox) as connection:
        connection.executescript(OLD_OUTBOX)
        connection.execute(
            "INSERT INTO reports (id, url, survey, digest, report) VALUES (?, ?, ?, ?, ?)",
            (str(report_id), URL, "health", stub.survey.digest, "[1, 2]"),
        )
    connection.close()
    for _ in range(2):
        one = client(outbox=outbox)
    assert one.flush().accepted == 1
    assert stub.counted == {report_id: [1, 2]}
    stub.terms, stub.away = Terms(invitations=True), True
    one.submit(stub.survey, record, respondent="ada", invitation=INVITATIONS[0])
    stub.away = False
    assert client(outbox=outbox).flush().accepted == 1
    with sqlite3.connect(outbox) as connection:
        [(key,)] = connection.execute("SELECT key FROM secret")
    connection.close()
    assert key.hex() == "00112233445566778899aabbccddeeff" * 2


# What must not be seen, and what it costs.


def test_no_log_error_or_description_holds_an_invitation(stub, client, record, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "5ec2e7" + "0" * 26
    stub.terms = Terms(invitations=True)
    one = client(outbox=tmp_path / "outbox.db")
    stub.away = True
    one.submit(stub.survey, record, invitation=secret)
    [stored] = one._outbox.waiting(URL, 10)
    assert secret not in repr(stored)
    with pytest.raises(CollectorUnavailable) as away:
        one.flush()
    stub.away = False
    # The waiting one is refused while another one is sent.
    one.submit(stub.survey, record, invitation=INVITATIONS[0])
    with pytest.raises(HalftruthError) as refused:
        client().submit(stub.survey, record, invitation=secret)
    for error in (away.value, refused.value):
        assert secret not in f"{error!r} {vars(error)}"
    assert "could not be sent" in caplog.text
    assert secret not in caplog.text


def test_a_client_that_neither_seals_nor_verifies_imports_no_cryptography():
    program = (
        "import sys; from halftruth_client import Client;"
        "Client('http://127.0.0.1:1', max_gamma='19');"
        "print('cryptography' in sys.modules);"
        "Client('http://127.0.0.1:1', max_gamma='19', operator_keys=['ab' * 32]);"
        "print('cryptography' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
