"""Published data that are not part of the project."""

import os
from pathlib import Path

from installed import outside

ROOT = Path(__file__).resolve().parents[2]

#: Folder of the data: beside the repository, or as the environment says.
REFERENCE = Path(os.environ.get("HALFTRUTH_TEST_REFERENCE", ROOT.parent / "shared"))


def absent(names):
    """Return those of the files that are absent."""
    return [name for name in names if not (REFERENCE / name).is_file()]


def reference_file(name):
    """Return the path of a file, such as "data/ticdata2000.txt"; skip the test without it."""
    if absent([name]):
        outside(f"the reference data {name} are absent")
    return REFERENCE / name
