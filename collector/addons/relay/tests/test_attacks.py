"""Attacks by a dishonest relay or collector.

Each test states what the attacker learns, which must not exceed the central bound unless both
collude, and who can detect the attack: the device, the relay or the collector.
"""

import base64
import logging
import secrets
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from halftruth_collector import operations as collecting
from halftruth_relay import operations as relaying
from halftruth_shared import ParameterError, Relay
from halftruth_shared.protocol.reports import Receipt
from halftruth_shared.protocol.sealing import create_sealing_key, open_envelope, relayed_size
from relays import Device, inner_reports


def cells(parties):
    """Return the number of reports in each cell."""
    return parties.store.reports.counts("health")[1].marginal((0, 1)).astype(int).tolist()


@pytest.fixture
def post():
    """Return a function that sends any content from a relay to the collector."""

    def send(parties, *relayed, digest=None):
        body = {
            "digest": digest or parties.survey.digest,
            "relayed": [base64.b64encode(sealed).decode() for sealed in relayed],
        }
        bearer = {"Authorization": f"Bearer {parties.token}"}
        return parties.collector.test_client().post(parties.path, json=body, headers=bearer)

    return send


def receipt(response):
    assert response.status_code == 202, response.text
    return {"refused": 0, **response.get_json()}


# A relay ------------------------------------------------------------------------------------------


def test_dropping_reports_lowers_the_count(make, post):
    """The other reports hide among fewer."""
    parties = make(batch=5)
    devices = parties.fill(10)
    kept = inner_reports(parties.relay_store)[:6]
    assert receipt(post(parties, *kept)) == {"accepted": 6, "duplicates": 0, "refused": 0}
    assert parties.counted() == 6 < len(devices)
    # Devices cannot detect it: every retry gets the same response.
    answers = {parties.send(device).get_data() for device in devices}
    assert len(answers) == 1


def test_repeated_reports_are_counted_once(make, post):
    parties = make(batch=2)
    parties.fill(3)
    [one, other, _] = inner_reports(parties.relay_store)
    assert receipt(post(parties, one, one, other)) == {
        "accepted": 2,
        "duplicates": 1,
        "refused": 0,
    }
    assert receipt(post(parties, other, one)) == {"accepted": 0, "duplicates": 2, "refused": 0}
    assert parties.counted() == 2


def test_splitting_a_batch_does_not_change_counts(make, post):
    """The collector learns at most what relay and collector learn by colluding."""
    parties = make(batch=2)
    parties.fill(6)
    for sealed in inner_reports(parties.relay_store):
        assert receipt(post(parties, sealed))["accepted"] == 1
    alone = cells(parties)
    assert sum(map(sum, alone)) == 6
    parties.close()
    assert cells(parties) == alone


def test_added_reports_make_the_count_exceed_that_of_the_relay(make, post):
    """Anyone can add reports by answering often. Reports of others are unchanged."""
    parties = make(batch=2)
    parties.fill(2)
    honest = inner_reports(parties.relay_store)
    keys = parties.relay.extensions["halftruth"].sealing_keys
    made = Device((1, 2))
    outer = base64.b64decode(made.sealed(parties.survey)["sealed"])
    size = parties.survey.report_space.packed_size
    added = open_envelope(keys, parties.survey.digest, made.relay_id, outer, size)
    assert receipt(post(parties, *honest, added))["accepted"] == 3
    assert cells(parties)[1][2] == 1
    # The count exceeds the number that the relay holds, which shows the attack.
    assert parties.counted() == 3 > parties.held()


def test_a_relay_that_adds_reports_drops_others_and_reads_the_counts_learns_a_report(make, post):
    """No collusion is needed, so the promise assumes that a relay does neither."""
    parties = make(batch=5)
    asked = Device((1, 2))
    assert parties.send(asked).status_code == 202
    [target] = inner_reports(parties.relay_store)
    parties.fill(4)
    keys = parties.relay.extensions["halftruth"].sealing_keys
    size, digest = parties.survey.report_space.packed_size, parties.survey.digest

    def opened(device):
        outer = base64.b64decode(device.sealed(parties.survey)["sealed"])
        return open_envelope(keys, digest, device.relay_id, outer, size)

    own = [Device((0, n % 3)) for n in range(4)]
    assert receipt(post(parties, target, *map(opened, own)))["accepted"] == 5
    left = cells(parties)
    for device in own:
        left[device.values[0]][device.values[1]] -= 1
    assert left[asked.values[0]][asked.values[1]] == sum(map(sum, left)) == 1
    # The numbers of relay and collector are equal.
    assert parties.counted() == parties.held() == 5


def test_random_bytes_of_anybody_fill_a_batch_without_changing_results(make):
    """They need no token, and only the collector can tell them from reports."""
    parties = make(batch=3)
    relay, digest = parties.survey.relay, parties.survey.digest
    inner = relayed_size(parties.survey.report_space.packed_size)
    hpke = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
    for _ in range(2):
        junk = Device((0, 0))
        info = b"halftruth relay envelope 1\n" + bytes.fromhex(digest) + junk.relay_id.bytes
        key = X25519PublicKey.from_public_bytes(bytes.fromhex(relay.key))
        sealed = hpke.encrypt(secrets.token_bytes(inner), key, info=info)
        report = {"id": str(junk.relay_id), "sealed": base64.b64encode(sealed).decode()}
        body = {"digest": digest, "reports": [report]}
        assert parties.http.post(parties.path, json=body).status_code == 202
    assert parties.send(Device((1, 2))).status_code == 202
    assert parties.held() == 3
    parties.close()
    found = cells(parties)
    assert found[1][2] == sum(map(sum, found)) == 1
    [day] = parties.store.reports.daily_outcomes("health")
    assert day.refused == {"report-error": 2}


