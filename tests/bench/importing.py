"""Importing the client in a fresh interpreter, compared with importing its dependencies."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import requires

from measure import Comparison, by_turns


def dependencies() -> str:
    """Return the requirements of client and shared without extras, except each other."""
    required = [*(requires("halftruth-client") or ()), *(requires("halftruth-shared") or ())]
    names = {re.split(r"[^\w-]", line)[0] for line in required if "extra ==" not in line}
    return ", ".join(sorted(names - {"halftruth-shared"}))


def fresh_interpreter() -> Iterator[Comparison]:
    """Time the interpreter from start to end."""
    yield Comparison(
        f"import halftruth_client : {dependencies()}",
        *by_turns(
            partial(_run, "import halftruth_client"), partial(_run, f"import {dependencies()}")
        ),
        lambda seconds: f"{seconds * 1e3:.0f} ms",
        speed=False,
        target=2,
    )


def _run(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)
