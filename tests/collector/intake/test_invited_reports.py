"""Reports with invitations: single-use, for one survey, and not quoted in logs or responses."""

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.terms import Terms

URL = "/v1/surveys/health/reports"
MISSING = "report {}: invitation: this survey needs one, of 32 hexadecimal digits, for each report"
UNKNOWN = (
    "report {}: invitation: it is not known here, or was used before; expected one of your own"
)


@pytest.fixture
def invited(http, store):
    """A client of a collector whose survey requires invitations."""
    operations.set_terms(store, "health", Terms(invitations=True))
    return http


@pytest.fixture
def invitations(store):
    return lambda count, survey="health": operations.create_invitations(store, survey, count)


@pytest.fixture
def unused(store):
    return lambda survey="health": store.invitations.count(survey).unused


@pytest.fixture
def invite(batch):
    """Return a function that makes a request's body; None makes a report without an invitation."""

    def make(*given):
        body = batch(*[[n % 2, n % 3] for n in range(len(given))])
        for report, invitation in zip(body["reports"], given, strict=True):
            if invitation is not None:
                report["invitation"] = invitation
        return body

    return make


def refused(response, index, detail, status=403):
    assert response.status_code == status, response.text
    assert response.mimetype == "application/problem+json"
    document = response.get_json()
    assert (document["report"], document["field"]) == (index, "invitation")
    assert document["detail"] == detail.format(index)
    assert response.headers["Access-Control-Allow-Origin"] == "*"


def accepted(response):
    assert response.status_code == 202, response.text
    return response.get_json()["accepted"], response.get_json()["duplicates"]


def test_a_missing_invitation_is_refused(invited, invite, invitations, counted, unused):
    given = invitations(3)
    refused(invited.post(URL, json=invite(None)), 0, MISSING)
    refused(invited.post(URL, json=invite(given[0], given[1], None)), 2, MISSING)
    explicit = invite(*given)
    explicit["reports"][1]["invitation"] = None
    refused(invited.post(URL, json=explicit), 1, MISSING)
    assert (counted(), unused()) == (0, 3)


@pytest.mark.parametrize(
    "malformed",
    [
        *("", "0" * 31, "0" * 33, "A" * 32, "g" * 32, " " + "0" * 31, "0" * 32 + "\n"),
        *("0" * 31 + "\0", "0x" + "0" * 30, "\uff10" * 32, "ab" * 100_000),
    ],
)
def test_a_malformed_invitation_is_refused(
    invited, invite, invitations, counted, unused, malformed
):
    [good] = invitations(1)
    response = invited.post(URL, json=invite(good, malformed))
    refused(response, 1, "report {}: invitation: expected 32 hexadecimal digits", 422)
    assert not malformed or malformed not in response.text
    assert (counted(), unused()) == (0, 1)


def test_an_unknown_or_spent_invitation_is_refused(invited, invite, invitations, counted, unused):
    first, second = invitations(2)
    assert accepted(invited.post(URL, json=invite(first))) == (1, 0)
    for wrong in (first, "0" * 32, f"{int(second, 16) ^ 1:032x}"):
        response = invited.post(URL, json=invite(second, wrong))
        refused(response, 1, UNKNOWN)
        assert wrong not in response.text
        assert second not in response.text
    assert (counted(), unused()) == (1, 1)


def test_a_refused_request_spends_no_invitation(
    invited, invite, invitations, store, counted, unused
):
    given = invitations(2)
    bad = {
        "a value": (lambda body: body["reports"][1].update(values=[2, 0]), 422),
        "a type": (lambda body: body["reports"][1].update(values="00"), 422),
        "a digest": (lambda body: body.update(digest="0" * 64), 409),
        "an id": (lambda body: body["reports"][1].update(id="x"), 422),
        "an invitation": (lambda body: body["reports"][1].update(invitation="0" * 32), 403),
        "a member": (lambda body: body["reports"][1].update(record={}), 422),
    }
    for name, (spoil, status) in bad.items():
        body = invite(*given)
        spoil(body)
        assert invited.post(URL, json=body).status_code == status, name
        assert (counted(), unused()) == (0, 2), name
    operations.close_survey(store, "health", confirm="health")
    assert invited.post(URL, json=invite(*given)).status_code == 409
    assert (counted(), unused()) == (0, 2)


def test_an_invitation_to_a_survey_without_invitations_is_refused(
    http, invite, invitations, counted, unused
):
    [given] = invitations(1)
    for invitation in (given, "0" * 32):
        response = http.post(URL, json=invite(None, invitation))
        refused(response, 1, "report {}: invitation: this survey asks for none", 422)
        assert invitation not in response.text
    assert (counted(), unused()) == (0, 1)


def test_refusals_are_recorded_without_the_invitation(invited, invite, invitations, store, caplog):
    caplog.set_level("DEBUG")
    [given] = invitations(1)
    invited.post(URL, json=invite(given))
    invited.post(URL, json=invite(given))
    invited.post(URL, json=invite("g" * 32))
    invited.application.extensions["halftruth"].store.reports.flush()
    [day] = store.reports.daily_outcomes("health")
    assert day.counted == 1
    assert day.refused == {"invitation-refused": 1, "report-error": 1}
    # Requests of respondents are not logged at all.
    assert not [each for each in caplog.records if each.name.startswith("halftruth_collector")]
    assert given not in caplog.text
    assert "g" * 32 not in caplog.text
