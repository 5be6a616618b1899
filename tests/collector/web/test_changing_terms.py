"""How reports are taken is changed term by term: by command, over HTTP and on the page."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from halftruth_collector import operations
from halftruth_collector.survey_file import of_survey
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import create_sealing_key
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from msgspec.structs import replace

ADDRESS = "/operate/surveys/health"
MOMENT = datetime(2031, 3, 31, 22, tzinfo=UTC)
OPTIONS = {
    "invitations": "invitations",
    "sealing_key": "sealed-to",
    "closes_at": "closes-at",
    "max_reports": "max-reports",
    "shared_devices": "shared-devices",
}


pytestmark = pytest.mark.usefixtures("http")


@pytest.fixture
def app(store, sealing_app, key_file, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_SEALING_KEYS", str(key_file))
    return sealing_app


@pytest.fixture
def every(sealing_key):
    """Every term set."""
    return Terms(
        invitations=True,
        sealing_key=sealing_key,
        closes_at=MOMENT,
        max_reports=500,
        shared_devices=True,
    )


@pytest.fixture
def other(key_file):
    """Another value of each term, and what stands for it in the audit log."""
    new = create_sealing_key(key_file)
    later = datetime(2032, 1, 1, 8, 30, tzinfo=UTC)
    return {
        "invitations": (False, "no"),
        "sealing_key": (new, new),
        "closes_at": (later, "2032-01-01T08:30:00Z"),
        "max_reports": (700, "700"),
        "shared_devices": (False, "no"),
    }


def asked(value):
    return f"{value:%Y-%m-%dT%H:%M:%SZ}" if isinstance(value, datetime) else str(value)


def words(name, value):
    """The options of a command by which a term gets a value."""
    option = OPTIONS[name]
    if value is None or value is False:
        return [f"--no-{option}"]
    return [f"--{option}"] if value is True else [f"--{option}", asked(value)]


@pytest.fixture
def by_command(done):
    return lambda name, value: done("survey", "terms", "health", *words(name, value))


@pytest.fixture
def by_publishing(done, tmp_path, survey):
    file = tmp_path / "health.toml"
    file.write_text(of_survey(survey))
    return lambda name, value: done("survey", "publish", file, *words(name, value))


@pytest.fixture
def by_http(http, operator):
    def change(name, value):
        value = asked(value) if isinstance(value, datetime) else value
        body = {"terms": {name: value}}
        answer = http.patch("/v1/surveys/health/terms", json=body, headers=operator)
        assert answer.status_code == 200, answer.text

    return change


def form_of(page):
    """What a browser would send of the page's form of terms, if nobody touched it."""
    form = re.search(rf'<form method="post" action="{ADDRESS}/terms".*?</form>', page, re.S)[0]
    filled = {}
    for tag in re.findall("<input[^>]*>", form):
        member = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if member.get("type") != "checkbox" or "checked" in tag:
            filled[member["name"]] = unescape(member.get("value", ""))
    filled["sealing_key"] = re.search(
        '<option value="([^"]*)" selected', form + '<option value="" selected'
    )[1]
    return filled


@pytest.fixture
def by_page(http, store):
    http.post("/sign-in", data={"token": operations.create_token(store, "operator")})

    def change(name, value):
        filled = form_of(http.get(ADDRESS).text)
        filled[name] = asked(value).removesuffix("Z") if value is not None else ""
        if value is True:
            filled[name] = "true"
        elif value is False:
            del filled[name]
        answer = http.post(f"{ADDRESS}/terms", data=filled)
        assert answer.status_code == 303, answer.text

    return change


@pytest.fixture(params=["by_command", "by_publishing", "by_http", "by_page"])
def change(request):
    return request.getfixturevalue(request.param)


def test_each_term_survives_a_change_of_each_other_one_and_its_change_is_logged(
    change, store, every, other
):
    for name, (value, written) in other.items():
        operations.set_terms(store, "health", every)
        output = change(name, value)
        assert store.surveys.get("health").terms == replace(every, **{name: value})
        entry = store.audit.all()[-1]
        old = asked(getattr(every, name)).replace("True", "yes")
        assert f"{name}: {old} → {written}" in entry.detail.split("; ")
        assert entry.detail.count("→") == 1
        assert output is None or f"{name}: {old} → {written}" in output


