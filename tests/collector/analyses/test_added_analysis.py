"""A package adds an analysis, an importer, an exporter and a command by its entry points."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from installed import needs_addons

ADDED = Path(__file__).parent / "added"
TESTS = Path(__file__).parents[2]
EXAMPLE = TESTS.parent / "docs" / "examples" / "at-least"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install the example of the manual; return the environment of programs that find it."""
    folder = tmp_path_factory.mktemp("added")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", folder, EXAMPLE], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, TESTS / "support")))}


def run(installed, *words, status=0):
    done = subprocess.run(
        [sys.executable, "-m", "halftruth_collector", *map(str, words)],
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def asked(installed, tmp_path_factory):
    """Return what a collector with the analysis answered, and its database."""
    database = tmp_path_factory.mktemp("asked") / "work.db"
    done = subprocess.run(
        [sys.executable, ADDED / "ask.py", database],
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), f"sqlite:///{database}"


def test_an_added_analysis_is_offered_everywhere(asked):
    """The share of people with at least two of three options."""
    found, _ = asked
    truth = (np.array(found["records"]).sum(axis=1) >= 2).mean()
    [share] = found["http"]["estimates"]["value"]
    [error] = found["http"]["estimates"]["standard_error"]
    assert abs(share - truth) < 3 * error < 0.1
    assert found["command"]["estimates"]["value"] == [share]
    assert found["python"] == pytest.approx(share)
    assert found["openapi"]
    assert found["http"]["claims"][0]["kind"] == "estimate"
    # Its sentences and the name of its quantity, with labels on its page and names elsewhere.
    said = "choose 2 or more options of {}."
    counted = "Counted are the options of {}: tired, sad, ill."
    assert said.format("felt") in found["http"]["headline"]
    [caveat] = found["http"]["caveats"]
    assert caveat["values"] == {"question": "felt", "options": ["tired", "sad", "ill"]}
    for text in (said, counted):
        assert text.format("“How did you feel yesterday?”") in found["page"]
    assert "share with so many" in found["page"]
    # Links from other pages keep its level.
    assert "/results/feelings/at-least?question=felt&amp;confidence=0.9&amp;" in found["menu"]


@needs_addons
def test_an_added_importer_reads_its_files(installed, tmp_path):
    file = tmp_path / "habits.lines"
    file.write_text("Do you smoke?: no, yes\nHow often do you drink?: never, sometimes, daily\n")
    done = run(installed, "survey", "import", file)
    assert 'label = "How often do you drink?"' in done.stdout
    assert done.stdout.count("[[attributes]]") == 2
    file.write_text("Do you smoke?\n")
    done = run(installed, "survey", "import", file, status=2)
    assert "or lines of questions (.lines) or " in done.stderr
    (tmp_path / "q.json").write_text("[1]")
    done = run(installed, "survey", "import", tmp_path / "q.json", status=2)
    assert "lines of questions" in done.stderr


@needs_addons
def test_an_added_exporter_writes_records(installed, asked, tmp_path):
    _, database = asked
    words = ["analyse", "microdata", "feelings", "--database", database, "--output"]
    run(installed, *words, tmp_path / "records.tsv")
    with open(tmp_path / "records.tsv", newline="") as file:
        rows = [*csv.DictReader(file, dialect="excel-tab")]
    assert len({(row["felt_tired"], row["felt_sad"], row["felt_ill"]) for row in rows}) == 8
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(4_000)
    # The exporter says which files there are.
    assert [file.name for file in tmp_path.iterdir()] == ["records.tsv"]
    done = run(installed, *words, tmp_path / "records.sav", status=2)
    assert "expected a file that ends in one of .codebook.txt, .csv, .parquet, .tsv" in done.stderr


@needs_addons
def test_an_added_command_is_listed_and_runs(installed, tmp_path):
    assert "  options  List the questions" in run(installed, "--help").stdout
    file = tmp_path / "survey.toml"
    file.write_text(
        'id = "s"\ntitle = "S"\n[mechanism]\nkind = "gamma-diagonal"\ngamma = "19"\n'
        '[[attributes]]\nname = "felt"\nkind = "several"\n'
        'options = [{name = "sad"}, {name = "ill"}]\n'
    )
    assert run(installed, "options", file).stdout == "felt: sad, ill\n"


def test_a_broken_add_on_is_named(installed, tmp_path):
    folder = tmp_path / "broken-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[halftruth.commands]\nwrong = nowhere:command\n")
    path = {**installed, "PYTHONPATH": str(tmp_path)}
    done = run(path, "--help", status=2)
    assert done.stderr == (
        "halftruth: the add-on 'wrong' of the package broken cannot be imported:"
        " No module named 'nowhere'\n"
    )
    # What needs no add-ons runs.
    run(path, "survey", "--help")
