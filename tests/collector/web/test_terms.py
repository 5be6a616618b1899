"""What the Python client makes of terms and signatures that change over HTTP."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from databases import on_both
from halftruth_client import Client, RequestRefused, SurveyRefused
from halftruth_collector import operations
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import ParameterError
from halftruth_shared.protocol.sealing import create_sealing_key, retire_sealing_key

pytestmark = on_both

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
