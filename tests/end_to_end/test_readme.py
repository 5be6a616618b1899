"""The README's first lines do what they say."""

import re
import shlex
from pathlib import Path

from halftruth_collector.cli import main
from halftruth_collector.demo.process import collector_process

README = Path(__file__).parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S
    )


def test_the_first_lines_of_everybody_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # One person answers here.
    monkeypatch.setenv("HALFTRUTH_MIN_REPORTS", "1")
    [survey] = blocks("toml")
    Path("health.toml").write_text(survey, encoding="utf-8")
    operator, methodologist = blocks("sh")
    activate, publish, token, serve = operator.splitlines()
    assert activate == "make install && . .venv/bin/activate"
    for line in (publish, token.partition(" > ")[0]):
        main(shlex.split(line)[1:])
    said = capsys.readouterr().out
    assert "digest" in said
    Path("analyst.token").write_text(said.splitlines()[-1], encoding="utf-8")
    assert serve.startswith("halftruth serve ")
    form_builder, analyst = blocks("python")
    with collector_process("sqlite:///halftruth.db") as url:
        for program in (form_builder, analyst):
            exec(compile(program.replace("http://127.0.0.1:8000", url), "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "decision" in printed
    assert "smoker drinks" in printed
    main(shlex.split(methodologist)[1:])
    assert "split-questionnaire: at lengths 1 and 2" in capsys.readouterr().out
    assert Path("precision.svg").read_text(encoding="utf-8").startswith("<svg")


def test_every_document_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).is_file(), target
