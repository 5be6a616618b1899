"""Counting reports in files: each id once, with refusals of invalid reports."""

import glob
import gzip
import random
import sqlite3
import stat
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from uuid import UUID

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filed import by_hand, counted, provenance, some, told
from halftruth_collector import operations
from halftruth_collector.executors import open_executor
from halftruth_files import counting, engine
from halftruth_files.counting import count
from halftruth_shared import (
    Attribute,
    HalftruthError,
    ParameterError,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.protocol.report_files import write_reports
from halftruth_shared.protocol.reports import Report, ReportBatch, SealedBatch, SealedReport
from halftruth_shared.protocol.sealing import seal
from pieces import ending


@pytest.fixture
def run(tmp_path, survey):
    """Return a function that counts files into a new folder."""

    def run(*files: Path, to: str = "counts", **options):
        names = [str(file) for file in files] or [str(tmp_path / "reports" / "*reports-*")]
        _, refused = count(survey, names, tmp_path / to, **options)
        return tmp_path / to, refused

    return run


def test_each_id_is_counted_once_unless_its_values_conflict(run, write):
    files = write(some(range(300)), rows=120)
    files += write(some(range(200, 450), seed=1), form="ndjson", rows=100)
    files += write(some(range(100)))
    folder, refused = run()
    ids, cells = by_hand(files)
    assert counted(folder) == (ids, cells)
    said = provenance(folder)
    rows = told(files)
    times = Counter(id_ for id_, _ in rows)
    conflicting = sum(times[id_] for id_ in times.keys() - ids)
    assert refused.counts == {"conflicting-id": conflicting}
    assert 100 < conflicting < 200
    assert (said.reports, said.counted, said.refused) == (650, len(ids), refused.counts)
    assert said.repeated == 650 - len(ids) - conflicting == 100 + (100 - conflicting // 2)
    assert sum(file.refused.get("conflicting-id", 0) for file in said.files) == conflicting
    assert [file.name for file in said.files] == sorted(map(str, files))
    # The folder is readable by its owner only, and no other files are left.
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(each.name for each in folder.parent.iterdir()) == ["counts", "reports"]


def test_conflicting_ids_are_refused_in_any_order_with_file_and_row(run, write):
    same, other = Report(id=UUID(int=1), values=[0, 1]), Report(id=UUID(int=1), values=[1, 1])
    third = Report(id=UUID(int=2), values=[0, 0])
    for number, rows in enumerate([[same, third, other], [other, third, same], [other, same]]):
        files = [write([row], folder=f"{number}-{place}")[0] for place, row in enumerate(rows)]
        files += write([third], folder=f"{number}-last", form="ndjson")
        folder, refused = run(*files, to=f"counts-{number}")
        assert refused.counts == {"conflicting-id": 2}
        assert refused.first == {
            "conflicting-id": f"{min(map(str, files))}: report 0: id: another report has it with"
            " other values; expected one id for each report"
        }
        assert counted(folder) == ({third.id.bytes}, Counter({bytes(2): 1}))
    # An id that was counted earlier is a duplicate, whatever its values.
    [file] = write([same], folder="first")
    before, _ = run(file, to="before")
    [file] = write([other, third], folder="second")
    folder, refused = run(file, to="after", earlier=[before])
    assert not refused.counts
    assert provenance(folder).repeated == 1
    assert counted(folder) == ({third.id.bytes}, Counter({bytes(2): 1}))


def test_counts_of_shuffled_reports_equal_those_of_a_loop(tmp_path, monkeypatch):
    """Surveys of 1 to 64 columns, whose reports may take several 64-bit words."""
    monkeypatch.setattr(counting, "_BYTES_OF_PART", 2**14)
    chance, several_parts = random.Random(34), False
    for number, sizes in enumerate([[7], [2, 3, 5], [300, 2], [5] * 60, [2] * 64]):
        attributes = [
            Attribute(f"q{column}", [str(code) for code in range(size)])
            for column, size in enumerate(sizes)
        ]
        survey = Survey(
            "s",
            "S",
            Schema(attributes),
            RandomizedResponse.for_amplification(Schema(attributes), 19),
        )
        reports = [
            Report(
                id=UUID(int=chance.getrandbits(128)), values=[chance.randrange(n) for n in sizes]
            )
            for _ in range(200)
        ]
        sent = [*reports, *chance.choices(reports, k=100)]
        sent += [
            Report(id=each.id, values=[chance.randrange(n) for n in sizes])
            for each in chance.choices(reports, k=20)
        ]
        chance.shuffle(sent)
        folder = tmp_path / str(number)
        for form in ("parquet", "ndjson"):
            batch = ReportBatch(digest=survey.digest, reports=sent[form == "ndjson" :: 2])
            write_reports([batch], folder, form=form, rows=chance.randrange(20, 200))
        found: dict[UUID, set[tuple[int, ...]]] = {}
        for each in sent:
            found.setdefault(each.id, set()).add(tuple(each.values))
        dtype = survey.report_space.dtype
        expected = Counter(
            np.array(values, dtype=dtype).tobytes()
            for [values] in (of for of in found.values() if len(of) == 1)
        )
        provenance_, _ = count(survey, [f"{folder}/reports-*"], folder / "counts")
        several_parts |= len(provenance_.ids) > 1
        assert counted(folder / "counts")[1] == expected
    assert several_parts


def test_files_of_counts_do_not_reveal_the_order_of_reports(run, write):
    folder, _ = run(*write(some(range(300, 0, -1))))
    with closing(sqlite3.connect(folder / "counts.db")) as connection:
        assert not connection.execute("SELECT * FROM report_ids").fetchall()
    for file in folder.glob("ids-*.parquet"):
        ids = [id_.bytes for id_ in pq.read_table(file)["id"].to_pylist()]
        assert ids == sorted(ids)


def test_ids_with_common_prefixes_are_partitioned_and_distinguished(run, write, monkeypatch):
    monkeypatch.setattr(counting, "_BYTES_OF_PART", 100)
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


def test_processes_give_equal_counts_or_leave_no_files(run, write, tmp_path, survey):
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


def test_files_of_different_columns_and_types_are_counted_together(run, write, survey, tmp_path):
    """As other programs write them: ids as bytes, lists of another width, unused columns."""
    write(some(range(10)))
    write(some(range(10, 20)), folder="others", form="ndjson")
    plain = {
        "values": pa.array([[1, 2]] * 10, pa.large_list(pa.int8())),
        "digest": [survey.digest] * 10,
        "id": pa.array([UUID(int=number).bytes for number in range(100, 110)], pa.binary(16)),
    }
    nothing = {"sealed": pa.nulls(10, pa.binary()), "invitation": pa.nulls(10, pa.string())}
    pq.write_table(pa.table(plain), tmp_path / "plain.parquet")
    pq.write_table(pa.table(plain | nothing), tmp_path / "nulls.parquet")
    folder, refused = run(
        *(tmp_path / f"{name}*" for name in ("reports/r", "others/r", "plain", "nulls"))
    )
    assert not refused.counts
    assert sum(counted(folder)[1].values()) == 30
    assert provenance(folder).repeated == 10


def test_refusals_equal_those_of_a_collector(run, write, survey, store):
    """The messages equal those of a collector's store."""
    operations.publish_survey(store, survey)
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


def test_malformed_lines_and_rows_are_refused(run, write):
    [lines] = write(some(range(5)), form="ndjson")
    right = lines.read_bytes()
    digest = msgspec.json.decode(right.splitlines()[0])["digest"]
    report = {"digest": digest, "id": str(UUID(int=9)), "values": [0, 0]}
    wrong = [
        b"no JSON",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b"\0",
        b"null",
        b"{'digest': 1}",
        msgspec.json.encode(report)[:-1] + b', "values": [0, 1]}',
        msgspec.json.encode(report) + msgspec.json.encode(report),
        *map(
            msgspec.json.encode,
            [
                report | {"address": "192.0.2.1"},
                report | {"id": "no id"},
                report | {"id": report["id"][:-1] + "\u0661"},
                report | {"id": 9},
                report | {"digest": 9},
                report | {"values": [0, 0.5]},
                report | {"values": [0, 1.0]},
                report | {"values": [0, True]},
                report | {"values": ["0", 1]},
                report | {"values": [0, None]},
                report | {"values": [[0, 1]]},
                report | {"values": "01"},
                report | {"values": {"0": 0, "1": 0}},
                report | {"values": None, "sealed": "A"},
                report | {"values": None, "sealed": "no base64!"},
                report | {"invitation": 1},
                report | {"values": [10**30, 0]},
                report | {"sealed": "AAAA"},
                {"digest": digest, "id": report["id"]},
            ],
        ),
    ]
    # A file that is not in the manifest, so that its bytes are not compared.
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


def test_sealed_reports_are_opened_with_the_keys(
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
    # One sealed for another report, an empty one, and one with invalid values.
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
    # Without keys, sealed reports are refused.
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
def test_a_changed_file_stops_the_whole_count(run, write, tmp_path, form, spoil, said):
    spoiled, *_ = write(some(range(20)), form=form, rows=10)
    spoil(spoiled)
    with pytest.raises(ParameterError) as error:
        run()
    assert str(error.value).startswith(f"files: {spoiled}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert [each.name for each in tmp_path.iterdir()] == ["reports"]


def test_inputs_without_countable_reports_are_refused(run, write, tmp_path):
    [file] = write(some(range(3)), digest="0" * 64)
    with pytest.raises(ParameterError, match=r"no report can be counted \(3 of stale-digest, the"):
        run(file)
    with pytest.raises(ParameterError, match=r"none\.parquet: nothing is there"):
        run(tmp_path / "none.parquet")
    with pytest.raises(ParameterError) as error:
        run("s3://me:secret@reports/*.parquet")
    assert "without a password" in str(error.value)
    assert "secret" not in str(error.value)
    (tmp_path / "counts").mkdir()
    with pytest.raises(ParameterError, match="counts exists; expected a new name"):
        run(file)


def test_a_file_given_twice_is_counted_once(run, write, tmp_path):
    [file] = write(some(range(30)))
    copy = tmp_path / "again.parquet"
    copy.write_bytes(file.read_bytes())
    folder, _ = run(file, file, copy, f"file://{file}")
    assert counted(folder) == by_hand([file])
    assert provenance(folder).repeated == 2 * 30


@pytest.mark.parametrize("column", ["id", "values"])
def test_decompression_bombs_are_refused_before_they_are_decompressed(
    run, tmp_path, survey, column
):
    """Repeated values take almost no space in Parquet, even millions of numbers or reports."""
    many = 3_000_000 if column == "id" else 5_000_000
    rows = 1 if column == "values" else many
    lengths = {"values": [0, many], "id": np.arange(many + 1)}[column]
    table = pa.table(
        {
            "id": pa.repeat(pa.scalar(bytes(16), pa.binary(16)), rows),
            "digest": pa.repeat(pa.scalar(survey.digest), rows),
            "values": pa.ListArray.from_arrays(
                pa.array(lengths, pa.int32()), pa.repeat(pa.scalar(0, pa.uint8()), many)
            ),
        }
    )
    file = tmp_path / "small.parquet"
    pq.write_table(table, file, compression="zstd", row_group_size=many)
    assert file.stat().st_size < 100_000
    with pytest.raises(ParameterError) as wrong:
        run(file)
    assert str(wrong.value) == (
        f"files: {file}: column '{column}': has far more than reports of this survey have;"
        " expected a file of these"
    )


@pytest.mark.parametrize("column", ["sealed", "invitation"])
def test_long_repeated_texts_are_refused_without_being_stored(
    run, tmp_path, survey, sealing_key, key_file, column, monkeypatch
):
    """They take 300 MB when decompressed."""
    monkeypatch.setattr(engine, "MEMORY", "64MB")
    monkeypatch.setattr(engine, "_MAX_SPILL", "1MB")
    rows, many = 30_000, 10_000
    kind = pa.binary() if column == "sealed" else pa.string()
    table = pa.table(
        {
            "id": pa.repeat(pa.scalar(bytes(16), pa.binary(16)), rows),
            "digest": [survey.digest] * rows,
            column: pa.repeat(pa.scalar(b"0" * many, pa.binary()).cast(kind), rows),
            **({} if column == "sealed" else {"values": [[0, 0]] * rows}),
        }
    )
    file = tmp_path / "small.parquet"
    pq.write_table(table, file, compression="zstd")
    assert file.stat().st_size < 3_000
    for keys in ({}, {"sealing_key": sealing_key, "key_file": key_file}):
        with pytest.raises(ParameterError, match=r"no report can be counted \(30000 of report-err"):
            run(file, **keys)


def test_duckdb_can_access_only_the_given_files_and_folder(tmp_path):
    folder, other = tmp_path / "it's [a] *folder?", tmp_path / "other.csv"
    folder.mkdir()
    other.write_text("secret\n")
    (folder / "link.csv").symlink_to(other)
    allowed = tmp_path / "a*'b.csv"
    allowed.write_text("x\n1\n")
    (tmp_path / "ab.csv").write_text("x\n2\n")
    with engine.connect(folder, [str(allowed)]) as database:
        assert database.execute(f"FROM read_csv({engine.quote(allowed)})").fetchall() == [(1,)]
        database.execute(f"COPY (SELECT 1) TO {engine.quote(folder / 'out.parquet')}")
        for statement in (
            f"FROM read_csv({engine.quote(other)})",
            f"FROM read_csv({engine.quote(folder / 'link.csv')})",
            f"FROM read_csv({engine.quote(folder / '..' / 'other.csv')})",
            f"COPY (SELECT 1) TO {engine.quote(tmp_path / 'out.parquet')}",
            f"ATTACH {engine.quote(tmp_path / 'new.db')}",
            "INSTALL httpfs",
            "LOAD httpfs",
            "FROM read_parquet('s3://reports/x.parquet')",
            "FROM read_parquet('https://127.0.0.1/x.parquet')",
            "SET enable_external_access = true",
            "SET memory_limit = '100GB'",
            "FROM folder",
        ):
            with pytest.raises(duckdb.Error):
                database.execute(statement)
    assert sorted(each.name for each in folder.iterdir()) == ["link.csv", "out.parquet"]


def test_special_characters_in_file_names_are_literal(run, write, tmp_path):
    for form in ("parquet", "ndjson"):
        [file] = write(some(range(30)), form=form)
        [other] = write(some(range(100, 120)), folder="others", form=form)
        folder = tmp_path / f"day=5 [a] 'b' {form}"
        folder.mkdir()
        for number, name in enumerate(["*", "a[b]", "it's", 'a"b', "a\\b", "$HOME", "a;b", "ü\n"]):
            (folder / f"x{name}.{form}").write_bytes(file.read_bytes())
            (folder / f"xab.{form}").write_bytes(other.read_bytes())
            made, _ = run(glob.escape(f"{folder}/x{name}.{form}"), to=f"{form} '{number}' [c]*")
            assert counted(made) == by_hand([file])


@pytest.mark.parametrize("name", ["reports.csv", "reports.ndjson.gz", "reports.parquet.gz", "x"])
def test_other_formats_are_refused_by_their_names(run, write, tmp_path, name):
    [file] = write(some(range(30)), form="ndjson")
    other = tmp_path / name
    other.write_bytes(gzip.compress(file.read_bytes()))
    with pytest.raises(ParameterError, match=r"expected a name that ends with \.parquet, \.ndjson"):
        run(other)
    # Compressed files with other names are not decompressed either.
    for suffix in ("ndjson", "parquet"):
        renamed = other.rename(tmp_path / f"renamed.{suffix}")
        with pytest.raises(ParameterError, match=r"cannot be read|no report can be counted"):
            run(renamed)
        other = renamed


def test_files_without_reports_are_ignored_beside_others(run, write, tmp_path):
    files = write(some(range(30)))
    pq.write_table(pq.read_table(files[0]).slice(0, 0), tmp_path / "empty.parquet")
    (tmp_path / "empty.ndjson").write_bytes(b"")
    (tmp_path / "blank.jsonl").write_bytes(b"\n\r\n  \n")
    empty = [tmp_path / name for name in ("empty.parquet", "empty.ndjson", "blank.jsonl")]
    folder, refused = run(*files, *empty)
    assert counted(folder) == by_hand(files)
    assert not refused.counts
    assert provenance(folder).reports == 30
    for file in empty:
        with pytest.raises(ParameterError, match=r"no report can be counted \(there is none\)"):
            run(file, to="nothing")
    (tmp_path / "none.parquet").write_bytes(b"")
    with pytest.raises(ParameterError, match=r"none\.parquet: cannot be read \(ArrowInvalid\)"):
        run(tmp_path / "none.parquet", to="nothing")


def test_errors_quote_neither_values_nor_keys(run, write, survey, tmp_path, sealing_key, key_file):
    """Flip random bits of files, and check the messages."""
    [lines] = write([Report(id=UUID(int=9), values=[987_654, 0])], form="ndjson")
    [rows] = write([Report(id=UUID(int=9), values=[987_654, 0])], form="parquet")
    sealed = SealedReport(
        id=UUID(int=1), sealed=seal(sealing_key, survey.digest, UUID(int=1), bytes([9, 9]))
    )
    write_reports([SealedBatch(digest=survey.digest, reports=[sealed])], tmp_path / "sealed")
    [closed] = (tmp_path / "sealed").glob("reports-*")
    private = key_file.read_text()
    chance = random.Random(2)
    for file, keys in (
        (lines, {}),
        (rows, {}),
        (closed, {"sealing_key": sealing_key, "key_file": key_file}),
    ):
        whole = file.read_bytes()
        for _ in range(8):
            place = chance.randrange(len(whole))
            spoiled = bytearray(whole)
            spoiled[place] ^= 1 << chance.randrange(8)
            other = tmp_path / f"spoiled{file.suffix}"
            other.write_bytes(bytes(spoiled))
            with pytest.raises(ParameterError) as error:
                run(other, to="none", **keys)
            said = str(error.value)
            assert "\n" not in said
            assert "987" not in said
            assert not any(line in said for line in private.splitlines() if len(line) > 20)
            assert error.value.__cause__ is None
            assert error.value.__suppress_context__ or error.value.__context__ is None
