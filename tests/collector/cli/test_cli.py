"""The command line: its output, and one line with status 2 for invalid input."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import click
import msgspec
import pytest
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.cli import main
from halftruth_collector.cli.records import Pilot
from halftruth_shared import Protection, Survey
from halftruth_shared.protocol.reports import Report
from installed import needs_addons

ROOT = Path(__file__).resolve().parents[3]

TOML = """
id = "health"
title = "Health at work"

[mechanism]
kind = "gamma-diagonal"
breach = ["0.05", "0.5"]

[[attributes]]
name = "smoker"
categories = ["no", "yes"]
items = ["yes"]

[[attributes]]
name = "drinks"
categories = ["never", "weekly", "daily"]
"""


@pytest.fixture
def survey_file(tmp_path):
    path = tmp_path / "health.toml"
    path.write_text(TOML, encoding="utf-8")
    return str(path)


@pytest.fixture
def filled(halftruth, survey_file, store):
    halftruth("survey", "publish", survey_file)
    digest = store.surveys.get("health").digest
    values = [[0, 0]] * 60 + [[1, 2]] * 30 + [[1, 0]] * 10
    store.reports.add("health", digest, [Report(id=uuid4(), values=value) for value in values])


def test_publishing_prints_the_protection(done, survey_file):
    said = done("survey", "publish", survey_file)
    for sentence in Protection.of(Survey.from_toml(TOML)).sentences():
        assert sentence in said


def test_a_csv_file_is_perturbed(halftruth, survey_file, tmp_path):
    records = tmp_path / "records.csv"
    records.write_text("drinks,smoker\n" + "daily,yes\n" * 500, encoding="utf-8")
    target = tmp_path / "perturbed.csv"
    assert halftruth("reports", "perturb", survey_file, str(records), "-o", str(target))[0] == 0
    rows = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8"))))
    assert len(rows) == 500
    assert list(rows[0]) == ["smoker", "drinks"]
    kept = sum(row == {"smoker": "yes", "drinks": "daily"} for row in rows)
    # Kept with probability 19/24 by system randomness; fails by chance with p < 1e-9.
    assert 330 < kept < 455
    assert halftruth("reports", "perturb", survey_file, str(records))[1].count("\n") == 501


def test_answers_are_read_by_code_and_by_name(survey_file, tmp_path):
    schema, tables = Survey.from_toml(TOML).schema, []
    for answers in (("no,never", "yes,daily", "yes,daily"), ("0,0", "1,2", "1,2")):
        records = tmp_path / "records.csv"
        records.write_text("\n".join(["smoker,drinks", *answers]), encoding="utf-8")
        tables.append(Pilot(str(records), schema)(schema.names).tolist())
    assert tables == [[[1, 0, 0], [0, 0, 2]]] * 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("smoker,drinks\n1,daily\nyes,daily\n", "line 3: attribute 'smoker': answers by name"),
        ("smoker,drinks\nyes,daily\n1,daily\n", "line 3: attribute 'smoker': the answer is not"),
        ("smoker,drinks\n2,daily\n", "line 2: attribute 'smoker': the answer is not"),
        ("smoker,drinks\nyes,daily\nhush-hush,daily\n", "line 3: attribute 'smoker'"),
        ("smoker,drinks\nyes\n", "line 2: attribute 'drinks'"),
        ("smoker\nyes\n", "line 2: attribute 'drinks' is missing"),
        (
            "smoker,drinks,name\nyes,daily,hush-hush\n",
            "line 2: record: 1 unknown attribute; the survey has",
        ),
        ("smoker,drinks\nyes,daily,hush-hush\n", "line 2: record: 1 unknown attribute"),
        ("smoker,drinks\nyes,d\udcffily\n", "expected CSV in UTF-8"),
    ],
)
def test_invalid_records_are_refused_with_their_line_and_without_output(
    refused, survey_file, tmp_path, content, said
):
    records = tmp_path / "records.csv"
    records.write_bytes(content.encode("utf-8", "surrogateescape"))
    target = tmp_path / "perturbed.csv"
    complaint = refused("reports", "perturb", survey_file, records, "-o", target)
    assert said in complaint
    assert "hush-hush" not in complaint
    assert not target.exists()


@pytest.mark.parametrize("name", ["comparison", "regression", "risk", "table"])
def test_an_analysis_without_options_asks_what_its_page_asks_first(done, filled, survey, name):
    asked = json.loads(done("analyse", name, "health", "--json"))["query"]
    first = msgspec.to_builtins(ANALYSES[name].start(survey))
    # A result names the estimator that was chosen.
    assert asked | {"estimate": ""} == first | {"estimate": ""}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("analyse", "itemsets", "nothing", "--min-support", "0.1"),
            "there is no survey 'nothing'",
        ),
        (("analyse", "itemsets", "health", "--min-support", "x"), "min_support: expected"),
        (
            ("analyse", "itemsets", "health", "--min-support", "0.1", "--json", "--csv"),
            "one of them",
        ),
        (("analyse", "table", "health", "--attributes", ","), "attributes: expected"),
        (("analyse", "itemsets", "health", "--min-support", "0.1", "--url", "http://x"), "--token"),
        (
            ("analyse", "itemsets", "x", "--min-support", "0.1", "--url", "x", "--token", "y"),
            "url: expected",
        ),
        (("survey", "publish", __file__), "not valid TOML"),
        *(
            (
                ("analyse", "table", "health", "--attributes", "smoker", "--plot", file),
                "plot: expected a file",
            )
            for file in ("picture.gif", "picture", "missing/picture.svg")
        ),
        (("serve", "--port", "70000"), "70000"),
        (("nonsense",), "there is no command 'nonsense'; expected one of: admin, "),
    ],
)
def test_invalid_input_gets_one_line_and_status_2(refused, filled, words, said):
    assert said in refused(*words)


@pytest.mark.parametrize(
    "url", ["nonsense", "mysql://root@127.0.0.1/x", "sqlite:////nowhere/at/all.db", ""]
)
def test_an_unusable_database_is_refused_with_one_line(refused, url):
    assert "database" in refused("survey", "list", "--database", url)


def test_the_program_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "halftruth_collector", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("halftruth, version ")


#: Prints the slow modules that are loaded after the help of each command.
HELP = """
import contextlib, io, sys
from halftruth_collector.cli import main
for words, slow in {asked}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    print(sys.modules.keys() & slow)
"""


def test_help_loads_no_slow_modules():
    slow = {"flask", "matplotlib", "pandas", "pyarrow", "requests", "scipy.special"}
    more = slow | {"halftruth_collector.analyses"}
    asked = [([], more), (["survey", "list"], more), (["analyse", "overview"], slow)]
    code = HELP.format(asked=asked)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["set()"] * 3)


def test_help_lists_every_command_of_a_group(halftruth):
    for path in [path for path in paths() if path in ("", "admin", "analyse", "reports", "survey")]:
        status, said, _ = halftruth(*path.split(), "--help")
        assert halftruth(*path.split())[::2] == (2, said)
        assert status == 0
        assert said.count("\n") <= 32
        for name in paths()[path]:
            assert f"  {name} " in said
    # No two names of a group differ by a plural s only.
    for names in paths().values():
        assert not {f"{name}s" for name in names} & {*names}


def paths():
    """Return the names of commands by the path of their group."""
    found = {}

    def walk(group, path):
        found[path] = group.list_commands(ctx)
        for name in found[path]:
            command = group.get_command(ctx, name)
            if isinstance(command, click.Group):
                walk(command, f"{path} {name}".strip())

    ctx = click.Context(main)
    walk(main, "")
    return found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["backup"], "there is no command 'backup'; did you mean 'halftruth admin backup'?"),
        (["tabel"], "there is no command 'tabel'; did you mean 'halftruth analyse table'?"),
        (["analyse", "overveiw"], "did you mean 'halftruth analyse overview'?"),
        # Suggestions of the same group take precedence.
        (["analyse", "compare"], "did you mean 'halftruth analyse comparison'?"),
        (["admin", "x"], "expected one of: audit-log, backup, "),
        (["tokens"], "did you mean 'halftruth admin token'?"),
    ],
)
def test_misspelt_commands_get_a_suggestion(refused, words, said):
    assert said in refused(*words)


def test_a_shell_completes_commands_of_a_group():
    given = {"COMP_WORDS": "halftruth analyse ov", "COMP_CWORD": "2"}
    done = subprocess.run(
        [Path(sys.executable).with_name("halftruth")],
        env={**os.environ, **given, "_HALFTRUTH_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["plain,overview"]


@needs_addons
def test_every_command_in_the_documentation_exists():
    known, written = paths(), 0
    # The example of addons.md adds it.
    known["analyse"].append("at-least")
    rules = ROOT / "docker" / "rules.yaml"
    for file in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), rules]:
        if file.name == "protocol.md":  # Its labels begin with the name, too.
            continue
        text = file.read_text()
        if file == rules:  # Its lines are folded.
            text = re.sub(r"\s+", " ", text)
        code = "".join(re.findall(r"```.*?```|`[^`]+`", text, re.DOTALL))
        for words in re.findall(r"(?<![\w/.-])halftruth((?: [a-z][a-z-]*)+)", code):
            path = ""
            for word in words.split():
                if path not in known:
                    break
                assert word in known[path], f"{file.name}: halftruth{words}"
                path = f"{path} {word}".strip()
                written += 1
    assert written > 100


@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("relay", "status"), "halftruth-relay"),
        (("reports", "count", "a.parquet"), "halftruth-files"),
        (("reports", "read", "a.csv"), "halftruth-field"),
        (("study", "rivals", "records.csv"), "halftruth-studies"),
    ],
)
def test_a_command_of_an_add_on_names_it_where_it_is_not_installed(
    refused, monkeypatch, words, package
):
    monkeypatch.setattr("halftruth_collector.cli.points", lambda kind: {})
    unknown = next(word for word in words if word != "reports")
    assert refused(*words) == (
        f"halftruth: there is no command '{unknown}'; expected {package} to be installed\n"
    )


def test_an_error_names_everything_at_once(refused, filled, survey_file):
    for words, said in (
        (
            ("comparison", "health", "--confidence", "9"),
            "answer: expected one attribute=category; groups: expected the name of an attribute;"
            " confidence: expected a number above 0",
        ),
        (
            ("table", "health", "--attributes", "smokes,drank"),
            "attributes: unknown attributes 'drank', 'smokes'; the survey has: smoker, drinks",
        ),
        (
            ("comparison", "health", "--answer", "smokes=yes", "--groups", "ages"),
            "answer: unknown attribute 'smokes'; groups: unknown attribute 'ages'; the survey has",
        ),
    ):
        assert said in refused("analyse", *words)
    asked = ("--groups", "sex,age", "--questions", "vote")
    complaint = refused("plan", survey_file, *asked)
    assert "groups: unknown attributes 'age', 'sex'; questions: unknown attribute 'v" in complaint
    words = ("survey", "publish", survey_file, "--max-reports", "x", "--closes-at", "y")
    complaint = refused(*words)
    assert "max_reports: expected an integer" in complaint
    assert "closes_at: expected a moment" in complaint
    words = ("survey", "new", "--title", "T", "--question", "A: b, c", "--group", "q")
    assert "group: there is no question 'q', 'r'; expected" in refused(*words, "--group", "r")
