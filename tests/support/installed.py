"""Programs and modules that tests require: if missing, tests are skipped, and fail in CI."""

import os
import re
import shutil
import sys
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

_ROOT = Path(__file__).parents[2]
_MODULES = _ROOT / "client" / "node_modules"

#: Add-ons of this repository that are not installed, such as where the collector is tested alone.
_PROJECTS = [*_ROOT.glob("collector/addons/*/pyproject.toml"), *_ROOT.glob("docs/studies/*.toml")]
_ABSENT = [
    file.parent.name for file in _PROJECTS if find_spec(f"halftruth_{file.parent.name}") is None
]

#: Why a test is skipped that needs an add-on, and what an import of one says.
_REASON = f"add-ons are missing: {', '.join(_ABSENT)}"
_NOT_FOUND = rf"No module named 'halftruth_({'|'.join(_ABSENT) or '-'})\b"

#: Mark of tests that need an add-on.
needs_addons = pytest.mark.skipif(bool(_ABSENT), reason=_REASON)

#: Search path: this environment first, administrators' programs last.
_FOLDERS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"])

#: Start of the reasons for which a test is skipped in CI, too.
OUTSIDE = "outside the repository: "


def missing(what: str) -> NoReturn:
    """Skip the test because of a missing requirement; `strict` fails it in CI."""
    pytest.skip(f"{what} is missing")


def outside(what: str) -> NoReturn:
    """Skip the test, in CI, too, because of a requirement that no installation provides."""
    pytest.skip(f"{OUTSIDE}{what}")


def program(*names: str) -> str:
    """Return the path of the first of these programs that is installed."""
    found = (shutil.which(name, path=_FOLDERS) for name in names)
    return next(filter(None, found), None) or missing(names[0])


def module(name: str) -> Path:
    """Return a path in the client's node_modules."""
    if not (_MODULES / name).exists():
        missing(f"client/node_modules/{name}, which make test installs where there is npm,")
    return _MODULES / name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[pytest.TestReport]:
    """Fail a test that was skipped in CI, where nothing may be missing."""
    return strict((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module that imports an add-on which is missing; fail a skipped module in CI."""
    report = yield
    if report.failed and re.search(_NOT_FOUND, str(report.longrepr)):
        report.outcome = "skipped"
        report.longrepr = (report.nodeid, 0, f"Skipped: {_REASON}")
    return strict(report)


def strict(report: Any) -> Any:
    """Fail a test that was skipped in CI, unless no installation provides what it needs."""
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        assert isinstance(report.longrepr, tuple)
        reason = report.longrepr[2]
        if OUTSIDE not in reason:
            report.outcome = "failed"
            report.longrepr = f"{reason}; in CI no test may be skipped"
    return report
