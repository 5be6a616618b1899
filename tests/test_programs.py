"""Every program of the benchmarks and of the soak starts: whatever it imports is there, once."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PROGRAMS = sorted(
    path
    for folder in ("bench", "soak")
    for path in (TESTS / folder).glob("*.py")
    if "__main__" in path.read_text(encoding="utf-8")
)
#: What only `make bench` installs.
BENCH = ("duckdb", "fim", "mlxtend", "multi_freq_ldpy", "pure_ldp", "sklearn", "statsmodels")

#: Imports what a program imports, but for libraries of the benchmarks, and does nothing else.
START = """
import runpy, sys
from unittest.mock import MagicMock
for name in {absent}:
    sys.modules[name] = MagicMock()
sys.path.insert(0, {folder!r})
sys.argv = [{path!r}]
runpy.run_path({path!r})
"""


def test_no_two_modules_that_programs_import_have_one_name():
    folders = [TESTS / name for name in ("bench", "soak", "support")]
    names = Counter(path.stem for folder in folders for path in folder.glob("*.py"))
    assert [name for name, count in names.items() if count > 1] == ["run"]
    assert not any("import run" in path.read_text(encoding="utf-8") for path in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_program_starts(program):
    absent = [name for name in submodules() if not installed(name.partition(".")[0])]
    code = START.format(absent=absent, folder=str(program.parent), path=str(program))
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
