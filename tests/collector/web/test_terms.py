"""Terms and signatures over HTTP, and what the Python client makes of them."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from databases import on_both
from halftruth_client import Client, RequestRefused, SurveyRefused
from halftruth_collector import operations
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import ParameterError
from halftruth_shared.protocol.sealing import create_sealing_key, retire_sealing_key

pytestmark = on_both

URL = "/v1/surveys/health/terms"
#: Terms are shown with all that was left out.
LEFT_OUT = {"closes_at": None, "max_reports": None, "shared_devices": False}
PLAIN = {"invitations": False, "sealing_key": None, **LEFT_OUT}
INVITED = {"invitations": True, "sealing_key": None, **LEFT_OUT}


class Operator:
    """Signs as the protocol says, with nothing of the program under test."""

    def __init__(self):
        self._private = Ed25519PrivateKey.generate()
        self.public = self._private.public_key().public_bytes_raw().hex()

    def sign(self, digest, terms, purpose="halftruth survey 1"):
        members = [
            f'"digest":"{digest}"',
            f'"invitations":{json.dumps(terms["invitations"])}',
            f'"sealing_key":{json.dumps(terms["sealing_key"])}',
        ]
        message = f"{purpose}\n{{{','.join(members)}}}".encode()
        return {"key": self.public, "value": self._private.sign(message).hex()}


@pytest.fixture
def alice():
    return Operator()


@pytest.fixture
def app(store, sealing_app):
    return sealing_app


@pytest.fixture
def restart(database, app, key_file):
    """Let the application go on as if it had been started again, with the keys that there are."""

    def again():
        app.extensions["halftruth"].store.close()
        new = create_app(Config(database=database, sealing_keys=key_file))
        app.extensions["halftruth"] = new.extensions["halftruth"]

    return again


@pytest.fixture
def put(http, operator):
    def send(terms, signature=None, to="health"):
        body = {"terms": terms, "signature": signature}
        return http.patch(f"/v1/surveys/{to}/terms", json=body, headers=operator)

    return send


@pytest.fixture
def shown(http):
    """Terms and signature as anyone is shown them."""

    def read():
        document = http.get("/v1/surveys/health").get_json()
        return document["terms"], document["signature"]

    return read


def refused(response, status, field):
    assert response.status_code == status, response.text
    assert response.mimetype == "application/problem+json"
    document = response.get_json()
    assert document["field"] == field
    assert "\n" not in document["detail"]
    return document["detail"]


def test_signed_terms_are_shown_to_anyone(put, shown, alice, survey, sealing_key):
    for terms in (PLAIN, INVITED, {"invitations": True, "sealing_key": sealing_key, **LEFT_OUT}):
        signature = alice.sign(survey.digest, terms)
        answer = put(terms, signature)
        assert answer.status_code == 200, answer.text
        assert (answer.get_json()["terms"], answer.get_json()["signature"]) == (terms, signature)
        assert shown() == (terms, signature)
        message = b'halftruth survey 1\n{"digest":"%s","invitations":%s,"sealing_key":%s}' % (
            survey.digest.encode(),
            json.dumps(terms["invitations"]).encode(),
            json.dumps(terms["sealing_key"]).encode(),
        )
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(shown()[1]["key"]))
        public.verify(bytes.fromhex(shown()[1]["value"]), message)


def test_a_signature_of_anything_else_is_refused(put, shown, alice, survey, sealing_key):
    put(INVITED, alice.sign(survey.digest, INVITED))
    before = shown()
    good = alice.sign(survey.digest, PLAIN)
    sealed = {"invitations": False, "sealing_key": sealing_key, **LEFT_OUT}
    wrong = {
        "other terms": alice.sign(survey.digest, INVITED),
        "another key of sealing": alice.sign(survey.digest, sealed),
        "another digest": alice.sign("0" * 64, PLAIN),
        "another purpose": alice.sign(survey.digest, PLAIN, "halftruth survey 2"),
        "another operator": {**good, "key": Operator().public},
        "a bit": {**good, "value": f"{int(good['value'], 16) ^ 1:0128x}"},
        "nothing": {**good, "value": "0" * 128},
    }
    for name, signature in wrong.items():
        response = put(PLAIN, signature)
        assert "signature" in refused(response, 422, "signature"), name
        assert shown() == before, name


def test_what_is_not_hexadecimal_is_refused(put, shown, alice, survey, sealing_key):
    good = alice.sign(survey.digest, PLAIN)

    def spoilt(text):
        return [
            "",
            text[:-1],
            text + "0",
            text.upper(),
            "g" + text[1:],
            " " + text[1:],
            text + "\n",
        ]

    for key in spoilt(good["key"]):
        refused(put(PLAIN, {**good, "key": key}), 422, "signature.key")
    for value in spoilt(good["value"]):
        if value != good["value"]:
            refused(put(PLAIN, {**good, "value": value}), 422, "signature")
    for key in spoilt(sealing_key):
        refused(put({"invitations": False, "sealing_key": key}), 422, "sealing_key")
    assert shown() == (PLAIN, None)


@pytest.mark.parametrize(
    "body",
    [
        *("[]", "{}", '{"terms": null}', '{"terms": []}', '{"terms": {"invitations": 1}}'),
        *('{"terms": {"invitations": "true"}}', '{"terms": {"sealing_key": 7}}'),
        *('{"terms": {}, "signature": {}}', '{"terms": {}, "signature": "x"}'),
        *('{"terms": {}, "signature": {"key": "x"}}', '{"terms": {}, "survey": {}}'),
        '{"terms": {"invitatons": true}}',
        '{"terms": {}, "signature": {"key": "x", "value": "y", "date": "z"}}',
    ],
)
def test_a_body_of_another_shape_is_refused(http, operator, shown, body):
    refused(http.patch(URL, data=body, headers=operator), 422, "body")
    assert shown() == (PLAIN, None)


def test_a_client_takes_signed_sealed_and_invited_surveys_all_the_way(
    live, restart, store, put, alice, survey, record, sealing_key, key_file, counted
):
    client = Client(live.url, max_gamma="19", operator_keys=[alice.public], retries=0)
    with pytest.raises(SurveyRefused) as unsigned:
        client.survey("health")
    assert unsigned.value.field == "operator_keys"

    # Signed, and plain.
    put(PLAIN, alice.sign(survey.digest, PLAIN))
    assert client.submit(client.survey("health"), record).status == "accepted"

    # Sealed: what the client knows is outdated, and it looks for itself.
    sealed = {"invitations": False, "sealing_key": sealing_key, **LEFT_OUT}
    put(sealed, alice.sign(survey.digest, sealed))
    assert client.submit(client.survey("health"), record).status == "accepted"

    # Invited, too.
    both = {"invitations": True, "sealing_key": sealing_key, **LEFT_OUT}
    put(both, alice.sign(survey.digest, both))
    first, second = operations.create_invitations(store, "health", 2)
    fetched = client.survey("health")
    with pytest.raises(ParameterError, match="invitation"):
        client.submit(fetched, record)
    assert client.submit(fetched, record, invitation=first).status == "accepted"
    with pytest.raises(RequestRefused) as spent:
        client.submit(fetched, record, invitation=first)
    assert (spent.value.status, spent.value.field) == (403, "invitation")
    assert first not in str(spent.value)
    assert counted() == 3

    # Another key of sealing, while this client seals to the old one.
    new = create_sealing_key(key_file)
    restart()
    newer = {"invitations": True, "sealing_key": new, **LEFT_OUT}
    assert put(newer, alice.sign(survey.digest, newer)).status_code == 200
    assert client.submit(fetched, record, invitation=second).status == "accepted"
    retire_sealing_key(key_file, sealing_key)
    restart()
    [third] = operations.create_invitations(store, "health", 1)
    assert client.submit(fetched, record, invitation=third).status == "accepted"
    assert counted() == 5

    # Another operator's key.
    bob = Operator()
    put(newer, bob.sign(survey.digest, newer))
    with pytest.raises(SurveyRefused, match="not pinned"):
        client.survey("health")
    Client(live.url, max_gamma="19", operator_keys=[alice.public, bob.public]).survey("health")
    operations.revoke_key(store, bob.public)
    with pytest.raises(SurveyRefused, match="there is none"):
        Client(live.url, max_gamma="19", operator_keys=[bob.public]).survey("health")


def test_a_retry_whose_answer_was_lost_is_a_duplicate_and_not_a_spent_invitation(
    live, store, put, record, tmp_path, counted
):
    """The report was counted and its invitation spent, but the client never heard of it."""
    put(INVITED)
    [invitation] = operations.create_invitations(store, "health", 1)
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db", retries=0)
    fetched = client.survey("health")
    lost = []

    def lose(response):
        if response.status_code == 202 and not lost:
            lost.append(response.get_json())
            response.status_code = 503
        return response

    live.app.after_request_funcs.setdefault(None, []).append(lose)
    submission = client.submit(fetched, record, invitation=invitation)
    assert (submission.status, lost) == ("waiting", [{"accepted": 1, "duplicates": 0}])
    delivery = client.flush()
    assert (delivery.accepted, delivery.duplicates, delivery.waiting) == (0, 1, 0)
    assert counted() == 1
