"""A survey with reports."""

from uuid import UUID

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.reports import Report


@pytest.fixture
def of_ninety_reports(store, survey, monkeypatch, tmp_path):
    """Publish a survey with 90 reports, and work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    operations.publish_survey(store, survey)
    reports = [Report(id=UUID(int=i), values=[i % 2, i % 3]) for i in range(90)]
    store.reports.add("health", survey.digest, reports)
