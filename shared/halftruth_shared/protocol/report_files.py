"""Files of reports, by which a back end, a queue or a log shipper delivers reports for counting.

A file is Parquet, or JSON with one report per line. It contains only data from clients: for each
report its `id`, its survey's `digest`, `values` or `sealed` bytes, and perhaps an `invitation`. It
does not reveal the order of arrival. Complete files are renamed to their final names; a manifest
with their sizes and hashes follows, so that lost or truncated files are detected.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from random import SystemRandom
from typing import Literal
from uuid import UUID

import msgspec

from ..errors import ParameterError
from ..private_files import open_new, write_durably
from .base import Digest, Invitation, Message
from .reports import Report, ReportBatch, SealedBatch, SealedReport

Form = Literal["parquet", "ndjson"]

#: Default number of reports in one file.
ROWS = 250_000

#: Prefix and suffix of the name of a manifest.
MANIFEST = ("manifest-", ".json")


class FiledReport(Message, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a file: one report with the digest of its survey."""

    digest: Digest
    id: UUID
    values: list[int] | None = None
    sealed: bytes | None = None
    invitation: Invitation | None = None


class ReportFile(Message, frozen=True, kw_only=True):
    """A file of reports with its size and hash when written."""

    name: str
    rows: int
    size: int
    sha256: str


class Manifest(Message, frozen=True, kw_only=True):
    """The files of one call of `write_reports`."""

    files: list[ReportFile]


def write_reports(
    batches: Iterable[ReportBatch | SealedBatch],
    folder: str | Path,
    *,
    form: Form = "parquet",
    rows: int = ROWS,
) -> Manifest:
    """Write reports to new files in a folder, all of them or none.

    Reports are shuffled. Writing a batch twice is harmless, since each id is counted once.

    Parameters
    ----------
    batches : iterable of ReportBatch or SealedBatch
        Batches in the form that clients send to a collector.
    folder : str or Path
        Created if it does not exist.
    form : {"parquet", "ndjson"}
        Parquet needs pyarrow, the extra ``parquet`` of client and collector.
    rows : int
        Maximum number of reports in one file.

    Returns
    -------
    Manifest
        The manifest, which is also written to the folder.

    Raises
    ------
    ParameterError
        If the folder cannot be written, or the form is unknown.

    Examples
    --------
    >>> import tempfile, uuid
    >>> report = Report(id=uuid.UUID(int=1), values=[0, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     batches = [ReportBatch(digest="0" * 64, reports=[report])]
    ...     [file] = write_reports(batches, folder, form="ndjson").files
    ...     len(Path(folder, file.name).read_text().splitlines())
    1
    """
    encode = _encoder(form)
    if rows < 1:
        raise ParameterError("rows: expected at least 1 report in a file", field="rows")
    target, token = Path(folder), secrets.token_hex(8)
    with _temporary_files(target) as waiting:
        files = [
            _write(
                target / f"reports-{token}-{number:04}.{form}",
                encode(SystemRandom().sample(reports, len(reports))),
                len(reports),
                waiting,
            )
            for number, reports in enumerate(_parts(batches, rows))
        ]
        manifest = Manifest(files=files)
        _write(target / token.join(MANIFEST), msgspec.json.encode(manifest), 0, waiting)
    return manifest


def _parts(batches: Iterable[ReportBatch | SealedBatch], rows: int) -> Iterable[list[FiledReport]]:
    waiting: list[FiledReport] = []
    for batch in batches:
        waiting += [_filed(batch.digest, report) for report in batch.reports]
        while len(waiting) >= rows:
            yield waiting[:rows]
            del waiting[:rows]
    if waiting:
        yield waiting


def _filed(digest: str, report: Report | SealedReport) -> FiledReport:
    if isinstance(report, SealedReport):
        return FiledReport(digest=digest, id=report.id, sealed=report.sealed)
    return FiledReport(
        digest=digest, id=report.id, values=report.values, invitation=report.invitation
    )


@contextmanager
def _temporary_files(folder: Path) -> Iterator[dict[Path, Path]]:
    """Rename temporary files once all are complete; delete them after an error."""
    waiting: dict[Path, Path] = {}
    try:
        with _folder_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield waiting
        with _folder_errors(folder):
            for temporary, whole in waiting.items():
                os.replace(temporary, whole)
    finally:
        for path in waiting:
            path.unlink(missing_ok=True)


@contextmanager
def _folder_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ParameterError(
            f"folder: {folder}: reports cannot be written there: {error.strerror}", field="folder"
        ) from None


def _write(path: Path, content: bytes, rows: int, waiting: dict[Path, Path]) -> ReportFile:
    # A name with a leading dot, so that no file pattern matches it.
    temporary = path.with_name(f".{path.name}")
    with _folder_errors(path.parent):
        descriptor = open_new(temporary)
        waiting[temporary] = path
        with open(descriptor, "wb") as file:
            write_durably(file, content)
    sha256 = hashlib.sha256(content).hexdigest()
    return ReportFile(name=path.name, rows=rows, size=len(content), sha256=sha256)


def _encoder(form: str) -> Callable[[Sequence[FiledReport]], bytes]:
    if form == "ndjson":
        return msgspec.json.Encoder().encode_lines
    if form != "parquet":
        raise ParameterError("form: expected one of: parquet, ndjson", field="form")
    if find_spec("pyarrow") is None:
        raise ParameterError(
            "form: Parquet needs pyarrow; expected halftruth-client[parquet] to be installed, or"
            " ndjson",
            field="form",
        )
    return _parquet


def _parquet(reports: Sequence[FiledReport]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = pa.array([report.id.bytes for report in reports], pa.binary(16))
    columns = {
        "id": pa.ExtensionArray.from_storage(pa.uuid(), ids),
        "digest": pa.array([report.digest for report in reports]),
        "values": pa.array([report.values for report in reports], pa.list_(pa.uint32())),
        "sealed": pa.array([report.sealed for report in reports], pa.binary()),
        "invitation": pa.array([report.invitation for report in reports], pa.string()),
    }
    # Columns without values are omitted.
    used = {name: column for name, column in columns.items() if column.null_count < len(reports)}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(used), sink, compression="zstd", use_dictionary=["digest"])
    content: bytes = sink.getvalue().to_pybytes()
    return content
