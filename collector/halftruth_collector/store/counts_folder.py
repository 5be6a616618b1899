"""Folder with the counts of reports in files: an export, its ids as Parquet, and the provenance.

The ids are split into parts, so that several processes can write them. Each part is sorted.
`provenance.json` has the hash of every other file.
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
from halftruth_shared.protocol.terms import SignedTerms, Terms
from sqlalchemy import insert

from .sqlite_files import PAGE, new_file
from .surveys import write_terms
from .tables import cells, surveys

#: Largest number of parts; a part of a billion ids fits into memory.
PARTS = 128

#: Names of files in the folder.
COUNTS, PROVENANCE = "counts.db", "provenance.json"


class IdFile(Message, frozen=True, kw_only=True):
    """A file with ids of counted reports."""

    name: str
    rows: int
    sha256: str


class SourceFile(Message, frozen=True, kw_only=True):
    """A file of reports, with the number of refused reports by reason."""

    name: str
    size: int
    sha256: str
    rows: int
    refused: dict[str, int]


class Earlier(Message, frozen=True, kw_only=True):
    """Earlier counts, whose ids were not counted again; hash of the export or the provenance."""

    name: str
    sha256: str


class Provenance(Message, frozen=True, kw_only=True):
    """Provenance of a campaign's counts.

    Of `files`, in order, the first report with an id is counted, unless `earlier` counts have it;
    `repeated` is the number of duplicates of both, and `refused` that of refused reports by reason.
    `counts` is the SHA-256 of the counts.
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
    """Return the name of the file with the ids of a part."""
    return f"ids-{part:03}.parquet"


def survey_row(survey: Survey, sealing_key: str | None) -> dict[str, Any]:
    """Return the row of the survey, the only one of its database.

    A survey whose respondents randomized their answers themselves is closed, since no device sends
    reports to it.
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
        "closed_by": None if is_open else "operator",
        "terms": write_terms(SignedTerms(terms=Terms(sealing_key=sealing_key))),
        "invited": 0,
        "withdrawn": 0,
    }


def write(
    folder: Path, survey: Survey, sealing_key: str | None, counts: Mapping[bytes, int]
) -> str:
    """Write a survey and the counts of its packed reports into the folder; return the SHA-256.

    `sealing_key` is the public key that the reports were sealed to.
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
    """Read the provenance of a folder, and verify the hashes of its files."""
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
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ids(folder: Path, provenance: Provenance, page: int) -> Iterator[list[bytes]]:
    """Yield the ids of a folder in pages, always in the same order."""
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
