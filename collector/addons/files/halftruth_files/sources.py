"""Find files of reports by patterns, and select the reports of each file with SQL.

Names are paths, or URIs that Arrow supports, such as ``s3://reports/2026/*.parquet``.
"""

from __future__ import annotations

import glob
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import basename
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from halftruth_shared import ParameterError
from halftruth_shared.protocol.report_files import MANIFEST, Manifest, ReportFile
from pyarrow import fs

from .engine import quote

#: Largest size of a line in bytes, and accepted size of a column of a row group with few reports.
_BLOCK = 2**24

#: Accepted number of values of a row group with few reports, and of reports of a small file.
_VALUES, _ROWS = 2**22, 2**20

#: Required types of the columns of a Parquet file.
_TYPES = {
    "id": "UUID or 16 bytes",
    "digest": "text",
    "values": "lists of integers",
    "sealed": "bytes",
    "invitation": "text",
}

#: A UUID as text, with hyphens or without.
_UUID = "[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"

#: Query of the reports of a file of JSON lines. Each line is an object with only these members; for
#: an invalid line, the id is NULL.
_SELECT_FROM_LINES = """
    SELECT row,
        CASE WHEN fits THEN TRY_CAST(json->>'$.id' AS UUID) END AS id,
        CASE WHEN fits THEN json->>'$.digest' END AS digest,
        CASE WHEN fits THEN TRY_CAST(json->'$.values' AS HUGEINT[]) END AS "values",
        CASE WHEN fits THEN TRY(from_base64(json->>'$.sealed')) END AS sealed,
        CASE WHEN fits THEN json->>'$.invitation' IS NOT NULL END AS invited
    FROM (
        SELECT row, json, coalesce(
            json_type(json) = 'OBJECT'
            AND list_has_all({columns}, json_keys(json))
            AND len(json_keys(json)) = len(list_distinct(json_keys(json)))
            AND json_type(json, '$.id') = 'VARCHAR'
            AND regexp_full_match(json->>'$.id', {uuid})
            AND json_type(json, '$.digest') = 'VARCHAR'
            AND (
                coalesce(json_type(json, '$.values'), 'NULL') = 'NULL'
                OR json_type(json, '$.values') = 'ARRAY'
                    AND list_has_all(['UBIGINT', 'BIGINT'], json_type(json, '$.values[*]'))
            )
            AND coalesce(json_type(json, '$.sealed'), 'NULL') IN ('NULL', 'VARCHAR')
            AND (json->>'$.sealed' IS NULL) = (TRY(from_base64(json->>'$.sealed')) IS NULL)
            AND coalesce(json_type(json, '$.invitation'), 'NULL') IN ('NULL', 'VARCHAR'),
            false
        ) AS fits
        FROM (
            SELECT row_number() OVER () - 1 AS row, json
            FROM read_ndjson_objects(
                {path}, ignore_errors = true, compression = 'none',
                maximum_object_size = {longest}
            )
        )
    )
"""


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the sorted names of all files that match a pattern.

    Raise ParameterError if a pattern matches nothing, or a folder cannot be read.
    """
    files: set[str] = set()
    for pattern in patterns:
        if "@" in pattern.partition("://")[2].partition("/")[0]:
            # Names are stored with the counts, so they must not contain a password.
            raise ParameterError(
                "files: expected an address without a password, which the environment has",
                field="files",
            )
        names = (
            _find_remote_files(pattern) if "://" in pattern else glob.glob(pattern, recursive=True)
        )
        if not names:
            raise ParameterError(
                f"files: {pattern}: nothing is there; expected files of reports", field="files"
            )
        files.update(names)
    return sorted(files)


def sum_sizes(names: Iterable[str]) -> int:
    """Return the total size of all files in bytes."""
    size = 0
    for name in names:
        with report_read_errors(name), _open_file(name) as file:
            size += file.size()
    return size


@contextmanager
def open_local_copy(name: str, folder: Path) -> Iterator[tuple[str, int, str]]:
    """Yield a local path of a file without symbolic links, its size and its SHA-256.

    A remote file is copied into the folder, and the copy is deleted afterwards.
    """
    copy, is_remote = Path(os.path.realpath(folder)) / f"copy-{secrets.token_hex(8)}", "://" in name
    path = str(copy) if is_remote else os.path.realpath(name)
    try:
        with report_read_errors(name):
            if is_remote:
                with _open_file(name) as source, open(copy, "wb") as target:
                    shutil.copyfileobj(source, target, _BLOCK)
            with open(path, "rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        yield path, size, sha256
    finally:
        copy.unlink(missing_ok=True)


def select_reports(name: str, path: str, size: int, columns: int) -> str:
    """Return the query of the reports of a file: row, id, digest, values, sealed, invited.

    The suffix of the name that the user gave determines the format; reports have `columns` columns.
    Raise ParameterError if the file has another format, or is too large when uncompressed.
    """
    last = _split_name(name)[1]
    if last.endswith(".parquet"):
        with report_read_errors(name):
            metadata = pq.read_metadata(path)
            present = _check_columns(name, metadata.schema.to_arrow_schema())
        _check_sizes(name, metadata, size, columns)
        absent = {"values": "[0]", "sealed": "''::BLOB", "invitation": "''"}
        member = {
            column: f'"{column}"' if column in present else f"CASE WHEN false THEN {value} END"
            for column, value in absent.items()
        }
        return (
            f"SELECT file_row_number AS row, CAST(id AS UUID) AS id, digest,"
            f' {member["values"]} AS "values", {member["sealed"]} AS sealed,'
            f" {member['invitation']} IS NOT NULL AS invited"
            f" FROM read_parquet({quote(path)}, file_row_number = true, hive_partitioning = false)"
        )
    if last.endswith((".ndjson", ".jsonl")):
        return _SELECT_FROM_LINES.format(
            path=quote(path), columns=list(_TYPES), uuid=quote(_UUID), longest=_BLOCK
        )
    raise ParameterError(
        f"files: {name}: expected a name that ends with .parquet, .ndjson or .jsonl",
        field="files",
    )


def read_manifests(names: Iterable[str]) -> dict[str, ReportFile]:
    """Read the manifests beside some files, and return their entries by file name.

    Raise ParameterError if a manifest is invalid, or one of its files is missing.
    """
    listed: dict[str, ReportFile] = {}
    for folder, options in sorted({_split_name(name)[::2] for name in names}):
        if "://" in folder:
            manifests = _find_remote_files(folder + "*".join(MANIFEST) + options)
        else:
            manifests = glob.glob(glob.escape(folder) + "*".join(MANIFEST))
        for manifest in sorted(manifests):
            with report_read_errors(manifest), _open_file(manifest) as file:
                files = msgspec.json.decode(file.read(), type=Manifest).files
            listed |= {folder + each.name + options: each for each in files}
    for name in sorted(listed):
        with report_read_errors(name), _open_file(name):
            pass
    return listed


@contextmanager
def report_read_errors(name: str) -> Iterator[None]:
    """Convert errors in reading a file to an error of one line, without any content of the file."""
    try:
        yield
    except FileNotFoundError:
        raise ParameterError(
            f"files: {name}: is not there; expected a file of reports", field="files"
        ) from None
    except (
        OSError,
        pa.ArrowException,
        duckdb.Error,
        msgspec.MsgspecError,
        UnicodeError,
    ) as error:
        raise ParameterError(
            f"files: {name}: cannot be read ({type(error).__name__}); expected a whole file of"
            " reports",
            field="files",
        ) from None


def _find_remote_files(pattern: str) -> list[str]:
    """Return the files that match a URI with wildcards in the last part of its path."""
    folder, name, options = _split_name(pattern)
    with report_read_errors(pattern):
        system, path = fs.FileSystem.from_uri(folder + options)
        there = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return [
        folder + info.base_name + options
        for info in there
        if info.type == fs.FileType.File and fnmatchcase(info.base_name, name)
    ]


def _split_name(name: str) -> tuple[str, str, str]:
    """Split a name into folder, last part and, for a URI, the query from ``?`` on."""
    path, mark, options = name.partition("?") if "://" in name else (name, "", "")
    last = basename(path)
    return path.removesuffix(last), last, mark + options


def _open_file(name: str) -> Any:
    if "://" not in name:
        return pa.OSFile(name)
    system, path = fs.FileSystem.from_uri(name)
    return system.open_input_file(path)


def _check_columns(name: str, schema: pa.Schema) -> set[str]:
    """Check the columns of a Parquet file, and return their names."""
    names = schema.names
    wrong = next((column for column in names if column not in _TYPES), None)
    missing = next((column for column in ("id", "digest") if column not in names), None)
    twice = next((column for column in names if names.count(column) > 1), None)
    if wrong or missing or twice:
        raise ParameterError(
            f"files: {name}: column '{wrong or missing or twice}': expected id, digest, values or"
            " sealed, and nothing else but invitation, each once",
            field="files",
        )
    for field in schema:
        if not _is_of_type(field.name, field.type):
            raise ParameterError(
                f"files: {name}: column '{field.name}': has the type {field.type}; expected"
                f" {_TYPES[field.name]}",
                field="files",
            )
    return set(names)


def _is_of_type(column: str, kind: pa.DataType) -> bool:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if column == "id":
        return bool(kind == pa.binary(16))
    if column == "values":
        lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        return any(each(kind) for each in lists) and types.is_integer(kind.value_type)
    if column == "sealed":
        return bool(types.is_binary(kind) or types.is_large_binary(kind))
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _check_sizes(name: str, metadata: pq.FileMetaData, size: int, columns: int) -> None:
    """Check the uncompressed size of a file against its number of reports, before reading it.

    An id takes 16 random bytes, so a file with more reports than bytes must repeat ids.
    """
    if metadata.num_rows > max(size, _ROWS):
        raise _too_large(name, "id")
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        bytes_ = max(_BLOCK, group.num_rows * (8 * columns + 256))
        values = max(_VALUES, group.num_rows * columns)
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
