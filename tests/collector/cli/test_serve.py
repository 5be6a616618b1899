"""The settings and the environment that ``halftruth serve`` passes to the server."""

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from halftruth_collector.cli.serve import serve
from halftruth_collector.ops.settings import OTHER_VARIABLES, Config, describe_unknown_variables
from installed import needs_addons


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("2", "2")])
def test_blas_has_one_thread_unless_another_number_is_set(tmp_path, monkeypatch, given, threads):
    # monkeypatch records these first, so that it undoes the changes of the command.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.setenv("HALFTRUTH_DATABASE", "")
    os.environ.pop("OPENBLAS_NUM_THREADS")
    if given:
        os.environ["OPENBLAS_NUM_THREADS"] = given
    handed = []
    monkeypatch.setattr(os, "execv", lambda *_: handed.append(os.environ["OPENBLAS_NUM_THREADS"]))
    database = f"sqlite:///{tmp_path / 'halftruth.db'}"
    result = CliRunner().invoke(serve, ["--database", database], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert handed == [threads]


@pytest.fixture
def handed(monkeypatch):
    """Record the settings with which a command becomes a server."""
    monkeypatch.setenv("HALFTRUTH_DATABASE", "")
    given: list[dict[str, object]] = []
    monkeypatch.setattr(os, "execv", lambda _, words: given.append(json.loads(words[-1])))
    return given


@pytest.mark.parametrize(
    ("variables", "options", "expected"),
    [
        ({}, [], (2, 4)),
        ({"WORKERS": "7", "THREADS": "3"}, [], (7, 3)),
        ({"WORKERS": "7", "THREADS": "3"}, ["--workers", "5", "--threads", "6"], (5, 6)),
    ],
)
def test_numbers_of_processes_are_options_and_settings(
    command, handed, tmp_path, monkeypatch, variables, options, expected
):
    for name, text in variables.items():
        monkeypatch.setenv(f"HALFTRUTH_{name}", text)
    database = f"sqlite:///{tmp_path / 'halftruth.db'}"
    named = f"halftruth: new database {database}\n"
    assert command("serve", "--database", database, *options) == (0, "", named)
    # The next start creates none.
    assert command("serve", "--database", database, *options) == (0, "", "")
    del handed[1:]
    assert [(each["workers"], each["threads"]) for each in handed] == [expected]


@needs_addons
@pytest.mark.parametrize(("text", "expected"), [(None, 1), ("3", 3)])
def test_a_relay_has_one_process_unless_another_number_is_set(
    command, handed, tmp_path, key_file, sealing_key, monkeypatch, text, expected
):
    monkeypatch.setenv("HALFTRUTH_RELAY_KEYS", str(key_file))
    if text:
        monkeypatch.setenv("HALFTRUTH_WORKERS", text)
    database = f"sqlite:///{tmp_path / 'relay.db'}"
    named = f"halftruth: new database {database}\n"
    assert command("relay", "serve", "--database", database) == (0, "", named)
    assert [(each["workers"], each["program"]) for each in handed] == [(expected, "relay")]


def test_an_invalid_number_of_processes_stops_the_server(command, handed, tmp_path, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_WORKERS", "many")
    database = f"sqlite:///{tmp_path / 'halftruth.db'}"
    assert command("serve", "--database", database) == (
        *(2, "", "halftruth: HALFTRUTH_WORKERS: expected an integer from 1 to 64\n"),
    )
    assert handed == []


@pytest.mark.parametrize(
    "program", [["serve"], pytest.param(["relay", "serve"], marks=needs_addons)]
)
def test_unknown_variables_are_named_at_the_start_with_the_closest_setting(
    command, handed, tmp_path, key_file, sealing_key, monkeypatch, program
):
    monkeypatch.setenv("HALFTRUTH_RELAY_KEYS", str(key_file))
    # Of the containers, of another command, and of other programs.
    for name in ("HALFTRUTH_HOST", "HALFTRUTH_TOKEN", "HALFTRUTHS", "MAX_GAMA"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HALFTRUTH_MAX_GAMA", "secret")
    monkeypatch.setenv("HALFTRUTH_COLOUR", "secret")
    database = f"sqlite:///{tmp_path / 'new.db'}"
    status, said, warned = command(*program, "--database", database)
    assert (status, said) == (0, "")
    assert sorted(warned.splitlines()) == [
        "halftruth: HALFTRUTH_COLOUR: there is no such setting, so it has no effect;"
        " docs/operating.md lists the settings",
        "halftruth: HALFTRUTH_MAX_GAMA: there is no such setting, so it has no effect; did you mean"
        " HALFTRUTH_MAX_GAMMA?",
        f"halftruth: new database {database}",
    ]
    assert len(handed) == 1


def test_all_variables_of_this_project_are_known_and_the_settings_documented():
    root = Path(__file__).parents[3]
    files = [root / "README.md", *root.glob("docs/*.md"), *root.glob("docker/**/*")]
    files += root.glob("collector/halftruth_collector/cli/*.py")
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
    named = set(re.findall(r"(?<![A-Z_])HALFTRUTH_([A-Z_]*[A-Z])", text))
    settings = {name.upper() for name in Config.__struct_fields__}
    assert named == settings | OTHER_VARIABLES
    assert not settings & OTHER_VARIABLES
    assert describe_unknown_variables({f"HALFTRUTH_{name}": "" for name in named}) == []
    manual = (root / "docs/operating.md").read_text(encoding="utf-8")
    table = set(re.findall(r"^\| `HALFTRUTH_(\w+)` \|", manual, re.M))
    assert table == settings
