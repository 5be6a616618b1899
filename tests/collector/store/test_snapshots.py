"""Counts are cached until further reports are counted."""

from contextlib import contextmanager

from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.store import reports as rows

from .conftest import report, statements


@contextmanager
def cells_read(store):
    """Collect the statements that read cells."""
    found = []
    with statements(store.database.engine, lambda text: found.append(text)):
        reading = []
        yield reading
        reading += [text for text in found if text.startswith("SELECT cells")]


def counted(store):
    counts = store.reports.snapshot("health").counts
    return {
        tuple(cell): count
        for cell, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
    }


def test_cells_are_read_again_only_after_a_report(store, published):
    store.reports.add("health", published.digest, [report(1, 0, 2)])
    with cells_read(store) as first:
        assert counted(store) == {(0, 2): 1}
    with cells_read(store) as again:
        assert counted(store) == {(0, 2): 1}
    assert (len(first), len(again)) == (1, 0)
    store.reports.add("health", published.digest, [report(1, 0, 2)])  # a duplicate
    with cells_read(store) as again:
        assert counted(store) == {(0, 2): 1}
    assert again == []
    store.reports.add("health", published.digest, [report(2, 1, 1), report(3, 0, 2)])
    assert counted(store) == {(0, 2): 2, (1, 1): 1}


def test_reports_counted_by_another_store_are_included(store, published, database):
    store.reports.add("health", published.digest, [report(1, 0, 2)])
    assert counted(store) == {(0, 2): 1}
    with Store(database) as other:
        other.reports.add("health", published.digest, [report(2, 1, 1)])
    assert counted(store) == {(0, 2): 1, (1, 1): 1}


def test_a_survey_published_again_after_deletion_has_its_own_counts(store, published):
    store.reports.add("health", published.digest, [report(1, 0, 2)])
    assert counted(store) == {(0, 2): 1}
    operations.delete_survey(store, "health", confirm="health")
    operations.publish_survey(store, published)
    store.reports.add("health", published.digest, [report(1, 1, 1)])
    assert counted(store) == {(1, 1): 1}


def test_the_cache_keeps_the_surveys_read_last(store, published, second, monkeypatch):
    for survey in (published, second):
        store.reports.add(survey.id, survey.digest, [report(1, 0, 2)])
    size = store.reports.snapshot("health").counts.nbytes
    monkeypatch.setattr(rows, "_CACHE_BYTES", size)
    store.reports.snapshot("second")
    with cells_read(store) as reading:
        store.reports.snapshot("second")
    assert reading == []
    with cells_read(store) as reading:
        assert counted(store) == {(0, 2): 1}
    assert len(reading) == 1
