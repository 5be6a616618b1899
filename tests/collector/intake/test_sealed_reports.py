"""Sealed reports over HTTP: opened only with the survey, digest and id that they were sealed for.

Valid reports are sealed by an independent HPKE implementation from X25519, HMAC and AES-GCM.
"""

import base64
import json
from uuid import UUID, uuid4

import hpke
import pytest
from halftruth_collector import operations
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import create_sealing_key, retire_sealing_key
from halftruth_shared.protocol.terms import Terms

URL = "/v1/surveys/health/reports"
CANNOT_BE_OPENED = (
    "report {}: cannot be opened; expected a report sealed to this survey's key with its digest and"
    " the report's id"
)


def sealed(public, survey, values, *, id=None, invitation="", digest=None):
    """Return a sealed report; each column of the small survey takes one byte."""
    id = id or uuid4()
    digest = digest or survey.digest
    info = b"halftruth sealed report 1\n" + bytes.fromhex(digest) + id.bytes
    content = hpke.seal(bytes.fromhex(public), info, bytes(values) + bytes.fromhex(invitation))
    return {"id": str(id), "sealed": base64.b64encode(content).decode()}


def altered(report, content):
    return {**report, "sealed": base64.b64encode(content).decode()}


@pytest.fixture
def public(sealing_key):
    return sealing_key


@pytest.fixture
def applications(database):
    """Return a function that makes a test client of a collector on the test's database."""
    made = []

    def make(keys, rate_limit=None):
        made.append(create_app(Config(database=database, sealing_keys=keys, rate_limit=rate_limit)))
        return made[-1].test_client()

    yield make
    for app in made:
        app.extensions["halftruth"].store.close()


@pytest.fixture
def http(applications, key_file, public, store, survey):
    """A client of a collector whose survey is sealed to `public`."""
    operations.publish_survey(store, survey, terms=Terms(sealing_key=public))
    return applications(key_file)


@pytest.fixture
def send(http, survey):
    def post(*reports, to="health", digest=None, by=None):
        body = {"digest": digest or survey.digest, "reports": list(reports)}
        return (by or http).post(f"/v1/surveys/{to}/reports", json=body)

    return post


def accepted(response):
    assert response.status_code == 202, response.text
    return response.get_json()["accepted"], response.get_json()["duplicates"]


def refused(response, index=0, status=422, field="sealed", detail=None):
    assert response.status_code == status, response.text
    assert response.mimetype == "application/problem+json"
    document = response.get_json()
    assert (document["report"], document["field"]) == (index, field)
    assert document["detail"] == (detail or CANNOT_BE_OPENED.format(index))


def away(response):
    assert response.status_code == 503, response.text
    assert response.headers["Retry-After"]
    detail = response.get_json()["detail"]
    assert detail == (
        "this collector lacks the key that reports are sealed to; nothing of this request was"
        " counted"
    )


def test_a_sealed_report_is_counted_once_with_its_values(send, public, survey, store):
    """It is counted once, even if it is sent or sealed again."""
    id = uuid4()
    report = sealed(public, survey, [1, 2], id=id)
    assert accepted(send(report, sealed(public, survey, [0, 1]))) == (2, 0)
    assert accepted(send(sealed(public, survey, [1, 2], id=id), report)) == (0, 2)
    _, counts, _ = store.reports.counts("health")
    assert counts.marginal((0, 1)).tolist() == [[0, 1, 0], [0, 0, 1]]


def test_a_sealed_report_with_another_id_is_refused(send, public, survey, counted):
    id = uuid4()
    report = sealed(public, survey, [1, 2], id=id)
    for other in (uuid4(), UUID(int=0), UUID(int=id.int ^ 1), UUID(int=id.int ^ 1 << 127)):
        refused(send({**report, "id": str(other)}))
    assert counted() == 0
    assert accepted(send(report)) == (1, 0)


def test_guesses_of_a_sealed_report_with_its_id_reveal_nothing(
    send, public, survey, store, counted
):
    """Every guess gets the same response, before and after the survey is closed."""
    id = uuid4()
    answer = send(sealed(public, survey, [1, 2], id=id))
    assert accepted(answer) == (1, 0)
    guesses = [sealed(public, survey, [a, b], id=id) for a in range(2) for b in range(3)]
    for close in (False, True):
        if close:
            operations.close_survey(store, "health", confirm="health")
        answers = [send(guess) for guess in guesses]
        assert {(each.status_code, each.get_data()) for each in answers} == {
            (202, b'{"accepted":0,"duplicates":1}')
        }
    _, counts, _ = store.reports.counts("health")
    assert counts.marginal((0, 1)).tolist() == [[0, 0, 0], [0, 0, 1]]


