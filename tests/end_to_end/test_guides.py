"""All commands of the guides work in the order of their page."""

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
from installed import needs_addons

DOCS = Path(__file__).parents[2] / "docs"

#: The survey that the guides refer to.
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

#: Reasons why some commands cannot be run here, by their beginnings.
ELSEWHERE = {
    "useradd": "makes an account of the system",
    "python3 -m venv": "installs; test_packages.py does",
    "/opt/halftruth/bin/pip": "installs; test_index.py does",
    "openapi-python-client": "generates; test_generated_clients.py does",
    "npx openapi-typescript": "generates; test_generated_clients.py does",
    "cp docker/systemd": "writes to /etc; tests/docker/test_units.py reads these units",
    "install docker/systemd": "writes to /usr/local; tests/docker/test_units.py runs this wrapper",
    "ln -s halftruthctl": "writes to /usr/local; tests/docker/test_units.py runs this wrapper",
    "halftruthctl": "needs the service's user; tests/docker/test_units.py runs this wrapper",
    "halftruth-relayctl": "needs the service's user; tests/docker/test_units.py runs this wrapper",
    "(umask 077; halftruthctl": "needs the service's user, as above",
    "systemctl": "needs systemd; tests/docker/test_units.py reads these units",
    "halftruth survey new": "asks questions; its own test answers them",
    "createdb": "the server of the tests has a database made already",
    "echo": "writes settings of containers and services",
    "digest": "needs a registry of images",
    "docker": "needs a container engine; tests/docker/ reads the files",
    "(umask 077; docker": "needs a container engine; tests/docker/ reads the files",
    "compose": "needs a container engine; tests/docker/ reads the files",
    "alias compose": "needs a container engine; tests/docker/ reads the files",
    "dask": "needs certificates; tests of reports in files have a cluster without",
    "export DASK_CONFIG": "needs certificates; tests of reports in files have a cluster without",
    'halftruth reports count "s3:': "needs an object store and a cluster",
    "halftruth reports count --scheduler": "needs a cluster",
    "halftruth relay status": "needs a relay; the add-on's tests of commands have it",
    "Rscript": "needs R; tests of the manual of Python and of weighted records have it",
}

#: Replacements for placeholders.
MEANT = {
    "/etc/halftruth/": "",
    "postgresql://halftruth@db.example.org/halftruth": "{postgresql}",
    "survey publish --unlisted": "survey publish health.toml --unlisted",
    "retire FILE OLD --confirm OLD --database URL": "retire sealing.keys {key} --confirm {key}"
    " --database {postgresql}",
    "--sealed-to PUBLIC": "--sealed-to {key}",
    "--sealed-to NEW": "--sealed-to {new}",
    "revoke PUBLIC --confirm PUBLIC": "revoke {key} --confirm {key}",
    # Hundreds of cards take seconds.
    "invite create health 500": "invite create health 5",
    " ID": " health",
    " FILE": " habits.toml",
    " SURVEY": " survey.toml",
}


#: The database with which the commands of each guide start.
DATABASES = {
    "analysing.md": "counted.db",
    "estimates.md": "counted.db",
    "field.md": "counted.db",
    "operating.md": "empty.db",
    "protocol.md": "empty.db",
    "python.md": "counted.db",
    "scaling.md": "counted.db",
    "surveyjs.md": "empty.db",
    "surveys.md": "empty.db",
    "threat-model.md": "counted.db",
    "waves.md": "empty.db",
}


def commands(page):
    """Yield the lines of each block and the commands within sentences in order.

    Names of commands without arguments are left out; test_analysing.py compares console blocks.
    """
    text = (DOCS / page).read_text(encoding="utf-8")
    parts = r"^```(\w*)\n(.*?)^```|`((?:halftruth|survey|admin|reports|analyse) [^`…]+)`"
    for language, block, words in re.findall(parts, text, re.M | re.S):
        if language == "sh":
            yield from filter(None, block.replace("\\\n", " ").splitlines())
        elif words and not is_name(line := f"halftruth {words.removeprefix('halftruth ')}"):
            yield " ".join(line.split())


