"""Each published result has a test that computes it, and each that a page names has a row."""

import ast
import importlib
import os
import re
import subprocess
import sys
from itertools import groupby

import pytest
import witnesses
from reference import ROOT
from witnesses import STATES, WITNESSES, Witness, read, summary, wrong_skips

ROWS = list(WITNESSES.values())
TESTED = [row for row in ROWS if row.test]
PAGES = [page for page in (ROOT / "docs" / "studies").glob("*.md") if page.stem != "README"]

KINDS = {"fig": "figure", "eq": "equation", "propertie": "property"}
LABEL = r"\d+(?:\.\d+)*[a-z]?\b"
NAMED = re.compile(
    r"(§|\b(?:tables?|fig(?:ure)?s?|theorems?|results?|eq(?:uation)?s?|lemmas?|definitions?"
    r"|examples?|experiments?|property|properties|sections?)\b\.?\s)\s*"
    rf"({LABEL}(?:\s?(?:,|–|to|and)\s?{LABEL})*)",
    re.I,
)


def named(text):
    """Return the results that a text names, as (kind, number), each of a range by itself."""
    found = set()
    for kind, labels in NAMED.findall(text):
        kind = kind.strip(" .\n").lower().removesuffix("s").replace("§", "section")
        first, *rest = re.split(r"\s?(,|–|to|and)\s?", labels)
        numbers = [first]
        for mark, label in zip(rest[::2], rest[1::2], strict=True):
            numbers += between(numbers[-1], label) if mark in ("–", "to") else [label]
        found |= {(KINDS.get(kind, kind), number) for number in numbers}
    return found


def between(first, last):
    """Return the numbers after the first one up to the last, such as 4.3 and 4.4, or 3b and 3c."""
    (head, start), (_, end) = (
        re.fullmatch(r"(.*?)(\d+|[a-z])", label).groups() for label in (first, last)
    )
    if start.isdigit():
        return [f"{head}{number}" for number in range(int(start) + 1, int(end) + 1)]
    return [f"{head}{chr(number)}" for number in range(ord(start) + 1, ord(end) + 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Guo's Tables 4.2–4.4 and Fig. 3a", {"table 4.2", "table 4.3", "table 4.4", "figure 3a"}),
        ("Results 13 and 14, eq. 5.16", {"result 13", "result 14", "equation 5.16"}),
        ("Figs 3a to 3c; Property 1.", {"figure 3a", "figure 3b", "figure 3c", "property 1"}),
        ("equations 12–14, §5.3, a table of 3", {f"equation {n}" for n in (12, 13, 14)}),
    ],
)
def test_results_are_found_in_texts(text, expected):
    found = {f"{kind} {number}" for kind, number in named(text)}
    assert found - {"section 5.3"} == expected


def test_each_row_is_complete():
    rows = read()
    assert len(rows) == len(ROWS)
    for row in rows:
        assert row.says.endswith("."), row.title
        assert row.state in STATES, row.title
        assert bool(row.reason) == (row.state != "equal"), f"{row.title}: reason"
        if row.state != "unavailable":
            assert row.test, f"{row.title}: test"
            assert row.printed, f"{row.title}: printed"
            assert row.own, f"{row.title}: own"
            assert (row.printed == row.own) == (row.state == "equal"), f"{row.title}: state"


def test_rows_are_grouped_by_source():
    sources = [source for source, _ in groupby(ROWS, lambda row: row.source)]
    assert len(sources) == len(set(sources))
    assert sources[:4] == ["FRAPP", "Guo", "GYW", "HDC"]


def calls_of_witness():
    """Return the results that each test of the project says that it is the witness of."""
    found = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        if "witness(" not in text:
            continue
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                for call in ast.walk(function):
                    if isinstance(call, ast.Call) and ast.unparse(call.func) == "witness":
                        result = tuple(ast.literal_eval(argument) for argument in call.args)
                        found.add((*result, f"{file.relative_to(ROOT)}::{function.name}"))
    return found


def test_each_row_and_its_test_name_each_other():
    assert calls_of_witness() == {(row.source, row.item, row.test) for row in TESTED}


def test_the_rows_of_a_study_that_is_deleted_are_named(tmp_path):
    module = "halftruth_studies.schemes.mask"
    (tmp_path / "deleted.py").write_text(f"import sys\nsys.modules[{module!r}] = None\n")
    test = WITNESSES["FRAPP", "Equation 11"].test.partition("::")[0]
    options = ["--noconftest", "-p", "deleted", "-p", "witnesses", "-p", "no:cacheprovider"]
    folders = (str(tmp_path), str(ROOT / "tests" / "support"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, test],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert f"import of {module} halted" in done.stdout
    for row in TESTED:
        is_named = f"  {row.title}: no result of {row.test}" in done.stdout
        assert is_named == row.test.startswith(f"{test}::"), row.title


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_result_that_a_page_names_has_a_row_for_it(page):
    shown = [row for row in ROWS if row.page == page.name]
    sources = {row.source for row in shown}
    rows = {result for row in ROWS if row.source in sources for result in named(row.item)}
    text = named(page.read_text(encoding="utf-8"))
    assert {result for result in text if result[0] != "section"} <= rows
    for row in shown:
        assert named(row.item), row.title
        assert named(row.item) <= text, row.title


def test_the_page_of_a_row_is_one_of_the_studies():
    assert {row.page for row in ROWS if row.page} <= {page.name for page in PAGES}


def test_the_index_shows_all_rows(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "studies")
    page = importlib.import_module("page").Page("README")
    committed = page.text
    importlib.import_module("results").study(page)
    assert page.text == committed
    assert all(f"`{row.test}`" in committed for row in TESTED)


def test_a_witness_is_skipped_only_where_a_file_that_it_needs_is_absent(monkeypatch):
    rows = [
        Witness("A", "Table 1", "…", "equal", "tests/test_a.py::test_x", needs=("data/none.txt",)),
        Witness("A", "Table 2", "…", "equal", "tests/test_a.py::test_y"),
    ]
    monkeypatch.setattr(witnesses, "WITNESSES", {(row.source, row.item): row for row in rows})
    reason = "the reference data data/none.txt are absent"
    assert wrong_skips("tests/test_a.py::test_x[1]", reason) == []
    assert wrong_skips("tests/test_a.py::test_z", "there is no R") == []
    [complaint] = wrong_skips("tests/test_a.py::test_x[1]", "there is no R")
    assert complaint.startswith("A, Table 1 ")
    [complaint] = wrong_skips("tests/test_a.py::test_y", reason)
    assert complaint.startswith("A, Table 2 ")
    outcomes = [("tests/test_a.py::test_x[1]", "skipped"), ("tests/test_a.py::test_y", "failed")]
    assert summary(outcomes) == [
        "published results: 2 equal, 0 differs, 0 unavailable; 1 skipped, 1 failed",
        "  A, Table 1: skipped without data/none.txt",
        "  A, Table 2: no result of tests/test_a.py::test_y",
    ]
    assert summary([("tests/test_b.py::test_x", "passed")]) == []
