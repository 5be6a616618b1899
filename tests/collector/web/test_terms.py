"""The Python client and a collector: a signed, sealed and invited survey whose key changes.

The parts are tested in `tests/client/` and `tests/collector/intake/`.
"""

import pytest
from halftruth_client import Client, RequestRefused, SurveyRefused
from halftruth_collector import operations
from halftruth_shared.protocol.sealing import create_sealing_key, retire_sealing_key
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms


@pytest.fixture
def app(store, sealing_app):
    return sealing_app


def test_a_client_follows_the_keys_of_a_signed_sealed_and_invited_survey(
    live, store, survey, record, sealing_key, key_file, counted
):
    alice, bob = OperatorKey.create(), OperatorKey.create()
    client = Client(live.url, max_gamma="19", operator_keys=[alice.public], retries=0)

    def seal_to(public, by=alice):
        terms = Terms(invitations=True, sealing_key=public)
        operations.set_terms(store, "health", terms, sign(by, survey.digest, terms))

    with pytest.raises(SurveyRefused) as unsigned:
        client.survey("health")
    assert unsigned.value.field == "operator_keys"
    seal_to(sealing_key)
    first, second, third = operations.create_invitations(store, "health", 3)
    fetched = client.survey("health")
    assert client.submit(fetched, record, invitation=first).status == "accepted"
    with pytest.raises(RequestRefused) as spent:
        client.submit(fetched, record, invitation=first)
    assert (spent.value.status, spent.value.field) == (403, "invitation")
    assert first not in str(spent.value)
    # The client has the old key, which is first replaced and then retired.
    seal_to(create_sealing_key(key_file))
    assert client.submit(fetched, record, invitation=second).status == "accepted"
    retire_sealing_key(key_file, sealing_key)
    assert client.submit(fetched, record, invitation=third).status == "accepted"
    assert counted() == 3
    seal_to(None, bob)
    with pytest.raises(SurveyRefused, match="not pinned"):
        client.survey("health")
