"""The package's reports match tests/vectors, which were computed independently.

Other clients can be tested with the same files.
"""

import base64
import importlib.util
import json
from pathlib import Path
from uuid import UUID

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from halftruth_shared import (
    RecordError,
    Relay,
    ReportError,
    ReportSpace,
    SignatureError,
    Survey,
    SurveyError,
)
from halftruth_shared.mechanisms import MECHANISMS
from halftruth_shared.number import NumberRange
from halftruth_shared.protection import Protection
from halftruth_shared.protocol.sealing import (
    SealingKeys,
    open_envelope,
    open_relayed,
    open_sealed,
    seal,
    seal_for_relay,
)
from halftruth_shared.protocol.signing import OperatorKey, sign, statement, verify
from halftruth_shared.protocol.terms import Signature, Terms

VECTORS = Path(__file__).parents[1] / "vectors"
KINDS = [mechanism.kind for mechanism in MECHANISMS]


def vectors(name, member="vectors"):
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="ascii"))[member]


class KnownBytes:
    """The rule of docs/protocol.md with known bytes: take b leading bits, and retry if rejected."""

    def __init__(self, text):
        self.known, self.consumed = bytes.fromhex(text), 0

    def __call__(self, k):
        size = (k.bit_length() + 7) // 8
        while True:
            taken = self.known[self.consumed : self.consumed + size]
            assert len(taken) == size, "more bytes were asked for than the vector has"
            self.consumed += size
            number = int.from_bytes(taken) >> (8 * size - k.bit_length())
            if number < k:
                return number


def all_draws(kind):
    return [
        pytest.param(vector, draw, id=f"{vector['survey']['id']}-{i}")
        for vector in vectors(kind)
        for i, draw in enumerate(vector["draws"])
    ]


@pytest.mark.parametrize(("vector", "draw"), [d for kind in KINDS for d in all_draws(kind)])
def test_known_bytes_give_the_report_of_the_vectors(vector, draw):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    source = KnownBytes(draw["bytes"])
    report = survey.perturbation.report(survey.schema.encode(draw["record"]), source)
    assert list(report) == draw["values"]
    assert source.consumed == draw["consumed"] < len(source.known)


class KnownIntegers(KnownBytes):
    """Generator for one record, with the integers of known bytes."""

    def integers(self, low, high, *, size, dtype):
        return np.array([low + self(high - low) for _ in range(size)], dtype=dtype)

    def bytes(self, count):
        taken = self.known[self.consumed : self.consumed + count]
        self.consumed += count
        return taken


#: Kinds whose sampler for many records uses the same integers as that for one record.
SAME_INTEGERS = ["distortion-matrices", "split-questionnaire"]


@pytest.mark.parametrize(("vector", "draw"), [d for kind in SAME_INTEGERS for d in all_draws(kind)])
def test_known_bytes_give_the_report_of_the_vectors_to_many_records(vector, draw):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    source = KnownIntegers(draw["bytes"])
    [report] = survey.perturbation.reports([survey.schema.encode(draw["record"])], source)
    assert report.tolist() == draw["values"]


@pytest.mark.parametrize("kind", KINDS)
def test_surveys_have_the_digest_of_the_vectors(kind):
    for vector in vectors(kind):
        assert Survey.from_json(json.dumps(vector["survey"])).digest == vector["digest"]


@pytest.mark.parametrize("vector", vectors("canonical"))
def test_surveys_have_the_canonical_json_of_the_vectors(vector):
    survey = Survey.from_json(vector["received"])
    assert survey.canonical_json == vector["canonical"].encode()
    assert survey.digest == vector["digest"]


@pytest.mark.parametrize(
    "vector", vectors("questions", "numbers"), ids=lambda v: v["categories"][0]
)
def test_numbers_are_in_the_bins_of_the_vectors(vector):
    number = NumberRange(**vector["members"])
    assert list(number.categories) == vector["categories"]
    assert {answer: number.bin(answer) for answer in vector["bins"]} == vector["bins"]
    assert [answer for answer in vector["refused"] if number.bin(answer) is not None] == []


def test_questions_have_the_attributes_of_the_vectors():
    schema = Survey.from_json(json.dumps(vectors("questions", "survey"))).schema
    assert [
        {"name": a.name, "categories": list(a.categories), "missing": list(a.missing)}
        for a in schema.attributes
    ] == vectors("questions", "attributes")


@pytest.mark.parametrize("vector", vectors("questions", "records"))
def test_records_have_the_codes_of_the_vectors(vector):
    schema = Survey.from_json(json.dumps(vectors("questions", "survey"))).schema
    assert list(schema.encode(vector["record"])) == vector["codes"]
    assert list(schema.encode(schema.decode(vector["codes"]))) == vector["codes"]


@pytest.mark.parametrize("record", vectors("questions", "refused"))
def test_infeasible_records_are_refused(record):
    schema = Survey.from_json(json.dumps(vectors("questions", "survey"))).schema
    with pytest.raises(RecordError):
        schema.encode(record)


@pytest.mark.parametrize("vector", vectors("integers"), ids=lambda v: v["below"][:20])
def test_known_bytes_give_the_integers_of_the_vectors(vector):
    source = KnownBytes(vector["bytes"])
    k = int(vector["below"])
    assert [source(k) for _ in vector["integers"]] == list(map(int, vector["integers"]))
    assert source.consumed == vector["consumed"]


@pytest.mark.parametrize("vector", vectors("signed"))
def test_known_keys_give_the_signatures_of_the_vectors(vector):
    key = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(vector["seed"])))
    terms = msgspec.convert(vector["terms"], Terms)
    assert statement(vector["digest"], terms).decode() == vector["statement"]
    made = sign(key, vector["digest"], terms)
    assert made == Signature(key=vector["public"], value=vector["value"])
    verify(made, vector["digest"], terms, {vector["public"]})


