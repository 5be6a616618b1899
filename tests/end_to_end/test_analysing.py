"""The output shown in the walk-through pages is what their commands print."""

import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
from field_data import NIGERIA, published
from halftruth_collector.cli import main
from installed import needs_addons

DOCS = Path(__file__).parents[2] / "docs"
TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?")


@pytest.mark.parametrize(
    ("page", "commands"),
    [
        ("analysing.md", 11),
        ("waves.md", 6),
        pytest.param(
            "field.md",
            5,
            marks=[published, needs_addons],
        ),
    ],
)
def test_commands_print_what_the_manual_shows(page, commands, tmp_path, monkeypatch, capsys):
    shutil.copytree(DOCS / "examples", tmp_path, dirs_exist_ok=True)
    if page == "field.md":
        shutil.copyfile(NIGERIA, tmp_path / NIGERIA.name)
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n\$ (.*)\n((?:.*\n)*?)^```$", text, re.M)
    for command, shown in blocks:
        run(command)
        assert lines(capsys.readouterr().out) == lines(shown), command
    assert len(blocks) == text.count("```console") == commands


@pytest.mark.parametrize(
    ("page", "example"),
    [
        ("analysing.md", "work.toml"),
        ("field.md", "nigeria.toml"),
        ("waves.md", "mood-1.toml"),
    ],
)
def test_the_survey_in_the_manual_is_the_example(page, example):
    [survey] = re.findall(r"^```toml\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.M | re.S)
    assert (DOCS / "examples" / example).read_text(encoding="utf-8").startswith(survey)


def run(command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == "python":
        runpy.run_path(*arguments)
    else:
        main(arguments)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in TIME.sub("now", text).rstrip().splitlines()]
