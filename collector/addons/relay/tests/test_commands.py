"""The commands of a relay's operator."""

import json
import os
import tomllib

import pytest
from halftruth_collector.store.audit import ACTOR
from halftruth_shared.protocol.sealing import SealingKeys
from halftruth_shared.protocol.signed_tickets import TicketKeys
from relays import Device


@pytest.fixture
def relay(command, relay_database, tmp_path, monkeypatch):
    """Return a function that runs a relay command and returns status, output and errors."""
    monkeypatch.setenv("HALFTRUTH_RELAY_KEYS", str(tmp_path / "relay.pem"))
    monkeypatch.setenv("HALFTRUTH_DATABASE", relay_database)
    return lambda *words: command("relay", *words)


def test_a_survey_from_registration_to_purge(make, relay, relay_database, monkeypatch):
    parties, named = make(batch=2), f"halftruth: database {relay_database}\n"
    url, digest = parties.survey.relay.url, parties.survey.digest
    monkeypatch.setenv("HALFTRUTH_TOKEN", parties.token)
    words = ("register", parties.url, "health", "--digest", digest)
    status, said, complaint = relay(*words)
    assert (status, said) == (2, "")
    assert complaint == (
        "halftruth: HALFTRUTH_RELAY_URL: expected the address of this relay, as the survey names"
        " it\n"
    )
    monkeypatch.setenv("HALFTRUTH_RELAY_URL", url)
    assert relay(*words) == (
        0,
        f"registered health with digest {digest}, until the collector closes it\n"
        "passes on at least 2 reports, or none\n",
        named,
    )
    parties.send(Device((0, 0)))
    assert relay("close", "health", "--confirm", "health") == (
        0,
        "health is closed; the running relay passes its reports on\n",
        named,
    )
    parties.passing().look()
    said = relay("status")[1]
    fields = said.splitlines()[2].split()
    assert fields == ["health", digest[:12], "withheld", "1", "0", "0", "–", "2", parties.url]
    assert "health: 1 reports are fewer than a batch, and are not passed on" in said
    assert relay("purge")[1] == "no survey that closed 30 days ago still has ids\n"
    words = ("purge", "--closed-for", "0", "--confirm", "health")
    assert relay(*words)[1] == "health: 1 ids and 1 reports deleted\n"
    assert relay("close", "none")[2] == "halftruth: this relay takes no reports of 'none'\n"
    assert ACTOR.get() == "command line"


def test_keys_are_created_and_listed(command, tmp_path):
    file = tmp_path / "keys.pem"
    made = [tomllib.loads(command("relay", "key", "create", file)[1]) for _ in range(2)]
    keys = SealingKeys.read(file)
    assert [each["key"] for each in reversed(made)] == list(keys.public)
    assert [each["tickets_key"] for each in reversed(made)] == list(TicketKeys(keys).public)
    listed = command("relay", "key", "list", file)[1]
    assert all(key in listed for each in made for key in each.values())


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (
            {"HALFTRUTH_RELAY_KEYS": None},
            "HALFTRUTH_RELAY_KEYS: expected the file of the relay's private keys, as 'halftruth"
            " relay key create' makes it",
        ),
        (
            {"HALFTRUTH_RELAY_URL": "relay.example.org"},
            "HALFTRUTH_RELAY_URL: expected the relay's address without a slash at its end, such as"
            " https://relay.example.org",
        ),
    ],
)
def test_a_relay_does_not_start_with_invalid_settings(
    make, relay, monkeypatch, settings, complaint
):
    make()
    for name, value in settings.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    assert relay("serve") == (2, "", f"halftruth: {complaint}\n")


def test_a_relay_is_served_by_the_server_of_collectors(make, relay, monkeypatch):
    make()
    started = []
    monkeypatch.setattr(os, "execv", lambda _, words: started.append(words))
    assert relay("serve", "--port", "0", "--quiet")[0] == 0
    [[_, _, program, options]] = started
    assert program == "halftruth_collector.server.serve"
    assert json.loads(options) == {
        "program": "relay",
        "module": "halftruth_relay.app",
        "host": "127.0.0.1",
        "port": 0,
        "workers": 1,
        "threads": 1,
        "quiet": True,
    }
