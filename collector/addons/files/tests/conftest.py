"""A fixture that writes reports into files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from halftruth_shared.protocol.report_files import write_reports
from halftruth_shared.protocol.reports import Report, ReportBatch


@pytest.fixture
def write(tmp_path, survey):
    """Return a function that writes reports into a folder and returns the paths of the files."""

    def write(reports: Iterable[Report], folder: str = "reports", **options: Any) -> list[Path]:
        batch = ReportBatch(digest=options.pop("digest", survey.digest), reports=list(reports))
        manifest = write_reports([batch], tmp_path / folder, **options)
        return [tmp_path / folder / file.name for file in manifest.files]

    return write
