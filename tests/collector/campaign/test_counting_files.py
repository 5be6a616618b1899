"""Reports in files are counted each once, whoever counts them, and what cannot be is said."""

import sqlite3
import stat
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from uuid import UUID

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filed import by_hand, counted, provenance, some, told
from halftruth_collector.campaign import reading
from halftruth_collector.campaign.counting import count
from halftruth_collector.executors import open_executor
from halftruth_shared import HalftruthError, ParameterError
from halftruth_shared.protocol.report_files import write_reports
from halftruth_shared.protocol.reports import Report, SealedBatch, SealedReport
from halftruth_shared.protocol.sealing import seal
from pieces import ending


@pytest.fixture
def run(tmp_path, survey):
    """Count files here, into a new folder."""

    def run(*files: Path, to: str = "counts", **options):
        names = [str(file) for file in files] or [str(tmp_path / "reports" / "*reports-*")]
        _, refused = count(survey, names, tmp_path / to, **options)
        return tmp_path / to, refused

    return run


def test_each_id_is_counted_once_by_its_first_report(run, write, monkeypatch):
    # Several batches of a file, and several blocks of lines.
    monkeypatch.setattr(reading, "ROWS", 64)
    monkeypatch.setattr(reading, "_BLOCK", 4096)
    files = write(some(range(300)), rows=120)
    files += write(some(range(200, 450), seed=1), form="ndjson", rows=100)
    files += write(some(range(100), seed=2))
    folder, refused = run()
    assert counted(folder) == by_hand(files)
    said = provenance(folder)
    rows = told(files)
    first = dict(reversed(rows))
    assert (said.reports, said.counted, said.repeated) == (650, 450, 200)
    assert said.differing == sum(first[id_] != cell for id_, cell in rows) > 50
    assert not refused.counts
    assert [file.name for file in said.files] == sorted(map(str, files))
    # Nothing of it is for others, and nothing else is left.
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(each.name for each in folder.parent.iterdir()) == ["counts", "reports"]


def test_files_of_counts_tell_no_order_of_arrival(run, write):
    folder, _ = run(*write(some(range(300, 0, -1))))
    with closing(sqlite3.connect(folder / "counts.db")) as connection:
        assert not connection.execute("SELECT * FROM report_ids").fetchall()
    for file in folder.glob("ids-*.parquet"):
        ids = pq.read_table(file)["id"].to_pylist()
        assert ids == sorted(ids)


def test_ids_that_begin_with_the_time_are_parted_and_those_that_begin_alike_are_apart(run, write):
    reports = [
        Report(id=UUID(int=(0x0190_0000_0000 << 80) | (high << 64) | low), values=[high, low])
        for high in range(2)
        for low in range(3)
    ]
    folder, _ = run(*write(reports))
    assert counted(folder)[1] == Counter(
        {bytes([high, low]): 1 for high in range(2) for low in range(3)}
    )
    assert sum(each.rows > 0 for each in provenance(folder).ids) > 1


@pytest.mark.nightly
def test_clusters_count_the_same_also_when_workers_end(run, write, tmp_path, survey, cluster):
    files = write(some([*range(200), *range(50)]), rows=60)
    here, _ = run()
    (tmp_path / "ended").mkdir()
    with open_executor(scheduler=cluster.scheduler) as map_pieces:
        map_and_end = ending(map_pieces, tmp_path / "ended")
        count(survey, [*map(str, files)], tmp_path / "there", map_and_end)
    assert sorted(each.name for each in (tmp_path / "ended").iterdir()) == [
        "check_file",
        "count_part",
    ]
    assert counted(tmp_path / "there") == counted(here)
    assert provenance(tmp_path / "there").ids == provenance(here).ids


def test_processes_count_the_same_or_leave_nothing(run, write, tmp_path, survey):
    files = write(some([*range(200), *range(50)]), rows=60)
    here, _ = run()
    there = tmp_path / "there"
    with open_executor(processes=2) as map_pieces:
        count(survey, [*map(str, files)], there, map_pieces)
        assert provenance(there).ids == provenance(here).ids
        with pytest.raises(BrokenProcessPool):
            count(survey, [*map(str, files)], tmp_path / "none", ending(map_pieces, None))
    assert counted(there) == counted(here)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["counts", "reports", "there"]


