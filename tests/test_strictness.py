"""Tests that hang or are skipped: neither may pass unnoticed."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

HANGS = """
import threading
import pytest

@pytest.mark.parametrize("number", [1, 2, 3])
def test_waits(number):
    threading.Event().wait(None if number == 2 else 0)
"""

SKIPS = """
import pytest
from installed import missing, outside, program

def test_of_a_program():
    program("no-such-program")

def test_of_a_module():
    pytest.importorskip("no_such_module")

def test_of_data():
    outside("nowhere")

@pytest.mark.skipif(True, reason="never")
def test_never():
    pass

@pytest.mark.xfail(reason="a known fault")
def test_of_a_known_fault():
    raise ValueError

def test_that_runs():
    pass
"""

HOOKS = """
import installed

def pytest_configure(config):
    config.pluginmanager.register(installed)
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a module of tests in a process with the project's settings."""

    def of(module: str, *options: str, **environment: str) -> tuple[int, str]:
        (tmp_path / "conftest.py").write_text(HOOKS)
        (tmp_path / "test_given.py").write_text(module)
        settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
        found = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        # Others take seconds to import.
        found |= {"CI": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *settings, *options, str(tmp_path / "test_given.py")],
            env={**found, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout

    return of


def test_a_hung_test_fails_by_name_and_the_others_run(run):
    status, said = run(
        HANGS,
        "-p",
        "xdist",
        "-n",
        "1",
        "--dist",
        "worksteal",
        "--override-ini",
        "faulthandler_timeout=3",
    )
    assert status == 1
    assert "crashed while running 'test_given.py::test_waits[2]'" in said
    assert "1 failed, 2 passed" in said


def test_a_hung_test_ends_a_single_process_and_is_named(run):
    status, said = run(HANGS, "-v", "--override-ini", "faulthandler_timeout=3")
    assert status == 1
    assert "Timeout (0:00:03)!" in said
    assert "test_given.py::test_waits[2] " in said
    assert "test_waits[3]" not in said


SKIPPED = ["test_of_a_program", "test_of_a_module", "test_of_data", "test_never"]


@pytest.mark.parametrize(("ci", "failed"), [("", []), ("1", SKIPPED[:2] + SKIPPED[3:])])
def test_a_skipped_test_fails_in_ci_unless_nothing_can_provide_what_it_needs(run, ci, failed):
    status, said = run(SKIPS, "-v", CI=ci)
    assert status == bool(failed)
    for name in SKIPPED:
        assert bool(re.search(rf"::{name} (FAILED|ERROR)", said)) == (name in failed)
        assert bool(re.search(rf"::{name} SKIPPED", said)) == (name not in failed)
    assert re.search(r" 1 passed, .*1 xfailed", said)
    reason = "Skipped: no-such-program is missing; in CI no test may be skipped"
    assert (reason in said) == bool(failed)


@pytest.mark.parametrize("ci", ["", "1"])
def test_a_skipped_module_fails_in_ci(run, ci):
    status, said = run('import pytest\npytest.importorskip("no_such_module")\n', CI=ci)
    # Without CI no test was collected.
    assert status == (2 if ci else 5)
    assert "could not import 'no_such_module'" in said
    assert ("1 error" in said) == bool(ci)