@pytest.mark.parametrize("vector", vectors("signed", "refused"), ids=lambda v: v["why"])
def test_invalid_signatures_are_refused(vector):
    signature = msgspec.convert(vector["signature"], Signature | None)
    terms = msgspec.convert(vector["terms"], Terms)
    with pytest.raises(SignatureError):
        verify(signature, vector["digest"], terms, vector["pins"])


def sealing_keys(vector, member="recipient_private"):
    private = X25519PrivateKey.from_private_bytes(bytes.fromhex(vector[member]))
    return SealingKeys((private,))


def report_space(vector):
    return ReportSpace(tuple(f"a{j}" for j in range(len(vector["shape"]))), tuple(vector["shape"]))


@pytest.mark.parametrize("vector", vectors("sealed"))
def test_sealed_reports_of_the_vectors_are_opened(vector):
    keys, shape = sealing_keys(vector), report_space(vector)
    assert keys.public == (vector["recipient_public"],)
    bound = vector["digest"], UUID(vector["id"])
    packed = shape.pack(vector["values"])
    assert packed.hex() + (vector["invitation"] or "") == vector["plaintext"]
    invited = vector["invitation"] is not None
    for sealed in (
        base64.b64decode(vector["sealed"], validate=True),
        seal(vector["recipient_public"], *bound, packed, vector["invitation"]),
    ):
        opened = open_sealed(keys, *bound, sealed, shape.packed_size, invited)
        assert opened == (packed, vector["invitation"])
        assert shape.check(shape.unpack(opened[0])) == tuple(vector["values"])


@pytest.mark.parametrize("vector", vectors("sealed", "refused"), ids=lambda v: v["why"])
def test_invalid_sealed_reports_are_not_opened(vector):
    keys, shape = sealing_keys(vector), report_space(vector)
    sealed = base64.b64decode(vector["sealed"], validate=True)
    with pytest.raises(ReportError, match="cannot be opened"):
        open_sealed(
            keys,
            vector["digest"],
            UUID(vector["id"]),
            sealed,
            shape.packed_size,
            vector["invitations"],
        )


@pytest.mark.parametrize("vector", vectors("relayed"))
def test_a_relay_opens_the_envelope_and_the_collector_the_report(vector):
    collector, relay = (sealing_keys(vector, f"{who}_private") for who in ("collector", "relay"))
    ids = report_id, relay_id = UUID(vector["id"]), UUID(vector["relay_id"])
    shape, digest = report_space(vector), vector["digest"]
    packed, size = shape.pack(vector["values"]), shape.packed_size
    keys = Relay(url="https://relay", key=relay.public[0], sealing_key=collector.public[0], batch=2)
    for sealed in (
        base64.b64decode(vector["sealed"], validate=True),
        seal_for_relay(keys, digest, *ids, packed),
    ):
        inner = open_envelope(relay, digest, relay_id, sealed, size)
        assert open_relayed(collector, digest, inner, size) == (report_id, packed)
    inner = open_envelope(relay, digest, relay_id, base64.b64decode(vector["sealed"]), size)
    assert inner == base64.b64decode(vector["relayed"], validate=True)
    # Neither opens reports for the other, of another survey, under another id, or altered.
    other = "d1" * 32
    for attempt in (
        lambda: open_envelope(collector, digest, relay_id, sealed, size),
        lambda: open_envelope(relay, other, relay_id, sealed, size),
        lambda: open_envelope(relay, digest, report_id, sealed, size),
        lambda: open_envelope(relay, digest, relay_id, sealed[:-1], size),
        lambda: open_envelope(relay, digest, relay_id, bytes([sealed[0] ^ 1]) + sealed[1:], size),
        lambda: open_envelope(relay, digest, relay_id, inner, size),
        lambda: open_relayed(relay, digest, inner, size),
        lambda: open_relayed(collector, other, inner, size),
        lambda: open_relayed(collector, digest, inner + b"\0", size),
        lambda: open_relayed(collector, digest, inner[:-1] + bytes([inner[-1] ^ 1]), size),
        lambda: open_relayed(collector, digest, sealed, size),
    ):
        with pytest.raises(ReportError, match="cannot be opened"):
            attempt()


@pytest.mark.parametrize("made", vectors("relayed", "accepted"))
def test_a_survey_with_a_relay_can_be_read_and_published(made):
    survey = Survey.from_json(json.dumps(made))
    assert json.loads(survey.canonical_json)["relay"] == made["relay"]


@pytest.mark.parametrize("made", vectors("series", "accepted"))
def test_a_survey_of_a_series_can_be_read_and_published(made):
    survey = Survey.from_json(json.dumps(made))
    assert json.loads(survey.canonical_json)["series"] == made["series"]


@pytest.mark.parametrize("vector", [*vectors("relayed", "refused"), *vectors("series", "refused")])
def test_an_invalid_relay_or_series_is_refused_in_one_line_with_the_field(vector):
    with pytest.raises(SurveyError) as refused:
        Survey.from_json(json.dumps(vector["survey"]))
    assert refused.value.field == vector["field"]
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("vector", vectors("protection"), ids=lambda vector: vector["survey"]["id"])
def test_promises_match_the_vectors(vector):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    assert Protection.of(survey).sentences() == vector["sentences"]


def test_the_generator_gives_the_committed_files():
    path = VECTORS / "generate.py"
    assert "halftruth_" not in path.read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location("generate_vectors", path)
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    made = generate.files()
    assert set(made) == {file.name for file in VECTORS.glob("*.json")}
    for name, text in made.items():
        assert (VECTORS / name).read_text(encoding="ascii") == text, name