def test_a_sealed_report_to_another_survey_is_refused(send, public, survey, store, counted):
    """The other survey has the same key, questions and mechanism."""
    twin = Survey("twin", survey.title, survey.schema, survey.mechanism)
    operations.publish_survey(store, twin, terms=Terms(sealing_key=public))
    report = sealed(public, survey, [1, 2])
    refused(send(report, to="twin", digest=twin.digest))
    assert send(report, to="twin").get_json()["type"] == "urn:halftruth:problem:stale-digest"
    refused(send(sealed(public, survey, [1, 2], digest=twin.digest)))
    assert (counted(), counted("twin")) == (0, 0)


def test_altered_or_wrongly_sealed_reports_are_refused(send, public, survey, counted, tmp_path):
    """Truncated, altered, with a wrong number of values, or sealed to an unknown key.

    The protocol's tests alter every byte.
    """
    report = sealed(public, survey, [1, 2])
    content = base64.b64decode(report["sealed"])
    assert len(content) == 32 + 2 + 16
    for other in (b"", content[:-1], content[1:], content + b"\0", content + b"\0" * 100_000):
        refused(send(altered(report, other)))
    for position in (0, 31, 32, 49):
        other = bytearray(content)
        other[position] ^= 128
        refused(send(altered(report, bytes(other))))
    for values in ([], [1], [1, 2, 0], [1, 2] * 8):
        refused(send(sealed(public, survey, values)))
    refused(send(sealed(public, survey, [1, 2], invitation="00" * 16)))
    refused(send(sealed(create_sealing_key(tmp_path / "stranger.pem"), survey, [1, 2])))
    assert counted() == 0
    assert accepted(send(report)) == (1, 0)


@pytest.mark.parametrize("written", ["!", "AAA", "-_-_", 7, None, [1]])
def test_invalid_base64_is_refused_with_its_report(send, public, survey, counted, written):
    good = sealed(public, survey, [1, 2])
    response = send(good, {"id": str(uuid4()), "sealed": written})
    detail = "report 1: sealed: expected the encrypted report in base64"
    refused(response, 1, field="sealed", detail=detail)
    assert counted() == 0


@pytest.mark.parametrize(
    ("values", "field", "most"), [([2, 0], "smoker", 1), ([0, 3], "drinks", 2), ([255, 9], "", 0)]
)
def test_a_sealed_value_out_of_range_is_refused(send, public, survey, counted, values, field, most):
    good = sealed(public, survey, [1, 2])
    response = send(good, sealed(public, survey, values))
    field, most = field or "smoker", most or 1
    detail = f"report 1: '{field}': expected an integer from 0 to {most}"
    refused(response, 1, field=field, detail=detail)
    assert "255" not in response.text
    assert counted() == 0


def test_one_bad_report_refuses_its_whole_batch(send, public, survey, counted):
    reports = [sealed(public, survey, [n % 2, n % 3]) for n in range(20)]
    reports[13]["id"] = str(uuid4())
    refused(send(*reports), 13)
    assert counted() == 0
    del reports[13]
    assert accepted(send(*reports)) == (19, 0)


def test_a_sealed_report_to_a_plain_survey_is_refused_with_a_one_line_error(
    http, send, batch, public, survey, store, counted
):
    """Also plain reports to a sealed survey, and reports that are both."""
    detail = "expected 'sealed', and no 'values': this survey takes sealed reports only"
    refused(http.post(URL, json=batch([0, 0])), detail=f"report 0: {detail}")
    mixed = batch([0, 0])
    mixed["reports"].insert(0, sealed(public, survey, [0, 0]))
    refused(http.post(URL, json=mixed), 1, detail=f"report 1: {detail}")
    both = {**sealed(public, survey, [1, 2]), "values": [1, 2]}
    assert send(both).status_code == 422
    operations.set_terms(store, "health", Terms())
    assert send(both).status_code == 422
    detail = "report 0: expected 'values': this survey takes no sealed reports"
    refused(send(sealed(public, survey, [1, 2])), field="values", detail=detail)
    assert counted() == 0


def test_reports_to_an_older_key_are_accepted_until_it_is_retired(
    applications, key_file, public, send, http, survey, store, counted
):
    new = create_sealing_key(key_file)
    operations.set_terms(store, "health", Terms(sealing_key=new))
    both = applications(key_file)
    assert accepted(send(sealed(public, survey, [1, 2]), by=both)) == (1, 0)
    assert accepted(send(sealed(new, survey, [1, 2]), by=both)) == (1, 0)
    # Also in a process that was started before the new key was created.
    assert accepted(send(sealed(new, survey, [1, 2]), by=http)) == (1, 0)
    retire_sealing_key(key_file, public)
    newest = applications(key_file)
    refused(send(sealed(public, survey, [1, 2]), by=newest))
    assert accepted(send(sealed(new, survey, [0, 0]), by=newest)) == (1, 0)
    assert counted() == 4


