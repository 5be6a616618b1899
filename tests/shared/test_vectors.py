"""The package gives the reports of tests/vectors, which were computed without it.

Whoever writes another client holds it against the same files.
"""

import importlib.util
import json
from pathlib import Path

import pytest
from halftruth_shared import Survey

VECTORS = Path(__file__).parents[1] / "vectors"
MECHANISMS = [
    "gamma-diagonal",
    "randomized-gamma-diagonal",
    "randomized-response",
    "distortion-matrices",
]


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="ascii"))["vectors"]


class KnownBytes:
    """The rule of docs/protocol.md over bytes that are known: b leading bits, or once more."""

    def __init__(self, text):
        self.bytes, self.consumed = bytes.fromhex(text), 0

    def __call__(self, k):
        size = (k.bit_length() + 7) // 8
        while True:
            taken = self.bytes[self.consumed : self.consumed + size]
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


@pytest.mark.parametrize(("vector", "draw"), [d for kind in MECHANISMS for d in all_draws(kind)])
def test_known_bytes_give_the_known_report(vector, draw):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    source = KnownBytes(draw["bytes"])
    report = survey.mechanism.perturb(survey.schema, survey.schema.encode(draw["record"]), source)
    assert list(report) == draw["values"]
    assert source.consumed == draw["consumed"] < len(source.bytes)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_surveys_of_vectors_have_their_digest(kind):
    for vector in vectors(kind):
        assert Survey.from_json(json.dumps(vector["survey"])).digest == vector["digest"]


@pytest.mark.parametrize("vector", vectors("canonical"))
def test_a_survey_has_the_canonical_bytes_however_it_was_written(vector):
    survey = Survey.from_json(vector["received"])
    assert survey.canonical_json == vector["canonical"].encode()
    assert survey.digest == vector["digest"]


@pytest.mark.parametrize("vector", vectors("integers"), ids=lambda v: v["below"][:20])
def test_known_bytes_give_the_known_integers(vector):
    source = KnownBytes(vector["bytes"])
    k = int(vector["below"])
    assert [source(k) for _ in vector["integers"]] == list(map(int, vector["integers"]))
    assert source.consumed == vector["consumed"]


def test_the_vectors_have_what_they_are_for():
    # Rejected draws, kept and changed values, and numbers of more than 64 bits.
    draws = [draw for kind in MECHANISMS for _, draw in (d.values for d in all_draws(kind))]
    assert sum(draw["bytes"].startswith("ff" * 64) for draw in draws) >= 20
    for kind in MECHANISMS:
        for vector in vectors(kind):
            answers = {a["name"]: a["categories"] for a in vector["survey"]["attributes"]}
            changed = [
                answers[name].index(draw["record"][name]) != value
                for draw in vector["draws"]
                for name, value in zip(answers, draw["values"], strict=True)
            ]
            # Of a survey whose answers are sent as they are, none is changed.
            assert any(changed) or vector["survey"]["id"] in {"all-kept"}, vector["survey"]["id"]
    assert max(draw["consumed"] for draw in draws if draw["bytes"][:4] != "ffff") > 16


def test_the_generator_gives_the_committed_files():
    path = VECTORS / "generate.py"
    assert "halftruth" not in path.read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location("generate_vectors", path)
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    made = generate.files()
    assert set(made) == {file.name for file in VECTORS.glob("*.json")}
    for name, text in made.items():
        assert (VECTORS / name).read_text(encoding="ascii") == text, name
