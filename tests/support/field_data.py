"""A published survey that is not part of the repository."""

from pathlib import Path

import pytest

NIGERIA = Path(__file__).resolve().parents[3] / "shared" / "field-data" / "nigeria.csv"

#: Mark of tests that need the published data.
published = pytest.mark.skipif(not NIGERIA.exists(), reason="the field data are no part of this")
