"""Every program of the benchmarks and of the soak starts: whatever it imports is there, once."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from installed import needs_addons

TESTS = Path(__file__).parent
FOLDERS = ("bench", "soak")
PROGRAMS = sorted(
    path
    for folder in FOLDERS
    for path in (TESTS / folder).glob("*.py")
    if "__main__" in path.read_text(encoding="utf-8")
)
#: What only `make bench` installs.
BENCH = ("duckdb", "fim", "mlxtend", "multi_freq_ldpy", "pure_ldp", "statsmodels")

#: Imports what programs import, but for libraries of the benchmarks, and does nothing else.
START = """
import runpy, sys
from unittest.mock import MagicMock
for name in {absent}:
    sys.modules[name] = MagicMock()
sys.path.insert(0, {folder!r})
for path in {paths!r}:
    sys.argv = [path]
    runpy.run_path(path)
"""


def test_no_two_modules_that_programs_import_have_one_name():
    folders = [TESTS / name for name in (*FOLDERS, "support")]
    names = Counter(path.stem for folder in folders for path in folder.glob("*.py"))
    assert [name for name, count in names.items() if count > 1] == ["run"]
    imported = re.compile(r"^(import|from) run\b", re.M)
    assert not any(imported.search(path.read_text(encoding="utf-8")) for path in PROGRAMS)


@pytest.mark.parametrize(
    "folder",
    [pytest.param("soak", marks=needs_addons), pytest.param("bench", marks=pytest.mark.nightly)],
)
def test_every_program_of_a_folder_starts(folder):
    absent = [name for name in submodules() if not installed(name.partition(".")[0])]
    paths = [str(path) for path in PROGRAMS if path.parent.name == folder]
    assert paths
    code = START.format(absent=absent, folder=str(TESTS / folder), paths=paths)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def submodules():
    """What programs import of the libraries that only benchmarks need."""
    for path in (TESTS / "bench").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name and name.partition(".")[0] in BENCH:
                    parts = name.split(".")
                    yield from (".".join(parts[:k]) for k in range(1, len(parts) + 1))


def installed(name):
    from importlib.util import find_spec

    return find_spec(name) is not None
