"""The output in docs/python.md is what Python prints, and the columns of its R script exist."""

import csv
import doctest
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from installed import program
from wire import listening

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "python.md").read_text(encoding="utf-8")
SCRIPT = (DOCS / "examples/analyse.R").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"
TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?")


class WithoutTime(doctest.OutputChecker):
    """Compares output except for the date and time when counts were read."""

    def check_output(self, want, got, optionflags):
        return super().check_output(TIME.sub("now", want), TIME.sub("now", got), optionflags)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Serve the simulated survey of the manual, with the files of its commands in the folder."""
    folder = tmp_path_factory.mktemp("work")
    shutil.copytree(DOCS / "examples", folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MPLBACKEND", "Agg")
        main(["survey", "publish", "work.toml"], standalone_mode=False)
        runpy.run_path("simulate.py")
        app = create_app(Config(database=f"sqlite:///{folder / 'halftruth.db'}"))
        store = app.extensions["halftruth"].store
        Path("analyst.token").write_text(
            operations.create_token(store, "analyst"), encoding="utf-8"
        )
        with listening(app) as url:
            yield SimpleNamespace(url=url, folder=folder)
        store.close()


def test_python_prints_what_the_manual_shows(work):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert len(blocks) == PAGE.count("```python") == 5
    assert ADDRESS in PAGE
    examples = "".join(blocks).replace(ADDRESS, work.url)
    test = doctest.DocTestParser().get_doctest(examples, {}, "python.md", "docs/python.md", 0)
    said = []
    doctest.DocTestRunner(WithoutTime()).run(test, out=said.append)
    assert "".join(said) == ""
    assert (work.folder / "bullied.png").read_bytes().startswith(b"\x89PNG")


def outputs(notebook):
    """Return the texts of all outputs by cell, without times, and a mark for each picture."""
    return [
        [
            {
                kind: "picture" if kind == "image/png" else TIME.sub("now", content)
                for kind, content in output.data.items()
            }
            for output in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_notebook_gives_the_outputs_that_it_shows(work):
    """After a change of tables or charts, ``make pictures`` writes them again."""
    pictures = runpy.run_path(str(DOCS / "pictures.py"))
    shown = nbformat.read(pictures["NOTEBOOK"], as_version=4)
    found = outputs(pictures["run_notebook"](work.url, work.folder))
    assert found == outputs(shown)
    assert sum("image/png" in each for cell in found for each in cell) == 3
    assert [cell.execution_count for cell in shown.cells if cell.cell_type == "code"] == [
        *range(1, len(found) + 1)
    ]
    assert (work.folder / "teams.pdf").read_bytes().startswith(b"%PDF")


def test_the_columns_of_the_r_script_exist(work):
    token = (work.folder / "analyst.token").read_text(encoding="utf-8")
    assert '"Bearer", token' in SCRIPT
    # The script is independent of the survey.
    assert not re.findall("team|workshop|bullied", SCRIPT.partition("\ngiven <-")[2])
    first = requests.get(
        f"{work.url}/v1/surveys/work/overview",
        {"format": "csv"},
        headers={"Authorization": f"Bearer {token}"},
        timeout=10,
    )
    usual = next(csv.DictReader(io.StringIO(first.text)))
    read = {
        "shares": ("overview", {}),
        "group": ("overview", {"where": "{question}={answer}".format(**usual)}),
        "cells": ("crosstab", {"attributes": "team,bullied"}),
    }
    for frame, (analysis, asked) in read.items():
        for name in asked:
            assert re.search(rf'"{analysis}", "\w+", {name} = \w+\)', SCRIPT)
        named = re.findall(rf"{frame}\$(\w+)(?! <-)\b", SCRIPT)
        [listed] = re.findall(rf"{frame}\[c\((.*)\)\]", SCRIPT)
        columns = {*named, *re.findall(r'"(\w+)"', listed)} - {"error"}
        if frame == "cells":
            columns |= {"team", "bullied"}
        answer = requests.get(
            f"{work.url}/v1/surveys/work/{analysis}",
            {**asked, "format": "csv"},
            headers={"Authorization": f"Bearer {token}"},
            timeout=10,
        )
        rows = [*csv.DictReader(io.StringIO(answer.text))]
        assert columns <= set(rows[0])
        assert {row["reports"] for row in rows} == {"8000"}
        assert {row["filter"] for row in rows} == {asked.get("where", "")}


@pytest.mark.parametrize("chosen", [["team=workshop", "team,bullied"], []])
def test_r_reads_the_same_numbers(work, chosen):
    script = [str(work.folder / "analyse.R"), work.url, "work", str(work.folder / "analyst.token")]
    script += chosen
    run = subprocess.run(
        [program("Rscript"), *script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert run.returncode == 0, run.stderr
    assert re.search(r"bullied\s+yes\s+0\.119", run.stdout)
    assert (chosen or ["age="])[0] in run.stdout


@pytest.mark.nightly
def test_the_examples_pass_the_type_checker(tmp_path):
    file = tmp_path / "examples.py"
    examples = doctest.DocTestParser().get_examples(PAGE)
    file.write_text("".join(example.source for example in examples), encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--config-file", DOCS.parent / "pyproject.toml", file]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
