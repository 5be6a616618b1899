"""Importing counts of files into a collector counts each report once."""

from collections import Counter

import pytest
from filed import by_hand, counted, some
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_files.counting import count
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.terms import Terms


@pytest.fixture
def run(tmp_path, survey):
    def run(to, files, **options):
        count(survey, [str(file) for file in files], tmp_path / to, **options)
        return tmp_path / to

    return run


def cells(store: Store) -> Counter[bytes]:
    """Return the counts by packed report."""
    _, counts, _ = store.reports.counts("health")
    pairs = zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
    return Counter({bytes(cell): number for cell, number in pairs})


def test_counts_are_imported_once_and_later_files_continue_them(
    store, survey, run, write, tmp_path
):
    first, second = write(some(range(60))), write(some(range(40, 100), seed=1))
    before = run("before", first)
    assert operations.import_reports(store, before).counted == 60
    assert cells(store) == by_hand(first)[1]
    # Import again, also after counting the same files again.
    for folder in (before, run("again", first)):
        done = operations.import_reports(store, folder)
        assert (done.counted, done.repeated) == (0, 60)
    # A report that was in a file is sent to the collector.
    assert store.reports.add("health", survey.digest, some(range(5))).duplicates == 5
    # Both the second half and all files together share ids with the first half.
    for folder in (run("alone", second), run("all", [*first, *second])):
        with pytest.raises(ParameterError, match=r"reports were counted here before.*--earlier"):
            operations.import_reports(store, folder)
        assert cells(store) == by_hand(first)[1]
    after = run("after", second, earlier=[before])
    assert counted(after) == by_hand(second, by_hand(first)[0])
    assert operations.import_reports(store, after).counted == 40
    assert cells(store) == by_hand(first)[1] + by_hand(second, by_hand(first)[0])[1]
    assert sum(cells(store).values()) == 100


def test_reports_counted_by_the_collector_are_left_out_of_files(
    store, survey, run, write, tmp_path
):
    operations.publish_survey(store, survey)
    store.reports.add("health", survey.digest, some(range(20)))
    files = write(some(range(10, 50), seed=1))
    with pytest.raises(ParameterError, match="10 of its reports were counted here before"):
        operations.import_reports(store, run("all", files))
    operations.export_reports(store, "health", tmp_path / "export.db")
    folder = run("rest", files, earlier=[tmp_path / "export.db"])
    assert operations.import_reports(store, folder).counted == 30
    sent = Counter(bytes(report.values) for report in some(range(20)))
    known = {report.id.bytes for report in some(range(20))}
    assert cells(store) == sent + by_hand(files, known)[1]


def test_counts_imported_by_another_collector_are_counted_once(store, survey, run, write, tmp_path):
    folder = run("counts", write(some(range(30))))
    with Store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        operations.import_reports(other, folder)
        other.reports.add("health", survey.digest, some(range(30, 35)))
        operations.export_reports(other, "health", tmp_path / "other-export.db")
    assert operations.import_reports(store, tmp_path / "other-export.db").counted == 35
    assert operations.import_reports(store, folder).repeated == 30
    assert sum(cells(store).values()) == 35


def test_counts_of_another_survey_or_terms_are_refused(
    store, survey, run, write, tmp_path, sealing_key
):
    files = write(some(range(30)))
    folder = run("counts", files)
    operations.publish_survey(store, survey, Terms(invitations=True))
    with pytest.raises(ParameterError, match="'health' asks for invitations here"):
        operations.import_reports(store, folder)
    operations.publish_survey(store, survey, Terms(sealing_key=sealing_key))
    with pytest.raises(ParameterError, match="takes sealed reports only, and those of the file"):
        operations.import_reports(store, folder)
    another = Survey("health", "Another", survey.schema, survey.mechanism)
    with pytest.raises(ParameterError, match=r"earlier: .*counts has counts of another survey"):
        count(another, [*map(str, files)], tmp_path / "new", earlier=[folder])


@pytest.mark.parametrize("name", ["counts.db", "ids-000.parquet", "provenance.json"])
def test_a_damaged_folder_is_refused_as_a_whole(store, run, write, name):
    folder = run("counts", write(some(range(30))))
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    with pytest.raises(ParameterError, match="halftruth reports count"):
        operations.import_reports(store, folder)
    (folder / name).unlink()
    with pytest.raises(ParameterError, match="halftruth reports count"):
        operations.import_reports(store, folder)
    assert not store.surveys.all()
