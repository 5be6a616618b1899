"""Importing the client in a fresh interpreter, against importing what it depends on."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import requires

from measure import Comparison, by_turns

OWN = ("halftruth-client", "halftruth-shared")
DEPENDENCIES = sorted(
    {
        name
        for distribution in OWN
        for requirement in requires(distribution) or ()
        if "extra ==" not in requirement
        for name in re.findall(r"^[\w-]+", requirement)
        if name not in OWN
    }
)


def fresh_interpreter() -> Iterator[Comparison]:
    """From the start of the interpreter to its end."""
    dependencies = ", ".join(DEPENDENCIES)
    yield Comparison(
        f"import halftruth_client : {dependencies}",
        *by_turns(lambda: _run("import halftruth_client"), lambda: _run(f"import {dependencies}")),
        lambda seconds: f"{seconds * 1e3:.0f} ms",
        speed=False,
        target=2,
    )


def _run(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)
