"""Programs and modules that tests require: if missing, tests are skipped, and fail in CI."""

import os
import shutil
import sys
from collections.abc import Iterator
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

#: Mark of tests that need an add-on.
needs_addons = pytest.mark.skipif(bool(_ABSENT), reason=f"add-ons are missing: {_ABSENT}")

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


def module_of_addon(name: str) -> None:
    """Skip the tests of a module that needs an add-on, where it is not installed."""
    if find_spec(name) is None:
        pytest.skip(f"{name} is missing", allow_module_level=True)


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
def pytest_make_collect_report() -> Iterator[pytest.CollectReport]:
    """Fail a module that was skipped in CI."""
    return strict((yield))


def strict(report: Any) -> Any:
    """Fail a test that was skipped in CI, unless no installation provides what it needs."""
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        assert isinstance(report.longrepr, tuple)
        reason = report.longrepr[2]
        if OUTSIDE not in reason:
            report.outcome = "failed"
            report.longrepr = f"{reason}; in CI no test may be skipped"
    return report
