"""Sealed reports over HTTP: opened only under the survey, digest and id that they were sealed for.

Positive cases are sealed by an HPKE made of X25519, HMAC and AES-GCM alone.
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
    """A report as it is sent; every column of the small survey takes one byte."""
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
    """Make a collector on the database of the test; the value is a test client."""
    made = []

    def make(keys, rate_limit=None):
        made.append(create_app(Config(database=database, sealing_keys=keys, rate_limit=rate_limit)))
        return made[-1].test_client()

    yield make
    for app in made:
        app.extensions["halftruth"].store.close()


@pytest.fixture
def http(applications, key_file, public, store, survey):
    """A collector with the small survey published, sealed to `public`."""
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


def test_a_sealed_report_is_counted_as_it_was(send, public, survey, store):
    """Once, be it sent or even sealed again."""
    id = uuid4()
    report = sealed(public, survey, [1, 2], id=id)
    assert accepted(send(report, sealed(public, survey, [0, 1]))) == (2, 0)
    assert accepted(send(sealed(public, survey, [1, 2], id=id), report)) == (0, 2)
    _, counts, _ = store.reports.counts("health")
    assert counts.marginal((0, 1)).tolist() == [[0, 1, 0], [0, 0, 1]]


def test_a_sealed_report_counts_under_no_other_id(send, public, survey, counted):
    id = uuid4()
    report = sealed(public, survey, [1, 2], id=id)
    for other in (uuid4(), UUID(int=0), UUID(int=id.int ^ 1), UUID(int=id.int ^ 1 << 127)):
        refused(send({**report, "id": str(other)}))
    assert counted() == 0
    assert accepted(send(report)) == (1, 0)


def test_who_guesses_what_a_sealed_report_said_learns_nothing_from_its_id(
    send, public, survey, store, counted
):
    """Every guess gets the same answer, while the survey is open and after its end."""
    id = uuid4()
    answer = send(sealed(public, survey, [1, 2], id=id))
    assert accepted(answer) == (1, 0)
    guesses = [sealed(public, survey, [a, b], id=id) for a in range(2) for b in range(3)]
    for close in (False, True):
        if close:
            operations.close_survey(store, "health")
        answers = [send(guess) for guess in guesses]
        assert {(each.status_code, each.get_data()) for each in answers} == {
            (202, b'{"accepted":0,"duplicates":1}')
        }
    _, counts, _ = store.reports.counts("health")
    assert counts.marginal((0, 1)).tolist() == [[0, 0, 0], [0, 0, 1]]


def test_a_sealed_report_counts_for_no_other_survey(send, public, survey, store, counted):
    """Of the same key, and of the same questions and mechanism."""
    twin = Survey("twin", survey.title, survey.schema, survey.mechanism)
    operations.publish_survey(store, twin, terms=Terms(sealing_key=public))
    report = sealed(public, survey, [1, 2])
    refused(send(report, to="twin", digest=twin.digest))
    assert send(report, to="twin").get_json()["type"] == "urn:halftruth:problem:stale-digest"
    refused(send(sealed(public, survey, [1, 2], digest=twin.digest)))
    assert (counted(), counted("twin")) == (0, 0)


def test_what_was_not_sealed_like_this_is_refused(send, public, survey, counted, tmp_path):
    """Cut, altered, with more or fewer values inside, or sealed to a stranger's key.

    That each byte matters is held where reports are opened, by the protocol's tests.
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
def test_what_is_not_base64_is_named(send, public, survey, counted, written):
    good = sealed(public, survey, [1, 2])
    response = send(good, {"id": str(uuid4()), "sealed": written})
    detail = "report 1: sealed: expected the encrypted report in base64"
    refused(response, 1, field="sealed", detail=detail)
    assert counted() == 0


@pytest.mark.parametrize(
    ("values", "field", "most"), [([2, 0], "smoker", 1), ([0, 3], "drinks", 2), ([255, 9], "", 0)]
)
def test_a_value_out_of_range_inside_is_refused(send, public, survey, counted, values, field, most):
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


def test_a_sealed_report_to_a_plain_survey_is_one_clear_line(
    http, send, batch, public, survey, store, counted
):
    """And the other way round, and one that is both to either."""
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


def test_reports_to_an_older_key_count_until_it_is_retired(
    applications, key_file, public, send, http, survey, store, counted
):
    new = create_sealing_key(key_file)
    operations.set_terms(store, "health", Terms(sealing_key=new))
    both = applications(key_file)
    assert accepted(send(sealed(public, survey, [1, 2]), by=both)) == (1, 0)
    assert accepted(send(sealed(new, survey, [1, 2]), by=both)) == (1, 0)
    # So does a process that was started before the new key was made.
    assert accepted(send(sealed(new, survey, [1, 2]), by=http)) == (1, 0)
    retire_sealing_key(key_file, public)
    newest = applications(key_file)
    refused(send(sealed(public, survey, [1, 2]), by=newest))
    assert accepted(send(sealed(new, survey, [0, 0]), by=newest)) == (1, 0)
    assert counted() == 4


def test_a_sealed_invitation_lets_one_report_in(send, public, survey, store, counted):
    operations.set_terms(store, "health", Terms(sealing_key=public, invitations=True))
    first, second = operations.create_invitations(store, "health", 2)
    id = uuid4()
    assert accepted(send(sealed(public, survey, [1, 2], id=id, invitation=first))) == (1, 0)
    # The same report again, whatever its invitation.
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


def test_a_collector_without_keys_is_away_for_sealed_reports(
    applications, public, send, http, survey, store, counted
):
    without = applications(None)
    away(send(sealed(public, survey, [1, 2]), by=without))
    assert counted() == 0
    assert accepted(send(sealed(public, survey, [1, 2]))) == (1, 0)
    # Once the survey is not sealed any more, keys are not needed.
    operations.set_terms(store, "health", Terms())
    response = send(sealed(public, survey, [1, 2]), by=without)
    detail = "report 0: expected 'values': this survey takes no sealed reports"
    refused(response, field="values", detail=detail)
    assert accepted(send({"id": str(uuid4()), "values": [0, 0]}, by=without)) == (1, 0)


def test_terms_that_changed_elsewhere_hold_for_the_next_request(
    applications, key_file, public, send, http, survey, store, counted, operator
):
    """Two processes: one changes the terms, the other one has read the survey before."""
    changing, other = http, applications(key_file)

    def send_after(reports, **terms):
        """Send to the other process what fits the terms before, and then what fits the new ones."""
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


def test_neither_log_nor_answer_holds_what_was_sealed(send, public, survey, caplog, store):
    caplog.set_level("DEBUG")
    operations.set_terms(store, "health", Terms(sealing_key=public, invitations=True))
    report = sealed(public, survey, [1, 2], invitation="c0ffee" + "00" * 13)
    answers = [send(report), send({**report, "id": str(uuid4())}), send(report, report)]
    said = caplog.text + "".join(json.dumps(dict(a.headers)) + a.text for a in answers)
    assert "request" in caplog.text
    for secret in ("c0ffee", report["sealed"], report["sealed"][:16], report["id"]):
        assert secret not in said
