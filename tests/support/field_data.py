"""A published survey that the project does not ship, beside the repository."""

from pathlib import Path

import pytest

NIGERIA = Path(__file__).resolve().parents[3] / "shared" / "field-data" / "nigeria.csv"

#: Mark of what needs it.
published = pytest.mark.skipif(not NIGERIA.exists(), reason="the field data are no part of this")
