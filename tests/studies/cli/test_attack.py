"""``halftruth study attack``: what it says of a file, and that it says nothing of anybody in it."""

import csv
import io
import json
from functools import partial

import numpy as np
import pytest
from halftruth_studies.attacks.assessment import assess
from refusals import assert_one_line

NAMES = ["age", "income", "rent"]


def people(n=400, seed=1):
    """Income goes with age, and rent with income."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    income = 500 * age + 3_000 * rng.standard_normal(n)
    return np.column_stack([age, income, income / 4 + 300 * rng.standard_normal(n)]).round(6)


@pytest.fixture
def attack(command):
    """Run the command."""
    return partial(command, "study", "attack")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    rows = "\n".join(",".join(map(repr, row)) for row in people().tolist())
    path.write_text(f"{','.join(NAMES)}\n{rows}\n", encoding="utf-8")
    return str(path)


def test_it_says_what_each_attack_leaves_of_each_attributes_noise():
    values = people(4_000)
    found = assess(NAMES, values, "0.5sd")
    assert [a.attribute for a in found.attributes] == NAMES
    for attribute, sd in zip(found.attributes, values.std(axis=0), strict=True):
        assert attribute.standard_deviation == pytest.approx(sd)
        assert attribute.noise == pytest.approx(sd / 2)
        left = {each.attack: each.error for each in attribute.remaining}
        # 4 000 records: five standard errors are 6 %.
        assert left["NDR"] == pytest.approx(sd / 2, rel=0.06)
        assert left["BE-DR"] < left["UDR"] < left["NDR"]
        assert attribute.best == min(left, key=left.get)
        assert attribute.removed == pytest.approx(1 - (min(left.values()) / left["NDR"]) ** 2)


def test_correlated_noise_hides_more_than_independent_noise_of_the_same_size():
    values = people(4_000)
    independent, alike = (assess(NAMES, values, "0.5sd", correlated=c) for c in (False, True))
    assert alike.dissimilarity == pytest.approx(0, abs=1e-9)
    assert independent.dissimilarity > 0.1
    for one, other in zip(independent.attributes, alike.attributes, strict=True):
        assert one.removed > other.removed
        # Of normal attributes a fifth: 1 − 1/(1 + 1/4). Of evenly spread ones a little more.
        assert other.removed == pytest.approx(0.2, abs=0.06)


def test_a_seed_gives_the_same_again_and_another_one_nearly_the_same():
    one, same, other = (assess(NAMES, people(), "3", seed=seed) for seed in (1, 1, 2))
    assert one == same != other


def test_a_single_attribute_has_no_correlations():
    found = assess(["age"], people()[:, :1], "10")
    assert found.dissimilarity is None
    assert found.attributes[0].noise == 10


def test_the_command_says_it_in_words_and_as_files(attack, file, tmp_path):
    pictures = tmp_path / "left.svg"
    status, said, _ = attack(file, "--noise", "0.5sd", "--plot", pictures)
    assert status == 0
    for word in (*NAMES, "no γ", "categories are bins", "Least is hidden of", "seed 1"):
        assert word in said
    assert "What is left of the noise" in pictures.read_text(encoding="utf-8")
    printed = json.loads(attack(file, "--noise", "0.5sd", "--json")[1])
    assert [each["attribute"] for each in printed["attributes"]] == NAMES
    rows = list(csv.DictReader(io.StringIO(attack(file, "--noise", "0.5sd", "--csv")[1])))
    assert len(rows) == 3 * 5
    best = [row["attack"] for row in rows if row["best"] == "True"]
    assert best == [each["best"] for each in printed["attributes"]]


def test_columns_can_be_chosen_and_the_others_hold_anything(attack, tmp_path):
    path = tmp_path / "mixed.csv"
    rows = [f"{i % 7},name {i},{i % 3}" for i in range(60)]
    path.write_text("\n".join(["a,name,b", *rows]), encoding="utf-8")
    status, said, _ = attack(path, "--noise=2", "--attributes=b,a", "--json")
    assert status == 0
    assert [each["attribute"] for each in json.loads(said)["attributes"]] == ["b", "a"]


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",), ("--correlated",)])
def test_no_true_number_is_printed(attack, file, form):
    said = attack(file, "--noise", "5", *form)[1]
    assert not [value for value in people().ravel().tolist() if repr(value) in said]


@pytest.mark.parametrize("noise", ["0", "0sd", "nan", "9" * 60])
def test_a_noise_that_is_none_is_named_with_what_would_be_accepted(attack, file, noise):
    said = "noise: expected a standard deviation above 0, such as 5"
    assert_one_line(attack(file, f"--noise={noise}"), said)


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("a,b\n1,2\n1,hush-hush\n", (), "line 3: attribute 'b': expected a number"),
        ("a,b\n1,1e60\n", (), "line 2: attribute 'b': expected a number"),
        ("a,b\n1,2\n", ("--attributes", "c"), "attributes: expected names of columns"),
        ("a,b\n1,2\n", ("--attributes", "a,a"), "expected different names of columns"),
        ("a,b\n" + "1,2\n" * 19, (), "records: expected at least 20"),
        ("a,b\n" + "1,2\n3,2\n" * 20, (), "attribute 'b': expected numbers that differ"),
        ("a\n" + "1e40\n2e40\n" * 20, (), "noise: expected more than is lost in rounding"),
        ("a,b\n1,d\udcffily\n", (), "expected CSV in UTF-8"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line_without_its_numbers(
    attack, tmp_path, content, options, said
):
    path = tmp_path / "people.csv"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert_one_line(attack(path, "--noise", "5", *options), said, never=["hush-hush"])
