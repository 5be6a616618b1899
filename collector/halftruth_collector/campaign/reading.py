"""Files of reports, found by patterns and read piece by piece: Parquet, or JSON a line.

Names are paths, or addresses that Arrow knows, such as ``s3://reports/2026/*.parquet``.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from posixpath import basename
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from halftruth_shared import ParameterError
from halftruth_shared.protocol.report_files import MANIFEST, FiledReport, Manifest, ReportFile
from pyarrow import fs

#: Reports that are in memory at a time, and values of them.
ROWS, VALUES = 2**19, 2**22

#: Bytes of lines that are in memory at a time, and that one line may have.
_BLOCK = 2**24

#: What a column of a Parquet file has to be.
_TYPES = {
    "id": "UUID or 16 bytes",
    "digest": "text",
    "values": "lists of integers",
    "sealed": "bytes",
    "invitation": "text",
}

#: What the values of lines are, and those that a file does not have.
_VALUES = pa.list_(pa.int64())

#: What is raised by a line that is no report.
_NO_REPORT = (msgspec.DecodeError, UnicodeError, RecursionError)

_DECODER = msgspec.json.Decoder(FiledReport)


def find(patterns: Sequence[str]) -> list[str]:
    """Names of the files, each once, in the order of names.

    Raises
    ------
    ParameterError
        If a pattern finds nothing, or its place cannot be read.
    """
    files: set[str] = set()
    for pattern in patterns:
        if "@" in pattern.partition("://")[2].partition("/")[0]:
            # Names are written down where the counts are.
            raise ParameterError(
                "files: expected an address without a password, which the environment has",
                field="files",
            )
        names = _elsewhere(pattern) if "://" in pattern else glob.glob(pattern, recursive=True)
        if not names:
            raise ParameterError(
                f"files: {pattern}: nothing is there; expected files of reports", field="files"
            )
        files.update(names)
    return sorted(files)


def _elsewhere(pattern: str) -> list[str]:
    """Files by an address with wildcards in the last part of its path alone."""
    folder, name, options = _split(pattern)
    with _reading(pattern):
        system, path = fs.FileSystem.from_uri(folder + options)
        there = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return [
        folder + info.base_name + options
        for info in there
        if info.type == fs.FileType.File and fnmatchcase(info.base_name, name)
    ]


def _split(name: str) -> tuple[str, str, str]:
    """Folder, last part and, of an address, what it says of the file system from ``?`` on."""
    path, mark, options = name.partition("?") if "://" in name else (name, "", "")
    last = basename(path)
    return path.removesuffix(last), last, mark + options


def batches(name: str, columns: int) -> Iterator[pa.RecordBatch]:
    """The reports of a file, some at a time: fewer where they have many columns.

    Their columns are `id` (16 bytes), `digest`, `values` (a list), `sealed` and `invitation`. What
    has no `id`, was no report.

    Raises
    ------
    ParameterError
        If it cannot be read, or has columns that reports have not.
    """
    with _reading(name), _open(name) as file:
        last = _split(name)[1]
        if last.endswith(".parquet"):
            yield from _of_parquet(name, file, columns)
        elif last.endswith((".ndjson", ".jsonl")):
            yield from _of_lines(name, file)
        else:
            raise ParameterError(
                f"files: {name}: expected a name that ends with .parquet, .ndjson or .jsonl",
                field="files",
            )


def fingerprint(name: str) -> tuple[int, str]:
    """Size and SHA-256 of a file.

    Raises
    ------
    ParameterError
        If it cannot be read.
    """
    with _reading(name), _open(name) as file:
        return file.size(), hashlib.file_digest(file, "sha256").hexdigest()


def written(names: Iterable[str]) -> dict[str, ReportFile]:
    """Read the manifests beside some files.

    Raises
    ------
    ParameterError
        If a manifest is none, or a file of one is not there.
    """
    listed: dict[str, ReportFile] = {}
    for folder, options in sorted({_split(name)[::2] for name in names}):
        pattern = folder + "*".join(MANIFEST) + options
        manifests = _elsewhere(pattern) if "://" in pattern else glob.glob(pattern)
        for manifest in sorted(manifests):
            with _reading(manifest), _open(manifest) as file:
                files = msgspec.json.decode(file.read(), type=Manifest).files
            listed |= {folder + each.name + options: each for each in files}
    for name in sorted(listed):
        with _reading(name), _open(name):
            pass
    return listed


def _open(name: str) -> Any:
    if "://" not in name:
        return pa.OSFile(name)
    system, path = fs.FileSystem.from_uri(name)
    return system.open_input_file(path)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """One line of what goes wrong, which quotes nothing of a report."""
    try:
        yield
    except FileNotFoundError:
        raise ParameterError(
            f"files: {name}: is not there; expected a file of reports", field="files"
        ) from None
    except (OSError, pa.ArrowException, msgspec.DecodeError, UnicodeError) as error:
        raise ParameterError(
            f"files: {name}: cannot be read ({type(error).__name__}); expected a whole file of"
            " reports",
            field="files",
        ) from None


def _of_parquet(name: str, file: Any, columns: int) -> Iterator[pa.RecordBatch]:
    metadata = pq.read_metadata(file)
    names = metadata.schema.to_arrow_schema().names
    wrong = next((column for column in names if column not in _TYPES), None)
    lacking = next((column for column in ("id", "digest") if column not in names), None)
    if wrong or lacking:
        raise ParameterError(
            f"files: {name}: column '{wrong or lacking}': expected id, digest, values or sealed,"
            " and nothing else but invitation",
            field="files",
        )
    _check_groups(name, metadata, columns)
    texts = [column for column in ("digest", "sealed", "invitation") if column in names]
    opened = pq.ParquetFile(file, metadata=metadata, read_dictionary=texts)
    rows, bytes_of_report = min(ROWS, VALUES // columns + 1), _bytes_of_report(columns)
    # Threads are not its business: whoever has more than one core reads several files.
    for batch in opened.iter_batches(rows, use_threads=False):
        yield pa.record_batch(
            {column: _column(name, batch, column, bytes_of_report) for column in _TYPES}
        )


def _bytes_of_report(columns: int) -> int:
    """Bytes that no report has more of in a column, sealed or not."""
    return 8 * columns + 256


def _check_groups(name: str, metadata: pq.FileMetaData, columns: int) -> None:
    """Make sure that no row group is larger than its reports, before it is unpacked."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        bytes_ = max(_BLOCK, group.num_rows * _bytes_of_report(columns))
        values = max(VALUES, group.num_rows * columns)
        for place in range(group.num_columns):
            chunk = group.column(place)
            if chunk.num_values > values or chunk.total_uncompressed_size > bytes_:
                raise _too_large(name, chunk.path_in_schema.partition(".")[0])


