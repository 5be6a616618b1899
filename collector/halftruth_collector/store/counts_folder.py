"""Counts of a campaign as a folder: an export whose ids lie beside it, and where they come from.

Ids are Parquet and in parts, since no single process could write so many of them in time. Each part
is in the order of its ids. `provenance.json` has the hash of every other file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.base import Message
from sqlalchemy import insert

from .sqlite_files import PAGE, new_file
from .tables import cells, surveys

#: Most parts of the ids: with a billion of them, one part fits easily into memory.
PARTS = 128

#: Names of files in the folder.
COUNTS, PROVENANCE = "counts.db", "provenance.json"


class IdFile(Message, frozen=True, kw_only=True):
    """A file of ids that were counted."""

    name: str
    rows: int
    sha256: str


class SourceFile(Message, frozen=True, kw_only=True):
    """A file of reports that were counted, and what was refused of it, by reason."""

    name: str
    size: int
    sha256: str
    rows: int
    refused: dict[str, int]


class Earlier(Message, frozen=True, kw_only=True):
    """Counts whose ids were not counted again; the hash is that of an export or a provenance."""

    name: str
    sha256: str


class Provenance(Message, frozen=True, kw_only=True):
    """Provenance of a campaign's counts.

    Attributes
    ----------
    survey, digest : str
    sealing_key : str or None
        That reports had to be sealed to.
    files : list of SourceFile
        In the order in which the first report of an id counts.
    earlier : list of Earlier
    reports : int
        In all files.
    counted : int
    repeated : int
        Reports of ids that had been counted, here or earlier.
    refused : dict of str to int
        By reason.
    ids : list of IdFile
    counts : str
        SHA-256 of the counts.
    """

    survey: str
    digest: str
    sealing_key: str | None
    files: list[SourceFile]
    earlier: list[Earlier]
    reports: int
    counted: int
    repeated: int
    refused: dict[str, int]
    ids: list[IdFile]
    counts: str


def ids_name(part: int) -> str:
    """Name of the file of a part's ids."""
    return f"ids-{part:03}.parquet"


def survey_row(survey: Survey, sealing_key: str | None) -> dict[str, Any]:
    """Row of a survey that is published by its counts, the only one of its database.

    Nobody sends reports where respondents randomized their answers themselves: it is closed.
    """
    now = datetime.now(UTC)
    is_open = survey.mechanism.randomized_by == "device"
    return {
        "number": 1,
        "id": survey.id,
        "digest": survey.digest,
        "document": survey.canonical_json.decode(),
        "status": "open" if is_open else "closed",
        "published_at": now,
        "closed_at": None if is_open else now,
        "invitations": False,
        "sealing_key": sealing_key,
        "invited": 0,
        "withdrawn": 0,
    }


def write(
    folder: Path, survey: Survey, sealing_key: str | None, counts: Mapping[bytes, int]
) -> str:
    """Write a survey and counts of its reports beside their ids.

    Parameters
    ----------
    folder : Path
    survey : Survey
    sealing_key : str or None
        That its reports were sealed to.
    counts : mapping of bytes to int
        By packed report.

    Returns
    -------
    str
        SHA-256 of the file.

    Raises
    ------
    ParameterError
        If it cannot be written.
    """
    in_order = iter(sorted(counts))
    with new_file(folder / COUNTS) as target, target.writing() as connection:
        connection.execute(insert(surveys), survey_row(survey, sealing_key))
        while page := list(islice(in_order, PAGE)):
            connection.execute(
                insert(cells),
                [{"survey": 1, "cell": cell, "shard": 0, "count": counts[cell]} for cell in page],
            )
    return file_hash(folder / COUNTS)


def read(folder: Path) -> Provenance:
    """Read the provenance of a folder, and check every file of it.

    Raises
    ------
    ParameterError
        If it is none, or not as it was written.
    """
    try:
        provenance = msgspec.json.decode((folder / PROVENANCE).read_bytes(), type=Provenance)
        names = [ids_name(part) for part in range(len(provenance.ids))]
        if [each.name for each in provenance.ids] != names:
            raise ParameterError(
                f"file: {folder / PROVENANCE} names other files than ids-000.parquet and so on;"
                " expected the folder that 'halftruth reports count' made",
                field="file",
            )
        hashes = {COUNTS: provenance.counts} | {each.name: each.sha256 for each in provenance.ids}
        for name, sha256 in hashes.items():
            if file_hash(folder / name) != sha256:
                raise ParameterError(
                    f"file: {folder / name} is not as it was written; expected the whole folder"
                    " that 'halftruth reports count' made",
                    field="file",
                )
    except (OSError, msgspec.DecodeError):
        raise ParameterError(
            f"file: {folder} is no folder that 'halftruth reports count' made, or not whole",
            field="file",
        ) from None
    return provenance


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ids(folder: Path, provenance: Provenance, page: int) -> Iterator[list[bytes]]:
    """The ids of a folder, so many at a time, each time in their order.

    Raises
    ------
    ParameterError
        If what reads them is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ParameterError(
            "file: a folder of counts needs pyarrow; expected halftruth-collector[parquet] to be"
            " installed",
            field="file",
        ) from None
    for each in provenance.ids:
        for batch in pq.ParquetFile(folder / each.name).iter_batches(page):
            yield batch.column("id").cast(pa.binary(16)).to_pylist()
