"""The page of an audit, in a browser."""

from halftruth_collector.cli.audit import as_html
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.statement import statement

from .conftest import PHONE, anyone_can_use


def test_an_audit_is_accessible_and_self_contained_and_fits_a_phone(visit, survey):
    found = visit(viewport=PHONE)
    found.page.set_content(as_html(statement(audit(survey, 5_000))).decode())
    anyone_can_use(found, "audit")
    assert found.requests == []