def _too_large(name: str, column: str) -> ParameterError:
    return ParameterError(
        f"files: {name}: column '{column}': has far more than reports of this survey have;"
        " expected a file of these",
        field="files",
    )


def _column(name: str, batch: pa.RecordBatch, column: str, bytes_of_report: int) -> pa.Array:
    if column not in batch.schema.names:
        return pa.nulls(batch.num_rows, _VALUES if column == "values" else None)
    array = batch.column(column)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    types = pa.types
    if column in ("sealed", "invitation") and types.is_dictionary(array.type):
        # A value that is repeated takes no place in the file.
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        if (pc.sum(lengths).as_py() or 0) > len(array) * bytes_of_report:
            raise _too_large(name, column)
        array = array.dictionary_decode()
    kind = array.type
    if column == "id" and kind == pa.binary(16):
        return array
    if column == "values" and (
        (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
        and types.is_integer(kind.value_type)
    ):
        return array
    if column == "digest" and types.is_dictionary(kind) and types.is_string(kind.value_type):
        return array
    if column == "sealed" and (types.is_binary(kind) or types.is_large_binary(kind)):
        return array
    if column == "invitation" and (types.is_string(kind) or types.is_large_string(kind)):
        return array
    raise ParameterError(
        f"files: {name}: column '{column}': has the type {kind}; expected {_TYPES[column]}",
        field="files",
    )


def _of_lines(name: str, file: Any) -> Iterator[pa.RecordBatch]:
    rest = b""
    while block := file.read(_BLOCK):
        whole, end, rest = (rest + block).rpartition(b"\n")
        if len(rest) > _BLOCK:
            raise ParameterError(
                f"files: {name}: expected lines of at most {_BLOCK} bytes", field="files"
            )
        if end:
            yield _as_batch(_decoded(whole))
    if rest:
        yield _as_batch(_decoded(rest))


def _decoded(lines: bytes) -> list[FiledReport | None]:
    """A report for each line, and None for one that is none."""
    try:
        return list(_DECODER.decode_lines(lines))
    except _NO_REPORT:
        return [_decoded_line(line) for line in lines.splitlines() if line.strip()]


def _decoded_line(line: bytes) -> FiledReport | None:
    try:
        return _DECODER.decode(line)
    except _NO_REPORT:
        return None


def _as_batch(reports: Sequence[FiledReport | None]) -> pa.RecordBatch:
    def column(name: str, kind: pa.DataType) -> pa.Array:
        return pa.array([report and getattr(report, name) for report in reports], kind)

    return pa.record_batch(
        {
            "id": pa.array([report and report.id.bytes for report in reports], pa.binary(16)),
            "digest": column("digest", pa.string()).dictionary_encode(),
            "values": column("values", _VALUES),
            "sealed": column("sealed", pa.binary()),
            "invitation": column("invitation", pa.string()),
        }
    )
