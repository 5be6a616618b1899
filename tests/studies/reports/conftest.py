"""Surveys of every mechanism, as of the estimates."""

from ...collector.estimation.conftest import (
    make_reports,
    make_survey,
    oracle,
    public_survey,
    reference_data,
)

__all__ = ["make_reports", "make_survey", "oracle", "public_survey", "reference_data"]
