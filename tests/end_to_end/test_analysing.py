"""Every number of docs/analysing.md is what its commands print."""

import re
import runpy
import shlex
import shutil
from pathlib import Path

from halftruth_collector.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "analysing.md").read_text(encoding="utf-8")
TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?")


def test_commands_print_what_the_manual_shows(tmp_path, monkeypatch, capsys):
    shutil.copytree(DOCS / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```console\n\$ (.*)\n((?:.*\n)*?)^```$", PAGE, re.M)
    for command, shown in blocks:
        run(command)
        assert lines(capsys.readouterr().out) == lines(shown), command
    assert len(blocks) == PAGE.count("```console") == 11


def test_the_survey_shown_is_the_example():
    [survey] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
    assert survey == (DOCS / "examples/work.toml").read_text(encoding="utf-8")


def run(command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == "python":
        runpy.run_path(*arguments)
    else:
        main(arguments)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in TIME.sub("now", text).rstrip().splitlines()]