def test_what_is_refused_is_what_a_collector_refuses(run, write, survey, store):
    """In the words of the collector that is told each of these reports over HTTP."""
    store.surveys.publish(survey)
    wrong = [
        Report(id=UUID(int=1), values=[2, 0]),
        Report(id=UUID(int=2), values=[0, -1]),
        Report(id=UUID(int=3), values=[0]),
        Report(id=UUID(int=4), values=[0, 0, 0]),
        Report(id=UUID(int=5), values=[0, 0], invitation="0" * 32),
    ]
    right = some(range(10, 13))
    for number, report in enumerate(wrong):
        with pytest.raises(HalftruthError) as error:
            store.reports.add(survey.id, survey.digest, [report])
        files = write([report], folder=f"wrong-{number}", form="ndjson")
        files += write(right, folder=f"wrong-{number}", form="ndjson")
        folder, refused = run(*files, to=f"counts-{number}")
        assert refused.counts == {"report-error": 1}
        assert refused.first == {"report-error": f"{files[0]}: {error.value}"}
        assert counted(folder) == by_hand(files[1:])


def test_lines_and_rows_that_are_no_reports_are_refused(run, write):
    [lines] = write(some(range(5)), form="ndjson")
    right = lines.read_bytes()
    digest = msgspec.json.decode(right.splitlines()[0])["digest"]
    report = {"digest": digest, "id": str(UUID(int=9)), "values": [0, 0]}
    wrong = [
        b"no JSON",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        *map(
            msgspec.json.encode,
            [
                report | {"address": "192.0.2.1"},
                report | {"id": "no id"},
                report | {"values": [0, 0.5]},
                report | {"values": [10**30, 0]},
                report | {"sealed": "AAAA"},
                {"digest": digest, "id": report["id"]},
            ],
        ),
    ]
    # In several files, so that none of them has its manifest's bytes.
    lines.with_name("wrong-reports-.ndjson").write_bytes(b"\n\n".join(wrong) + b"\n" + right)
    folder, refused = run(lines.with_name("wrong-reports-.ndjson"))
    assert refused.counts == {"malformed-request": len(wrong)}
    assert counted(folder) == by_hand([lines])
    row = {"id": UUID(int=1).bytes, "digest": digest, "values": [0, 0]}
    rows = [row, row | {"id": None}, row | {"digest": None}, row | {"values": None}]
    rows += [row | {"values": [0, None]}, row | {"values": []}]
    kinds = {"id": pa.binary(16), "digest": pa.string(), "values": pa.large_list(pa.uint64())}
    file = lines.with_name("rows-reports-.parquet")
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(kinds)), file)
    folder, refused = run(file, to="of-rows")
    assert refused.counts == {"malformed-request": 3, "report-error": 2}
    assert counted(folder)[1] == {bytes([0, 0]): 1}


def test_sealed_reports_are_opened_where_the_keys_are(
    run, write, survey, tmp_path, sealing_key, key_file
):
    reports = some(range(40))
    sealed = [
        SealedReport(
            id=report.id,
            sealed=seal(sealing_key, survey.digest, report.id, bytes(report.values)),
        )
        for report in reports
    ]
    # One of another report, one that no collector can have sealed, and one that does not fit.
    other = seal(sealing_key, survey.digest, reports[0].id, bytes([0, 0]))
    unfit = seal(sealing_key, survey.digest, UUID(int=99), bytes([2, 0]))
    sealed += [SealedReport(id=UUID(int=98), sealed=each) for each in (other, b"")]
    sealed += [SealedReport(id=UUID(int=99), sealed=unfit)]
    folder = tmp_path / "sealed"
    for form in ("parquet", "ndjson"):
        write_reports([SealedBatch(digest=survey.digest, reports=sealed)], folder, form=form)
    [open_ones] = write(some(range(100, 110)), folder="sealed", form="ndjson")
    files = [each for each in folder.iterdir() if each.suffix != ".json"]
    keys = {"sealing_key": sealing_key, "key_file": key_file}
    made, refused = run(*files, **keys)
    ids, counts = counted(made)
    assert ids == {report.id.bytes for report in reports}
    assert counts == Counter(bytes(report.values) for report in reports)
    assert refused.counts == {"report-error": 10 + 2 * 3}
    assert provenance(made).sealing_key == sealing_key
    # Without keys, these are the wrong ones.
    made, refused = run(*files, to="of-open")
    assert counted(made) == by_hand([open_ones])
    assert refused.counts == {"report-error": 2 * len(sealed)}
    with pytest.raises(ParameterError, match="sealed_to: its private key is not here"):
        run(*files, to="without", sealing_key=sealing_key)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def lose(file: Path) -> None:
    file.unlink()


