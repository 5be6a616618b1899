"""``halftruth study rivals``: comparison of schemes on a file of records."""

import csv
import io
import json
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest
from refusals import assert_one_line


@pytest.fixture
def rivals(command):
    """Return a runner of the command."""
    return partial(command, "study", "rivals")


@pytest.fixture
def records(tmp_path):
    """Create a file with 300 records of three columns, one of which has empty values."""
    rng = np.random.default_rng(1)
    rows = ["smoker,drinks,town"]
    for smoker, drinks, town in rng.integers(0, 2, (300, 3)):
        rows.append(f"{'yes' if smoker else 'no'},{('never', 'daily')[drinks]},{('', 'A')[town]}")
    file = tmp_path / "records.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_all_schemes_are_tried_on_the_records_of_a_file(rivals, records):
    status, out, err = rivals(records, "--json", "--surveys", 1)
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert (result["records"], result["gamma"], result["surveys"]) == (300, 19, 1)
    assert [scheme["scheme"] for scheme in result["schemes"]] == [
        "gamma-diagonal",
        "randomized gamma-diagonal",
        "MASK",
        "EMASK",
        "cut-and-paste, K = 3",
        "randomized response",
        "split questionnaire",
        "split questionnaire, best guess",
    ]
    for scheme in result["schemes"]:
        assert [length["length"] for length in scheme["lengths"]] == [1, 2, 3]
        # Two categories each, all of them frequent.
        assert [length["frequent"] for length in scheme["lengths"]] == [6, 12, 8]


def test_the_table_lists_omitted_schemes(rivals, records):
    status, out, _ = rivals(records, "--surveys", 1, "--gamma", "4", "--max-length", 2)
    assert status == 0
    assert "300 records, amplification 4" in out
    assert "left out: cut-and-paste, K = 3: gamma: expected an amplification above 4" in out
    assert "posterior of a property with a prior of 5\u202f%" in out


def test_csv_has_a_row_per_scheme_and_length(rivals, records):
    status, out, _ = rivals(records, "--csv", "--surveys", 1, "--max-length", 2)
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["scheme"], row["length"]) for row in rows[:3]] == [
        ("gamma-diagonal", "1"),
        ("gamma-diagonal", "2"),
        ("randomized gamma-diagonal", "1"),
    ]
    split = [row for row in rows if row["scheme"] == "split questionnaire"]
    assert [row["condition_number"] for row in split] == ["", ""]


def test_a_line_can_count_several_people(rivals, tmp_path):
    file = tmp_path / "counts.csv"
    file.write_text("a,people,b\nno,300,x\nyes,100,x\nno,200,y\n", encoding="utf-8")
    asked = ("--count", "people", "--json", "--surveys", 1, "--min-support", "0.5")
    status, out, _ = rivals(file, *asked)
    assert status == 0
    result = json.loads(out)
    assert result["records"] == 600
    # a = no, b = x, and both together.
    assert [length["frequent"] for length in result["schemes"][0]["lengths"]] == [2, 1]


def test_a_measure_can_be_plotted(rivals, records, tmp_path):
    picture = tmp_path / "errors.svg"
    asked = ("--surveys", 1, "--plot", picture, "--measure", "condition-number")
    status, _, err = rivals(records, *asked)
    assert (status, err) == (0, f"drawn: {picture}\n")
    assert ElementTree.parse(picture).getroot()[0].text == "Condition numbers by length"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "records: expected a line with the names of the columns, and records"),
        (b"a,b\n1,2\nsecret\n", "record 2: expected 2 values, got 1"),
        (b"a,b\nsecret,1\nsecret,2\n", "attribute 'a': expected 2 to 65536 categories, got 1"),
        (b"a\n\xff\n", "expected CSV in UTF-8"),
        (b"a\nx\x07secret\ny\n", "expected text of 1 to 256 characters"),
        (
            b"age\n" + b"".join(b"%d\n" % k for k in range(201)),
            "column 'age': expected categories, 200 at most, got 201 different values; cut numbers"
            " into ranges, or leave it out",
        ),
    ],
)
def test_an_invalid_file_is_refused_without_quoting_its_answers(rivals, tmp_path, content, said):
    file = tmp_path / "records.csv"
    file.write_bytes(content)
    assert_one_line(rivals(file), said, never=["secret"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--gamma", "1"), "gamma: expected an amplification above 1"),
        (("--surveys", "0"), "0 is not in the range x>=1"),
        (("--json", "--csv"), "expected one of them"),
        (("--plot", "picture.txt"), "plot: expected a file name that ends in one of"),
    ],
)
def test_options_out_of_range_are_a_one_line_error(rivals, records, options, said):
    assert_one_line(rivals(records, *options), said)
