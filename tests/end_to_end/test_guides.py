"""Every command of the guides does what it says, in the order of its page."""

import io
import json
import os
import re
import shlex
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from uuid import uuid4

import click
import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.cli.serve import serve
from halftruth_collector.collector_store import Store
from halftruth_shared import Survey, read_survey
from halftruth_shared.protocol.reports import Report

DOCS = Path(__file__).parents[2] / "docs"

#: The survey that the guides speak of.
SURVEY = (DOCS / "examples" / "work.toml").read_text(encoding="utf-8").partition("[[")[0]
SURVEY = (
    SURVEY.replace('"work"', '"{id}"').replace('public = ["age"]\n', "")
    + """
[[attributes]]
name = "smoker"
categories = ["no", "yes"]

[[attributes]]
name = "sex"
categories = ["female", "male"]

[[attributes]]
name = "vote"
categories = ["left", "right"]

[[attributes]]
name = "age"
categories = ["young", "old"]
ordered = true

[[attributes]]
name = "town"
categories = ["big", "small"]

[[attributes]]
name = "symptoms"
kind = "several"
options = [{{ name = "cough" }}, {{ name = "fever" }}]
"""
)

#: Why some commands cannot be run here, by their beginnings.
ELSEWHERE = {
    "useradd": "makes an account of the system",
    "python3 -m venv": "installs; test_packages.py does",
    "cp docker/systemd": "writes to /etc; tests/docker/test_units.py reads these units",
    "systemctl": "needs systemd; tests/docker/test_units.py reads these units",
    "createdb": "the server of the tests has a database made already",
    "echo": "writes settings of containers",
    "digest": "needs a registry of images",
    "docker": "needs a container engine; tests/docker/ reads the files",
    "(umask 077; docker": "needs a container engine; tests/docker/ reads the files",
    "compose": "needs a container engine; tests/docker/ reads the files",
    "alias compose": "needs a container engine; tests/docker/ reads the files",
    "dask": "needs certificates; tests of reports in files have a cluster without",
    "export DASK_CONFIG": "needs certificates; tests of reports in files have a cluster without",
    'halftruth reports count "s3:': "needs an object store and a cluster",
    "halftruth reports count --scheduler": "needs a cluster",
    "Rscript": "needs R; tests of the manual of Python and of weighted records have it",
}

#: What words that stand for others are here.
MEANT = {
    "/etc/halftruth/": "",
    "postgresql://halftruth@db.example.org/halftruth": "{postgresql}",
    "survey publish --unlisted": "survey publish health.toml --unlisted",
    "survey delete ID": "survey delete health --confirm health",
    "retire FILE OLD --database URL": "retire sealing.keys {key} --database {postgresql}",
    "--sealed-to PUBLIC": "--sealed-to {key}",
    "--sealed-to NEW": "--sealed-to {new}",
    "revoke PUBLIC": "revoke {key}",
    # Cards of hundreds take seconds.
    "invite create health 500": "invite create health 5",
    " ID": " health",
    " FILE": " habits.toml",
    " SURVEY": " survey.toml",
}


#: The database that the commands of each guide begin with.
DATABASES = {
    "analysing.md": "counted.db",
    "estimates.md": "counted.db",
    "field.md": "counted.db",
    "operating.md": "empty.db",
    "python.md": "counted.db",
    "scaling.md": "counted.db",
    "surveyjs.md": "empty.db",
    "surveys.md": "empty.db",
    "threat-model.md": "counted.db",
    "waves.md": "empty.db",
}


def commands(page):
    """Iterate over the lines of each block, and commands within sentences, in their order.

    Names of commands alone, which need more, are left out; what a console shows is compared by
    test_analysing.py.
    """
    text = (DOCS / page).read_text(encoding="utf-8")
    parts = r"^```(\w*)\n(.*?)^```|`((?:halftruth|survey|admin|reports|analyse) [^`…]+)`"
    for language, block, words in re.findall(parts, text, re.M | re.S):
        if language == "sh":
            yield from filter(None, block.replace("\\\n", " ").splitlines())
        elif words and not is_name(line := f"halftruth {words.removeprefix('halftruth ')}"):
            yield " ".join(line.split())


