"""What tests need to be installed: without it they are skipped, and fail in CI."""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

_MODULES = Path(__file__).parents[2] / "client" / "node_modules"

#: Where programs are: those of this environment first, those of administrators last.
_FOLDERS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"])


def missing(what: str) -> NoReturn:
    """End a test that something is missing for."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing", pytrace=False)
    pytest.skip(f"{what} is missing")


def program(*names: str) -> str:
    """Path of the first of some programs that is there."""
    found = (shutil.which(name, path=_FOLDERS) for name in names)
    return next(filter(None, found), None) or missing(names[0])


def module(name: str) -> Path:
    """What has a name in the client's node_modules."""
    if not (_MODULES / name).exists():
        missing(f"client/node_modules/{name}, which make test installs where there is npm,")
    return _MODULES / name
