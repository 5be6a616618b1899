"""Report files: complete or absent, and in random order."""

import hashlib
import stat
import sys
from uuid import UUID

import msgspec
import pyarrow.parquet as pq
import pytest
from halftruth_shared import ParameterError
from halftruth_shared.protocol.report_files import Manifest, write_reports
from halftruth_shared.protocol.reports import Report, ReportBatch, SealedBatch, SealedReport

DIGEST = "0123456789abcdef" * 4
REPORTS = [Report(id=UUID(int=number), values=[number, 1]) for number in range(100)]
OPEN = ReportBatch(digest=DIGEST, reports=REPORTS)
INVITED = ReportBatch(
    digest=DIGEST, reports=[Report(id=UUID(int=7), values=[1], invitation="ab" * 16)]
)
SEALED = SealedBatch(digest=DIGEST, reports=[SealedReport(id=UUID(int=9), sealed=b"\x00\xff")])


def rows(folder, manifest):
    """Return the rows of the files as JSON values."""
    found = []
    for file in manifest.files:
        path = folder / file.name
        if path.suffix == ".parquet":
            found += pq.read_table(path).to_pylist()
        else:
            found += map(msgspec.json.decode, path.read_bytes().splitlines())
    return found


@pytest.mark.parametrize("form", ["parquet", "ndjson"])
def test_reports_are_split_into_files_listed_in_a_manifest(tmp_path, form):
    folder = tmp_path / "new" / "reports"
    manifest = write_reports(iter([OPEN]), folder, form=form, rows=40)
    [written] = folder.glob("manifest-*.json")
    assert msgspec.json.decode(written.read_bytes(), type=Manifest) == manifest
    assert [file.rows for file in manifest.files] == [40, 40, 20]
    for file in manifest.files:
        content = (folder / file.name).read_bytes()
        assert (file.size, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        assert stat.S_IMODE((folder / file.name).stat().st_mode) == 0o600
    assert len(list(folder.iterdir())) == 4
    found = rows(folder, manifest)
    assert {row["digest"] for row in found} == {DIGEST}
    values = [row["values"][0] for row in found]
    assert [UUID(str(row["id"])).int for row in found] == values
    # The original order has a probability of 1/40!.
    assert values != sorted(values)
    assert sorted(values) == list(range(100))


def test_reports_are_written_unchanged(tmp_path):
    found = rows(tmp_path, write_reports([INVITED, SEALED], tmp_path, form="ndjson"))
    assert sorted(found, key=lambda row: row["id"]) == [
        {"digest": DIGEST, "id": str(UUID(int=7)), "values": [1], "invitation": "ab" * 16},
        {"digest": DIGEST, "id": str(UUID(int=9)), "sealed": "AP8="},
    ]
    found = rows(tmp_path, write_reports([SEALED], tmp_path))
    assert found == [{"digest": DIGEST, "id": UUID(int=9), "sealed": b"\x00\xff"}]


def test_a_failed_write_leaves_no_files(tmp_path):
    def broken():
        yield OPEN
        raise ConnectionError

    with pytest.raises(ConnectionError):
        write_reports(broken(), tmp_path, form="ndjson", rows=10)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match=r"folder: .*file: reports cannot"):
        write_reports([OPEN], tmp_path / "file")


def test_invalid_options_and_missing_extras_are_errors(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="form: expected one of: parquet, ndjson"):
        write_reports([OPEN], tmp_path, form="csv")
    with pytest.raises(ParameterError, match="rows: expected at least 1"):
        write_reports([OPEN], tmp_path, rows=0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ParameterError, match=r"expected halftruth-client\[parquet\]"):
        write_reports([OPEN], tmp_path)
    assert len(write_reports([OPEN], tmp_path, form="ndjson").files) == 1
