"""A published survey that is not part of the repository."""

import pytest
from installed import OUTSIDE
from reference import REFERENCE

NIGERIA = REFERENCE / "field-data" / "nigeria.csv"

#: Mark of tests that need the published data.
published = pytest.mark.skipif(
    not NIGERIA.is_file(),
    reason=f"{OUTSIDE}the reference data field-data/nigeria.csv are absent",
)
