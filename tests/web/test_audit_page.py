"""The page of an audit, in a browser."""

import pytest
from halftruth_collector.cli.documents import as_html
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.statement import statement


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_audit_is_accessible_asks_for_nothing_and_fits_a_phone(visit, survey, scheme):
    found = visit(color_scheme=scheme, viewport={"width": 360, "height": 700})
    found.page.set_content(as_html(statement(audit(survey, 5_000))).decode())
    assert found.violations() == []
    assert found.requests == []
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 360
