"""The commands of the README work unchanged, with default settings."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from halftruth_collector.cli import main
from halftruth_collector.estimation.planning.planner import plan
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from installed import needs_addons

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.M | re.S)


def commands() -> list[str]:
    """Return all commands within sentences."""
    prose = re.sub(r"^```.*?^```", "", TEXT, flags=re.M | re.S)
    spans = [" ".join(span.split()) for span in re.findall(r"`(halftruth [^`]+)`", prose)]
    # One or two words, and these, are only the name of a command.
    names = ("halftruth survey new", "halftruth survey from-csv")
    return [span for span in spans if len(span.split()) > 2 and span not in names]


@contextmanager
def serving(line: str):
    """Run the line that serves, on a free port."""
    words = shlex.split(line, comments=True)
    assert words == ["halftruth", "serve"]
    with subprocess.Popen([BIN / words[0], *words[1:], "--port", "0"], stdout=-1, text=True) as one:
        try:
            yield one.stdout.readline().split()[-1]
        finally:
            one.terminate()


def test_all_lines_of_the_readme_work_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
    assert not [name for name in os.environ if re.match("HALFTRUTH_(?!TEST)", name)]
    [survey] = blocks("toml")
    Path("health.toml").write_text(survey, encoding="utf-8")
    operator, _ = blocks("sh")
    activate, *lines, serve = operator.splitlines()
    assert activate == "make install && . .venv/bin/activate"
    for line in lines:
        program, *words = shlex.split(line, comments=True)
        assert program == "halftruth"
        main(words)
    assert Path("operator.token").stat().st_mode & 0o077 == 0
    form_builder, analyst = blocks("python")
    with serving(serve) as url:
        for program in (form_builder, analyst):
            assert "http://127.0.0.1:8000" in program
            exec(compile(program.replace("http://127.0.0.1:8000", url), "README.md", "exec"), {})
        printed = capsys.readouterr().out
        assert "support" in printed
        assert re.search("^smoker +drinks +(support|share)", printed, re.M)
    found = commands()
    assert len(found) == 4
    for command in found:
        main(shlex.split(command)[1:])
        assert capsys.readouterr().out, command


@needs_addons
def test_the_lines_for_a_table_of_answers_work_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people = [f"P-{i},{i % 60 + 20},{'yes' if i % 3 else 'no'}" for i in range(300)]
    Path("people.csv").write_text("\n".join(["person,age,smoker", *people]), encoding="utf-8")
    _, lines = blocks("sh")
    for line in lines.splitlines():
        program, *words = shlex.split(line, comments=True)
        assert program == "halftruth"
        main(words)
    printed = capsys.readouterr()
    assert "people: 2 questions in survey.toml" in printed.out
    assert "respondents" in printed.out
    assert "P-1" not in printed.out + printed.err
    assert len(Path("reports.csv").read_text(encoding="utf-8").splitlines()) == 301


@pytest.mark.parametrize(
    ("questions", "respondents", "column"),
    [
        (4, 500, 1),
        pytest.param(8, 10_000, 4, marks=pytest.mark.nightly),
        pytest.param(12, 3_000, 3, marks=pytest.mark.nightly),
        pytest.param(20, 1_000, 2, marks=pytest.mark.nightly),
        pytest.param(40, 3_000, 3, marks=pytest.mark.nightly),
    ],
)
def test_the_table_of_respondents_has_the_margins_of_plans(questions, respondents, column):
    rows = [row.strip("| ").split(" | ") for row in re.findall(r"^\| \d.*$", TEXT, re.M)]
    sizes = [3, 2, *((2, 2, 4, 2, 5, 3)[j % 6] for j in range(questions - 2))]
    answers = [[str(code) for code in range(size)] for size in sizes]
    schema = Schema([Attribute(f"q{j}", each) for j, each in enumerate(answers)])
    outcomes = [f"q{j}" for j in range(2, len(sizes)) if sizes[j] == 2][:4]
    tables = [WantedTables(of=tuple(outcomes), by=("q0", "q1"))]
    mechanism = SplitQuestionnaire.designed(schema, 19, (), tables)
    planned = plan(Survey("s", "S", schema, mechanism), PlanQuery(respondents=respondents))
    margins = {each.quantity: each.median for each in planned.margins}
    [said] = [row[column] for row in rows if row[0] == str(questions)]
    assert said == f"±{100 * margins['share']:.1f}, ±{100 * margins['share_within']:.1f}"
