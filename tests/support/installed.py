"""Programs and modules that tests require: if missing, tests are skipped, and fail in CI."""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

_MODULES = Path(__file__).parents[2] / "client" / "node_modules"

#: Search path: this environment first, administrators' programs last.
_FOLDERS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"])


def missing(what: str) -> NoReturn:
    """Skip the test because of a missing requirement; fail it in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing", pytrace=False)
    pytest.skip(f"{what} is missing")


def program(*names: str) -> str:
    """Return the path of the first of these programs that is installed."""
    found = (shutil.which(name, path=_FOLDERS) for name in names)
    return next(filter(None, found), None) or missing(names[0])


def module(name: str) -> Path:
    """Return a path in the client's node_modules."""
    if not (_MODULES / name).exists():
        missing(f"client/node_modules/{name}, which make test installs where there is npm,")
    return _MODULES / name
