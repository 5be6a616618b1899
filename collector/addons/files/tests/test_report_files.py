"""Commands that write, count and import files of reports."""

import msgspec
import pytest
from filed import some
from halftruth_collector.survey_file import of_survey
from halftruth_shared.protocol.reports import ReportBatch


@pytest.fixture
def halftruth(halftruth, survey, monkeypatch, tmp_path):
    """Return a function that runs a command in a folder with a survey file and client messages."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "health.toml").write_text(of_survey(survey), encoding="utf-8")
    batches = [
        ReportBatch(digest=survey.digest, reports=some(range(60))),
        ReportBatch(digest=survey.digest, reports=some(range(20))),
        ReportBatch(digest="0" * 64, reports=some(range(90, 93))),
    ]
    lines = b"\n".join(map(msgspec.json.encode, batches))
    (tmp_path / "batches.ndjson").write_bytes(lines)
    return halftruth


def test_reports_are_written_counted_imported_and_analysed(halftruth):
    for form in ("ndjson", "parquet"):
        words = ("reports", "write", "batches.ndjson", "--output", "reports", "--form", form)
        status, said, _ = halftruth(*words, "--rows", 50)
        assert (status, said) == (0, "83 reports in 2 files\n")
    files = ("reports/*.parquet", "reports/*.ndjson")
    counting = ("reports", "count", *files, "--survey", "health.toml", "--output")
    status, said, complaint = halftruth(*counting, "counts")
    assert (status, complaint) == (0, "")
    first, repeated, *refused = said.splitlines()
    assert first == "counted 60 of 166 reports in 4 files, into counts"
    assert repeated == "100 had been counted before"
    assert refused[2].split()[:2] == ["stale-digest", "6"]
    said = halftruth("reports", "import", "counts")[1]
    assert said == "counted 60 reports; 0 had been counted before\n"
    assert halftruth("analyse", "overview", "health")[0] == 0
    said = halftruth(*counting, "again", "--earlier", "counts")[1]
    assert said.startswith("counted 0 of 166 reports")


def test_errors_are_printed_in_one_line(refused, tmp_path):
    (tmp_path / "wrong").write_text('\n{"digest": ""}\n')
    counting = ("reports", "count", "reports/*", "--survey", "health.toml", "--output", "counts")
    for words, said in [
        (
            ("reports", "write", "wrong", "-o", "x"),
            "batches: wrong, line 2: expected a message",
        ),
        (counting, "files: reports/*: nothing is there; expected files of reports"),
        ((*counting, "--processes", 0), "0 is not in the range x>=1"),
        ((*counting, "--processes", 2, "--scheduler", "tcp://x"), "expected one of them"),
        ((*counting, "--scheduler", "nowhere"), "nowhere: expected an address like"),
        ((*counting, "--sealed-to", "x"), "sealed_to: expected 64 lower-case hexadecimal digits"),
    ]:
        assert said in refused(*words)