def test_a_relay_cannot_alter_reports_or_send_them_to_another_survey(make, post):
    parties = make(batch=2)
    parties.fill(2)
    [one, other] = inner_reports(parties.relay_store)
    forged = (
        bytes([one[0] ^ 1]) + one[1:],
        one[:-1],
        one + b"\0",
        other[:-1] + bytes([other[-1] ^ 1]),
        b"",
    )
    assert receipt(post(parties, *forged)) == {"accepted": 0, "duplicates": 0, "refused": 5}
    [day] = parties.store.reports.daily_outcomes("health")
    assert day.refused == {"report-error": 5}
    twin = replace(parties.survey, id="twin")
    collecting.publish_survey(parties.store, twin)
    token = collecting.create_token(parties.store, "relay", "twin")
    body = {"digest": twin.digest, "relayed": [base64.b64encode(one).decode()]}
    response = parties.collector.test_client().post(
        "/v1/surveys/twin/reports", json=body, headers={"Authorization": f"Bearer {token}"}
    )
    assert receipt(response) == {"accepted": 0, "duplicates": 0, "refused": 1}


# A collector --------------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", ["url", "key", "sealing_key", "batch", "release"])
def test_changing_the_relay_of_a_survey_changes_its_digest(make, changed, tmp_path, caplog):
    """The relay accepts only the registered digest, and logs that the collector publishes another.

    Giving different keys to different respondents gives different digests, of which it accepts one.
    """
    parties = make(batch=5)
    other_key = create_sealing_key(tmp_path / "collector.pem")
    new = {
        "url": "http://127.0.0.1:1",
        "key": create_sealing_key(tmp_path / "relay.pem"),
        "sealing_key": other_key,
        "batch": 2,
        "release": "batches",
    }
    told = parties.survey
    asked = Relay(
        **{name: getattr(told.relay, name) for name in new if name != changed},
        **{changed: new[changed]},
    )
    changed_survey = replace(told, relay=asked)
    assert changed_survey.digest != told.digest
    # It may replace the survey before the first report, but the relay refuses those reports.
    collecting.publish_survey(parties.store, changed_survey)
    report = Device((0, 0)).sealed(changed_survey)
    for digest in (changed_survey.digest, told.digest):
        body = {"digest": digest, "reports": [report]}
        response = parties.http.post(parties.path, json=body)
        assert response.status_code in (409, 422), response.text
    assert parties.held() == 0
    parties.fill(6)
    with caplog.at_level(logging.ERROR):
        parties.passing().look()
    assert "publishes another digest: reports are taken under the registered one" in caplog.text
    # Nor does it get reports under the registered digest.
    parties.close()
    assert (parties.held(), parties.counted()) == (6, 0)
    parties.survey = changed_survey
    with pytest.raises(ParameterError):
        parties.register()


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"invitations": True}, "invitations"),
        ({"max_reports": 3}, "max_reports"),
        ({"sealing_key": "ab" * 32}, "sealing_key"),
    ],
)
def test_a_collector_cannot_set_terms_that_distinguish_reports(make, terms, field):
    parties = make()
    with pytest.raises(ParameterError) as refusal:
        collecting.set_terms(parties.store, "health", terms)
    assert refusal.value.field == field


def test_a_collector_that_floods_a_batch_is_limited_but_learns_a_report(make):
    """Subtracting its own reports from a batch leaves the single report of a respondent.

    So the promise assumes that the other respondents are honest, and the audit states what floods
    do. The rate limit by address makes them costly.
    """
    parties = make({"rate_limit": "9 per hour", "proxies": 1}, batch=10)
    flood = [Device((0, 0)) for _ in range(9)]
    address = {"X-Forwarded-For": "192.0.2.9"}
    assert parties.send(*flood, **address).status_code == 202
    refused = parties.send(Device((0, 0)), **address)
    assert refused.status_code == 429
    assert refused.get_json()["detail"].startswith("reports: expected at most 9 per 1 hour")
    assert parties.send(Device((1, 2)), **{"X-Forwarded-For": "192.0.2.10"}).status_code == 202
    parties.close()
    found = cells(parties)
    found[0][0] -= len(flood)
    assert found[1][2] == sum(map(sum, found)) == 1


@pytest.mark.parametrize(("reports", "counted"), [(9, 0), (10, 10)])
def test_closing_early_releases_a_whole_batch_or_none(make, reports, counted, caplog):
    parties = make(batch=10)
    parties.fill(reports)
    collecting.close_survey(parties.store, "health", confirm="health")
    parties.passing().look()
    assert parties.counted() == counted
    assert ("fewer than the 10 of a batch" in caplog.text) == (counted == 0)
    # It cannot reopen the survey at the relay to get further reports one by one.
    assert parties.send(Device((0, 0))).status_code == 409


def test_a_receipt_of_a_wrong_number_of_reports_is_ignored(make, caplog):
    """A receipt with another number of reports deletes none of them."""
    parties = make(batch=2)
    parties.fill(3)
    relaying.close(parties.relay_store, "health", confirm="health")
    parties.store.reports.count = lambda batch: Receipt(accepted=len(batch.ids) - 1, duplicates=0)
    parties.passing().look()
    assert parties.held() == 3
    assert "3 reports of health are held: the receipt of 3 reports is not of as many" in caplog.text
