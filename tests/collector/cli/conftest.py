"""A survey that has something to tell."""

from uuid import UUID

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.reports import Report


@pytest.fixture
def of_ninety_reports(store, survey, monkeypatch, tmp_path):
    """A survey with reports, and a folder to write into."""
    monkeypatch.chdir(tmp_path)
    operations.publish_survey(store, survey)
    reports = [Report(id=UUID(int=i), values=[i % 2, i % 3]) for i in range(90)]
    store.reports.add("health", survey.digest, reports)