def test_each_term_is_dropped_by_name_alone(change, store, every):
    defaults = Terms()
    for name in OPTIONS:
        operations.set_terms(store, "health", every)
        change(name, getattr(defaults, name))
        dropped = replace(every, **{name: getattr(defaults, name)})
        assert store.surveys.get("health").terms == dropped
        assert re.search(f"{name}: .* → n", store.audit.all()[-1].detail)


def test_terms_without_options_are_shown_and_stay(done, store, survey, every):
    operations.set_terms(store, "health", every, sign(OperatorKey.create(), survey.digest, every))
    before = store.surveys.get("health"), store.audit.all()
    assert done("survey", "terms", "health") == (
        "health: nothing changed\nhealth: with invitations, sealed, until 2031-03-31 22:00:00 UTC,"
        " at most 500 reports, several people on a device, signed\n"
    )
    assert (store.surveys.get("health"), store.audit.all()) == before


def test_a_value_and_none_of_a_term_are_refused_together(halftruth, store):
    options = ["--max-reports", "5", "--no-max-reports"]
    refused = (2, "", "halftruth: max_reports: expected either a value or none\n")
    assert halftruth("survey", "terms", "health", *options) == refused


def test_a_signature_is_dropped_by_name_alone(
    halftruth, done, http, operator, store, survey, every
):
    key = OperatorKey.create()
    signature = sign(key, survey.digest, every)
    http.post("/sign-in", data={"token": operations.create_token(store, "operator")})

    def signed():
        operations.set_terms(store, "health", every, signature)
        return len(store.audit.all())

    def unchanged(count):
        stored = store.surveys.get("health")
        assert (stored.terms, stored.signature, len(store.audit.all())) == (every, signature, count)

    def dropped():
        stored = store.surveys.get("health")
        assert (stored.terms, stored.signature) == (replace(every, max_reports=9), None)
        assert f"signature: {key.public} → none" in store.audit.all()[-1].detail

    count = signed()
    changing = ["survey", "terms", "health", "--max-reports", "9"]
    assert f"the terms are signed by {key.public}" in halftruth(*changing)[2]
    unchanged(count)
    assert f"signature: {key.public} → none" in done(*changing, "--no-signature")
    dropped()

    count, patch = signed(), {"terms": {"max_reports": 9}}
    address = "/v1/surveys/health/terms"
    answer = http.patch(address, json=patch, headers=operator)
    assert (answer.status_code, answer.get_json()["field"]) == (422, "signature")
    unchanged(count)
    assert (
        http.patch(address, json={**patch, "signature": None}, headers=operator).status_code == 200
    )
    dropped()

    count = signed()
    filled = form_of(http.get(ADDRESS).text) | {"max_reports": "9"}
    answer = http.post(f"{ADDRESS}/terms", data=filled)
    assert answer.status_code == 422
    assert f"the terms are signed by {key.public}" in answer.text
    unchanged(count)
    answer = http.post(f"{ADDRESS}/terms", data={**filled, "unsigned": "true"})
    assert answer.status_code == 303
    dropped()


def test_a_page_that_was_opened_before_a_change_elsewhere_does_not_undo_it(
    by_page, http, store, every, other
):
    operations.set_terms(store, "health", every)
    filled = form_of(http.get(ADDRESS).text)
    new, _ = other["sealing_key"]
    operations.set_terms(store, "health", {"sealing_key": new})
    assert http.post(f"{ADDRESS}/terms", data={**filled, "max_reports": "9"}).status_code == 303
    assert store.surveys.get("health").terms == replace(every, sealing_key=new, max_reports=9)


def test_a_survey_that_replaces_another_keeps_its_terms(store, survey, every):
    operations.set_terms(store, "health", every)
    other = Survey("health", "Other", survey.schema, survey.mechanism)
    operations.publish_survey(store, other)
    assert store.surveys.get("health").terms == every
    assert store.audit.all()[-1].detail == other.digest
    key = OperatorKey.create()
    operations.set_terms(store, "health", every, sign(key, other.digest, every))
    operations.publish_survey(store, survey)
    assert store.surveys.get("health").signature is None
    said = f"{survey.digest}; signature: {key.public} → none"
    assert store.audit.all()[-1].detail == said