def is_name(line):
    """Whether the text is only the name of a command, which requires arguments."""
    found, rest = main, shlex.split(line)[1:]
    while isinstance(found, click.Group) and rest:
        found = found.get_command(click.Context(found), rest.pop(0))
    if found is None or isinstance(found, click.Group):
        return True
    needs = any(each.required for each in found.params) or found.name in ("audit-log", "serve")
    return not rest and needs


def elsewhere(line):
    return [begin for begin in ELSEWHERE if line.startswith(begin)]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A folder with the files that the guides refer to, and databases with reports."""
    made = tmp_path_factory.mktemp("guides")
    shutil.copytree(DOCS / "examples", made, dirs_exist_ok=True)
    shutil.copyfile(DOCS / "examples" / "health.json", made / "questionnaire.json")
    for name in ("health", "habits", "survey"):
        (made / f"{name}.toml").write_text(SURVEY.format(id=name), encoding="utf-8")
    people = [f"{k % 2},{k % 3},{'mf'[k % 2]},{20 + k % 50}" for k in range(200)]
    lines = "\n".join(["smoker,drinks,sex,age", *people])
    (made / "people.csv").write_text(f"{lines}\n", encoding="utf-8")
    (made / "margins.toml").write_text("[town]\nbig = 0.3\nsmall = 0.7\n", encoding="utf-8")
    health = read_survey(made / "health.toml")
    batch = {"digest": health.digest, "reports": [{"id": str(uuid4()), "values": [0]}]}
    (made / "batches.ndjson").write_text(f"{json.dumps(batch)}\n", encoding="utf-8")
    for name, surveys in {
        "main.db": {"health": 0},
        "empty.db": {},
        "north.db": {"health": 500},
        "counted.db": {"health": 3_000, "work": 3_000, "nigeria": 3_000},
    }.items():
        with Store(f"sqlite:///{made / name}") as store:
            for survey, people in surveys.items():
                text = SURVEY.format(id=survey)
                if survey == "work":
                    text = (made / "work.toml").read_text(encoding="utf-8")
                publish(store, Survey.from_toml(text), people)
    return made


@pytest.fixture
def folder(template, tmp_path, monkeypatch):
    """A copy of the folder for one guide, as the working directory."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def publish(store, survey, people):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, len(a.categories), people) for a in survey.schema.attributes]
    records = np.stack(columns, axis=1)
    operations.publish_survey(store, survey)
    values = survey.perturbation.reports(records, rng).tolist()
    reports = [Report(id=uuid4(), values=row) for row in values]
    store.reports.add(survey.id, survey.digest, reports)


def run(line, patch, meanings):
    """Run a line, and return its output."""
    for words, meant in MEANT.items():
        line = re.sub(rf"{re.escape(words)}\b", lambda _, meant=meant: meant, line)
    line = os.path.expandvars(line.format(**meanings))
    words = shlex.split(line, comments=True)
    if words[0] == "export":
        patch.setenv(*words[1].split("=", 1))
        return ""
    assert words[0] == "halftruth", line
    if words[1] == "serve":
        # test_readme.py starts it, and the tests of the server cover its options.
        return str(serve.make_context("serve", words[2:]).params)
    words, file = (words[:-2], words[-1]) if ">" in words else (words, os.devnull)
    with redirect_stdout(io.StringIO()) as printed:
        main(words[1:])
    Path(file).write_text(printed.getvalue(), encoding="utf-8")
    return printed.getvalue()


@needs_addons
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


@needs_addons
def test_all_guides_are_covered_and_all_exceptions_are_used():
    lines = {file.name: [*commands(file.name)] for file in DOCS.glob("*.md")}
    # They need two servers, or an installed package: test_relay_manual.py and
    # test_added_analysis.py cover them.
    others = {"relay.md", "addons.md"}
    assert {page for page, found in lines.items() if found} == {*DATABASES, *others}
    found = {begin for page in lines.values() for line in page for begin in elsewhere(line)}
    assert found == set(ELSEWHERE)