def test_a_sealed_invitation_admits_one_report(send, public, survey, store, counted):
    operations.set_terms(store, "health", Terms(sealing_key=public, invitations=True))
    first, second = operations.create_invitations(store, "health", 2)
    id = uuid4()
    assert accepted(send(sealed(public, survey, [1, 2], id=id, invitation=first))) == (1, 0)
    # A duplicate is accepted with any invitation.
    assert accepted(send(sealed(public, survey, [1, 2], id=id, invitation=first))) == (0, 1)
    assert accepted(send(sealed(public, survey, [1, 2], id=id, invitation="ab" * 16))) == (0, 1)
    said = "invitation: it is not known here, or was used before; expected one of your own"
    for spent in (first, "ab" * 16):
        response = send(
            sealed(public, survey, [0, 0], invitation=second),
            sealed(public, survey, [1, 2], invitation=spent),
        )
        refused(response, 1, 403, "invitation", f"report 1: {said}")
        assert spent not in response.text
    refused(send(sealed(public, survey, [1, 2])))
    assert store.invitations.count("health").unused == 1
    assert accepted(send(sealed(public, survey, [0, 0], invitation=second))) == (1, 0)
    assert counted() == 2


def test_an_invitation_beside_a_sealed_report_is_refused(send, public, survey, store, counted):
    operations.set_terms(store, "health", Terms(sealing_key=public, invitations=True))
    [invitation] = operations.create_invitations(store, "health", 1)
    report = sealed(public, survey, [1, 2], invitation=invitation)
    response = send({**report, "invitation": invitation})
    assert response.status_code == 422
    assert invitation not in response.text
    assert store.invitations.count("health").unused == 1
    assert counted() == 0


def test_a_collector_without_keys_is_unavailable_for_sealed_reports(
    applications, public, send, http, survey, store, counted
):
    without = applications(None)
    away(send(sealed(public, survey, [1, 2]), by=without))
    assert counted() == 0
    assert accepted(send(sealed(public, survey, [1, 2]))) == (1, 0)
    # A survey that is no longer sealed needs no keys.
    operations.set_terms(store, "health", Terms())
    response = send(sealed(public, survey, [1, 2]), by=without)
    detail = "report 0: expected 'values': this survey takes no sealed reports"
    refused(response, field="values", detail=detail)
    assert accepted(send({"id": str(uuid4()), "values": [0, 0]}, by=without)) == (1, 0)


def test_terms_changed_by_another_process_apply_to_the_next_request(
    applications, key_file, public, send, http, survey, store, counted, operator
):
    """One process changes the terms of a survey that another has read before."""
    changing, other = http, applications(key_file)

    def send_after(reports, **terms):
        """Change the terms, and send a report that fits the old ones and one that fits the new."""
        body = {"terms": {"sealing_key": None, "invitations": False, **terms}}
        answer = changing.patch("/v1/surveys/health/terms", json=body, headers=operator)
        assert answer.status_code == 200, answer.text
        wrong, right = (send(report, by=other) for report in reports)
        assert wrong.status_code in (403, 422)
        assert accepted(right) == (1, 0)

    def closed(**members):
        return sealed(public, survey, [0, 0], **members)

    def plain(**members):
        return {"id": str(uuid4()), "values": [0, 0], **members}

    first, second, third = operations.create_invitations(store, "health", 3)
    assert accepted(send(closed(), by=other)) == (1, 0)
    send_after([closed(), plain()])
    send_after([plain(), closed()], sealing_key=public)
    send_after([closed(), closed(invitation=first)], sealing_key=public, invitations=True)
    send_after([closed(invitation=second), closed()], sealing_key=public)
    send_after([plain(), plain(invitation=second)], invitations=True)
    send_after([plain(invitation=third), plain()])
    assert counted() == 7


def test_neither_logs_nor_responses_hold_sealed_content(send, public, survey, caplog, store):
    caplog.set_level("DEBUG")
    operations.set_terms(store, "health", Terms(sealing_key=public, invitations=True))
    report = sealed(public, survey, [1, 2], invitation="c0ffee" + "00" * 13)
    answers = [send(report), send({**report, "id": str(uuid4())}), send(report, report)]
    said = caplog.text + "".join(json.dumps(dict(a.headers)) + a.text for a in answers)
    # Requests of respondents are not logged at all.
    assert not [each for each in caplog.records if each.name.startswith("halftruth_collector")]
    for secret in ("c0ffee", report["sealed"], report["sealed"][:16], report["id"]):
        assert secret not in said