def with_addresses(file: Path) -> None:
    table = pq.read_table(file)
    pq.write_table(table.append_column("address", pa.array(["192.0.2.1"] * len(table))), file)


def with_numbers(file: Path) -> None:
    table = pq.read_table(file)
    pq.write_table(table.set_column(0, "id", pa.array(range(len(table)))), file)


@pytest.mark.parametrize(
    ("form", "spoil", "said"),
    [
        ("parquet", cut, "cannot be read (ArrowInvalid); expected a whole file of reports"),
        ("ndjson", cut, "bytes that are not those of its manifest; expected the"),
        ("parquet", lose, "is not there; expected a file of reports"),
        ("parquet", with_addresses, "column 'address': expected id, digest, values or sealed"),
        ("parquet", with_numbers, "column 'id': has the type int64; expected UUID or 16 bytes"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_stops_all_of_it(
    run, write, tmp_path, form, spoil, said
):
    spoiled, *_ = write(some(range(20)), form=form, rows=10)
    spoil(spoiled)
    with pytest.raises(ParameterError) as error:
        run()
    assert str(error.value).startswith(f"files: {spoiled}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert [each.name for each in tmp_path.iterdir()] == ["reports"]


def test_what_cannot_be_counted_at_all_is_one_error(run, write, tmp_path):
    [file] = write(some(range(3)), digest="0" * 64)
    with pytest.raises(ParameterError, match=r"no report can be counted \(3 of stale-digest, the"):
        run(file)
    with pytest.raises(ParameterError, match=r"none\.parquet: nothing is there"):
        run(tmp_path / "none.parquet")
    with pytest.raises(ParameterError) as error:
        run("s3://me:secret@reports/*.parquet")
    assert "without a password" in str(error.value)
    assert "secret" not in str(error.value)
    (tmp_path / "reports.csv").write_text("id\n")
    with pytest.raises(ParameterError, match="expected a name that ends with"):
        run(tmp_path / "reports.csv")
    (tmp_path / "counts").mkdir()
    with pytest.raises(ParameterError, match="counts exists; expected a new name"):
        run(file)


def test_a_file_that_is_there_twice_counts_once(run, write, tmp_path):
    [file] = write(some(range(30)))
    copy = tmp_path / "again.parquet"
    copy.write_bytes(file.read_bytes())
    folder, _ = run(file, file, copy, f"file://{file}")
    assert counted(folder) == by_hand([file])
    assert provenance(folder).repeated == 2 * 30


@pytest.mark.parametrize("column", ["values", "sealed", "invitation"])
def test_a_small_file_that_unpacks_to_much_is_refused_before_it_is_unpacked(
    run, tmp_path, survey, column
):
    """What repeats takes no place in Parquet, be it 20 million numbers or 300 MB of bytes."""
    rows, many = (1, 20_000_000) if column == "values" else (30_000, 10_000)
    made = {
        "values": lambda: pa.ListArray.from_arrays(
            pa.array([0, many], pa.int32()), pa.repeat(pa.scalar(0, pa.uint8()), many)
        ),
        "sealed": lambda: pa.repeat(pa.scalar(bytes(many), pa.binary()), rows),
        "invitation": lambda: pa.repeat(pa.scalar("0" * many, pa.string()), rows),
    }
    ids = pa.repeat(pa.scalar(bytes(16), pa.binary(16)), rows)
    table = pa.table({"id": ids, "digest": [survey.digest] * rows, column: made[column]()})
    file = tmp_path / "small.parquet"
    pq.write_table(table, file, compression="zstd")
    assert file.stat().st_size < 2_000
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    usual = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(ParameterError) as wrong:
            run(file)
    finally:
        pa.set_memory_pool(usual)
    assert str(wrong.value) == (
        f"files: {file}: column '{column}': has far more than reports of this survey have;"
        " expected a file of these"
    )
    assert pool.max_memory() < 10e6
