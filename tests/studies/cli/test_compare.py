"""``halftruth study compare``: from records and hierarchies to a table and a figure."""

import csv
import io
import json
from functools import partial

import numpy as np
import pytest
from refusals import assert_one_line

ASKED = ("--quasi", "town,sex", "--sensitive", "illness", "--l", "2", "--repetitions", "1")


def records(rng):
    towns, sexes, illnesses = ("A1", "A2", "B1"), ("f", "m"), ("flu", "cold", "none")
    for _ in range(400):
        yield [rng.choice(towns), rng.choice(sexes), rng.choice(illnesses), "somebody"]


@pytest.fixture
def compare(command):
    """Return a runner of the command."""
    return partial(command, "study", "compare")


@pytest.fixture
def folder(tmp_path):
    rows = list(records(np.random.default_rng(1)))
    lines = [",".join(row) for row in rows]
    (tmp_path / "records.csv").write_text("\n".join(["town,sex,illness,name", *lines]) + "\n")
    counted = sorted({line: lines.count(line) for line in lines}.items())
    for file, column in (("counts.csv", "people"), ("pilot.csv", "count")):
        header = f"town,sex,illness,name,{column}"
        (tmp_path / file).write_text("\n".join([header, *(f"{line},{n}" for line, n in counted)]))
    (tmp_path / "hierarchies.toml").write_text('[[town]]\nA = ["A1", "A2"]\n')
    return tmp_path


def test_releases_are_printed_as_a_table(compare, folder):
    status, said, complaint = compare(folder / "records.csv", *ASKED)
    assert (status, complaint) == (0, "")
    assert said.startswith("400 people; quasi-identifiers town, sex; sensitive illness; means of 1")
    for kind in ("generalization", "anatomy", "randomized", "split-questionnaire", "the people"):
        assert f"\n{kind} " in said
    assert "promises γ = 19 to everybody and knows no l" in said


def test_counted_records_give_the_same_result(compare, folder):
    found = [
        json.loads(compare(folder / file, *ASKED, "--json", *more)[1])
        for file, more in (
            ("records.csv", ()),
            ("counts.csv", ("--count", "people")),
            ("pilot.csv", ()),
        )
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]["people"] == 400


def test_a_hierarchy_generalizes_less_than_suppression(compare, folder):
    given = ("--hierarchies", folder / "hierarchies.toml", "--json", "--l", "2")
    found = json.loads(compare(folder / "records.csv", *ASKED[:-4], *given)[1])
    [parameters] = found["parameters"]
    assert parameters["levels"]["town"] in (["A1", "A2", "B1"], ["A", "B1"], ["*"])


def test_csv_has_a_row_per_release(compare, folder):
    _, said, _ = compare(folder / "records.csv", *ASKED, "--csv", "--pair", "town,sex")
    rows = list(csv.DictReader(io.StringIO(said)))
    assert [row["kind"] for row in rows] == [
        "generalization", "anatomy", *["randomized"] * 3, *["split-questionnaire"] * 3,
    ]  # fmt: skip
    assert float(rows[1]["uncertainty town sex"]) >= 0


def test_the_plot_shows_the_requested_measure(compare, folder):
    picture = folder / "lost.svg"
    compare(folder / "records.csv", *ASKED, "--plot", picture, "--measure", "cube_error")
    assert "Releases compared: mean relative error of the cube" in picture.read_text()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (("--quasi", "town", "--sensitive", "age", "--l", "2"), "no column 'age'; the file has:"),
        ((*ASKED, "--count", "name"), "record 1: column 'name': expected how many people"),
        ((*ASKED, "--hierarchies", "missing.toml"), "hierarchies: expected a TOML file"),
        (("--quasi", "town,illness", "--sensitive", "illness", "--l", "2"), "'illness' is named"),
    ],
)
def test_invalid_input_is_a_one_line_error(compare, folder, given, complaint):
    assert_one_line(compare(folder / "records.csv", *given), complaint, never=["somebody"])
