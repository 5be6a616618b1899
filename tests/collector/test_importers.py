"""Questionnaires of other programs, where no add-on reads them."""

import pytest
from halftruth_collector import importers
from halftruth_shared import ParameterError


def test_without_an_add_on_the_error_names_it(monkeypatch):
    monkeypatch.setattr(importers, "importers", list)
    assert not importers.is_questionnaire(b"<document/>", "health.lss")
    with pytest.raises(ParameterError) as refused:
        importers.read_questionnaire(b"<document/>", "health.lss")
    assert str(refused.value) == (
        "health.lss: expected halftruth-importing to be installed, which reads questionnaires"
    )
