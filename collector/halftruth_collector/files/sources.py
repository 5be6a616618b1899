"""Names of files of reports, found by patterns, and each file as a relation of SQL.

Names are paths, or addresses that Arrow knows, such as ``s3://reports/2026/*.parquet``.
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

#: Bytes of a line, and of a column of a row group however few its reports are.
_BLOCK = 2**24

#: Values of a row group however few its reports are, and reports of a file however small it is.
_VALUES, _ROWS = 2**22, 2**20

#: What a column of a Parquet file has to be.
_TYPES = {
    "id": "UUID or 16 bytes",
    "digest": "text",
    "values": "lists of integers",
    "sealed": "bytes",
    "invitation": "text",
}

#: A UUID as text, with hyphens or without.
_UUID = "[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"

#: The reports of a file of lines, each line of which is a JSON object with known members alone.
#: A line that is no report has no id.
_OF_LINES = """
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


def find(patterns: Sequence[str]) -> list[str]:
    """Return the names of the files, each once, in the order of names.

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


def total_size(names: Iterable[str]) -> int:
    """Return the bytes of all files together."""
    size = 0
    for name in names:
        with reading(name), _open(name) as file:
            size += file.size()
    return size


@contextmanager
def local_file(name: str, folder: Path) -> Iterator[tuple[str, int, str]]:
    """Give a file's path on this machine without symbolic links, its size and its SHA-256.

    What has an address is copied into the folder for as long as it is needed.

    Raises
    ------
    ParameterError
        If it cannot be read.
    """
    if "://" not in name:
        path = os.path.realpath(name)
        with reading(name), open(path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        yield path, size, sha256
        return
    copy = Path(os.path.realpath(folder)) / f"copy-{secrets.token_hex(8)}"
    try:
        with reading(name), _open(name) as file, open(copy, "wb") as target:
            shutil.copyfileobj(file, target, _BLOCK)
        with open(copy, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        yield str(copy), size, sha256
    finally:
        copy.unlink(missing_ok=True)


def reports_in(name: str, path: str, size: int, columns: int) -> str:
    """Write the query of a file's reports: row, id, digest, values, sealed, invited.

    Parameters
    ----------
    name : str
        As it was given; its end tells the format.
    path : str
    size : int
        Bytes of the file.
    columns : int
        Of a report.

    Raises
    ------
    ParameterError
        If it is no file of reports, or unpacks to more than reports can have.
    """
    last = _split(name)[1]
    if last.endswith(".parquet"):
        with reading(name):
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
        return _OF_LINES.format(
            path=quote(path), columns=list(_TYPES), uuid=quote(_UUID), longest=_BLOCK
        )
    raise ParameterError(
        f"files: {name}: expected a name that ends with .parquet, .ndjson or .jsonl",
        field="files",
    )


def read_manifests(names: Iterable[str]) -> dict[str, ReportFile]:
    """Read the manifests beside some files; return what they say of each file, by its name.

    Raises
    ------
    ParameterError
        If a manifest is invalid, or a file of one is not there.
    """
    listed: dict[str, ReportFile] = {}
    for folder, options in sorted({_split(name)[::2] for name in names}):
        if "://" in folder:
            manifests = _elsewhere(folder + "*".join(MANIFEST) + options)
        else:
            manifests = glob.glob(glob.escape(folder) + "*".join(MANIFEST))
        for manifest in sorted(manifests):
            with reading(manifest), _open(manifest) as file:
                files = msgspec.json.decode(file.read(), type=Manifest).files
            listed |= {folder + each.name + options: each for each in files}
    for name in sorted(listed):
        with reading(name), _open(name):
            pass
    return listed


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Report in one line what goes wrong with a file, without anything that it holds."""
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


def _elsewhere(pattern: str) -> list[str]:
    """Files by an address with wildcards in the last part of its path alone."""
    folder, name, options = _split(pattern)
    with reading(pattern):
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


def _open(name: str) -> Any:
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
    """Check that the file unpacks to no more than its reports can have, before it is unpacked.

    Ids are 16 random bytes each, so that a file with more reports than bytes repeats them.
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