def is_name(line):
    """Whether this is the name of a command alone, which needs more."""
    found, rest = main, shlex.split(line)[1:]
    while isinstance(found, click.Group) and rest:
        found = found.get_command(click.Context(found), rest.pop(0))
    if found is None or isinstance(found, click.Group):
        return True
    needs = any(each.required for each in found.params) or found.name in ("audit-log", "serve")
    return not rest and needs


def elsewhere(line):
    return [begin for begin in ELSEWHERE if line.startswith(begin)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the guides speak of, and databases with what was counted."""
    shutil.copytree(DOCS / "examples", tmp_path, dirs_exist_ok=True)
    shutil.copyfile(DOCS / "examples" / "health.json", tmp_path / "questionnaire.json")
    monkeypatch.chdir(tmp_path)
    for name in ("health", "habits", "survey"):
        Path(f"{name}.toml").write_text(SURVEY.format(id=name), encoding="utf-8")
    Path("margins.toml").write_text("[town]\nbig = 0.3\nsmall = 0.7\n", encoding="utf-8")
    health = read_survey("health.toml")
    batch = {"digest": health.digest, "reports": [{"id": str(uuid4()), "values": [0]}]}
    Path("batches.ndjson").write_text(f"{json.dumps(batch)}\n", encoding="utf-8")
    for name, surveys in {
        "main.db": {"health": 0},
        "empty.db": {},
        "north.db": {"health": 500},
        "counted.db": {"health": 3_000, "work": 3_000, "nigeria": 3_000},
    }.items():
        with Store(f"sqlite:///{name}") as store:
            for survey, people in surveys.items():
                text = SURVEY.format(id=survey)
                if survey == "work":
                    text = Path("work.toml").read_text(encoding="utf-8")
                publish(store, Survey.from_toml(text), people)
    return tmp_path


def publish(store, survey, people):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, len(a.categories), people) for a in survey.schema.attributes]
    records = np.stack(columns, axis=1)
    operations.publish_survey(store, survey)
    values = survey.perturbation.reports(records, rng).tolist()
    reports = [Report(id=uuid4(), values=row) for row in values]
    store.reports.add(survey.id, survey.digest, reports)


def run(line, patch, meanings):
    """Run a line, and return what it prints."""
    for words, meant in MEANT.items():
        line = re.sub(rf"{re.escape(words)}\b", lambda _, meant=meant: meant, line)
    line = os.path.expandvars(line.format(**meanings))
    words = shlex.split(line, comments=True)
    if words[0] == "export":
        patch.setenv(*words[1].split("=", 1))
        return ""
    assert words[0] == "halftruth", line
    if words[1] == "serve":
        # It is started by test_readme.py, and with options by the tests of the server.
        return str(serve.make_context("serve", words[2:]).params)
    words, file = (words[:-2], words[-1]) if ">" in words else (words, os.devnull)
    with redirect_stdout(io.StringIO()) as printed:
        main(words[1:])
    Path(file).write_text(printed.getvalue(), encoding="utf-8")
    return printed.getvalue()


@pytest.mark.parametrize(("page", "database"), DATABASES.items())
def test_every_command_of_a_guide_works(page, database, folder, monkeypatch, request):
    shutil.move(database, "halftruth.db")
    new = run("halftruth admin sealing-key create sealing.keys", monkeypatch, {})
    meanings = {"new": new.strip()}
    if page == "operating.md":
        meanings["postgresql"] = request.getfixturevalue("postgresql_without_tables")
    for line in commands(page):
        if not elsewhere(line):
            printed = run(line, monkeypatch, meanings)
            assert printed or line.startswith("export "), line
            if "key create" in line:
                meanings["key"] = printed.split()[-1]


def test_no_guide_is_left_out_and_no_reason_is_for_nothing():
    lines = {file.name: [*commands(file.name)] for file in DOCS.glob("*.md")}
    # Its lines need two servers: test_relay_manual.py walks through them.
    assert {page for page, found in lines.items() if found} == {*DATABASES, "relay.md"}
    found = {begin for page in lines.values() for line in page for begin in elsewhere(line)}
    assert found == set(ELSEWHERE)
