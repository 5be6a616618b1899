"""Bulk counting of reports in files, each id once.

First, files are checked and their reports partitioned by id (:mod:`~.checking`). Then each part is
counted (:mod:`~.parts`); all reports with the same id are in the same part. Each task is a few
queries of DuckDB, which any process can run, and repeat after a failure.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from halftruth_collector.executors import Map
from halftruth_collector.store import counts_folder
from halftruth_collector.store.counts_folder import (
    PARTS,
    PROVENANCE,
    Earlier,
    Provenance,
    SourceFile,
)
from halftruth_collector.store.files import open_export
from halftruth_collector.store.tables import surveys
from halftruth_shared import ParameterError, ReportSpace, Survey
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.report_files import ReportFile
from sqlalchemy import select

from .checking import Refusals, ReportRules, check_file
from .parts import CountedPart, count_part, partition_ids
from .sources import find_files, read_manifests, sum_sizes
from .words import to_packed

#: Bytes of input files per part.
_BYTES_OF_PART = 2**24

#: Reason for refusing reports with the same id and different values.
CONFLICT = "conflicting-id"


def count(
    survey: Survey,
    patterns: Sequence[str],
    output: Path,
    map_pieces: Map = map,
    *,
    sealing_key: str | None = None,
    key_file: Path | None = None,
    earlier: Sequence[Path] = (),
) -> tuple[Provenance, Refusals]:
    """Count reports in files, each id once, and write counts and ids into a new folder.

    Reports with the same id and the same values count once; with different values, none of them
    counts. The result does not depend on where the tasks run.

    Parameters
    ----------
    survey : Survey
    patterns : sequence of str
        Names of files of reports, with wildcards.
    output : Path
        Folder of counts to create; temporary files are beside it. All workers must have access to
        it, and to the input files, under the same names.
    map_pieces : callable, optional
        Function like `map` that runs the tasks, perhaps on other machines.
    sealing_key : str, optional
        Public key of the recipient of sealed reports.
    key_file : Path, optional
        Private keys of the collector, for sealed reports.
    earlier : sequence of Path
        Folders of counts, and exports of collectors, whose reports are not counted again.

    Returns
    -------
    Provenance
    Refusals

    Raises
    ------
    ParameterError
        If a file differs from its manifest or has no reports, no report can be counted, or the
        folder cannot be created.
    KeyFileError, WorkersLost
    """
    if output.exists():
        raise ParameterError(f"output: {output} exists; expected a new name", field="output")
    rules = _make_rules(survey, sealing_key, key_file)
    names = find_files(patterns)
    promised = read_manifests(names)
    parts = min(max(1, sum_sizes(names) // _BYTES_OF_PART), PARTS)
    with _scratch(output) as scratch:
        work, result = scratch / "work", scratch / "counts"
        work.mkdir()
        result.mkdir(mode=0o700)
        before = [
            _open_earlier(path, survey, work / f"export-{number:03}.parquet")
            for number, path in enumerate(earlier)
        ]
        list(
            map_pieces(
                partial(partition_ids, work, parts), list(enumerate(files for files, _ in before))
            )
        )
        tasks = [(n, name, _resolve_everywhere(name)) for n, name in enumerate(names)]
        checked = list(map_pieces(partial(check_file, rules, work, parts), tasks))
        for source, _ in checked:
            _check_against_manifest(source, promised.get(source.name))
        count_one = partial(count_part, scratch, len(names), len(before), rules.space)
        counted: list[CountedPart] = list(map_pieces(count_one, range(parts)))
        conflicts = [each for part in counted for each in part.conflicts]
        sources, refused = _refusals(checked, conflicts)
        reports = sum(source.rows for source in sources)
        accepted = reports - sum(refused.counts.values())
        if not accepted:
            raise _nothing_counted_error(refused)
        counts = _sum_parts(rules.space, counted)
        distinct = sum(counts.values())
        provenance = Provenance(
            survey=survey.id,
            digest=survey.digest,
            sealing_key=sealing_key,
            files=sources,
            earlier=[source for _, source in before],
            reports=reports,
            counted=distinct,
            repeated=accepted - distinct,
            refused=refused.counts,
            ids=[part.ids for part in counted],
            counts=counts_folder.write(result, survey, sealing_key, counts),
        )
        (result / PROVENANCE).write_bytes(msgspec.json.format(msgspec.json.encode(provenance)))
        os.replace(result, output)
    return provenance, refused


def _make_rules(survey: Survey, sealing_key: str | None, key_file: Path | None) -> ReportRules:
    if sealing_key is None:
        return ReportRules(survey.id, survey.digest, survey.report_space)
    check_hexadecimal("sealed_to", sealing_key)
    from halftruth_shared.protocol.sealing import SealingKeys

    if key_file is None or sealing_key not in SealingKeys.read(key_file).public:
        raise ParameterError(
            "sealed_to: its private key is not here; expected it in the file that"
            " HALFTRUTH_SEALING_KEYS names",
            field="sealed_to",
        )
    keys = sealing_key, str(key_file.absolute())
    return ReportRules(survey.id, survey.digest, survey.report_space, *keys)


@contextmanager
def _scratch(output: Path) -> Iterator[Path]:
    """Create a private temporary folder beside the result, and delete it in the end."""
    scratch = output.resolve().with_name(f".{output.name}.{secrets.token_hex(4)}")
    try:
        scratch.mkdir(mode=0o700, parents=True)
        yield scratch
    except OSError as error:
        if error.errno is None:
            # An error of a connection, not of a file.
            raise
        raise ParameterError(
            f"output: {output} cannot be written: {error.strerror}; expected a place for it that"
            " every process and worker finds under this name",
            field="output",
        ) from None
    finally:
        # Rename the folder first, since a worker that lost its scheduler continues for a while.
        gone = scratch.with_name(f"{scratch.name}.gone")
        with suppress(OSError):
            os.replace(scratch, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _resolve_everywhere(name: str) -> str:
    """Return a name of a file that is valid in other processes."""
    return name if "://" in name else os.path.abspath(name)


def _open_earlier(path: Path, survey: Survey, copy: Path) -> tuple[list[str], Earlier]:
    """Return the files of the ids of earlier counts, and their provenance.

    The ids of an export are copied into a file.
    """
    with open_export(path) as (source, pages):
        digests = source.execute(select(surveys.c.digest)).scalars().all()
        if digests != [survey.digest]:
            raise ParameterError(
                f"earlier: {path} has counts of another survey; expected the digest"
                f" {survey.digest}",
                field="earlier",
            )
        if path.is_dir():
            earlier = Earlier(name=str(path), sha256=counts_folder.file_hash(path / PROVENANCE))
            ids = path.absolute().glob("ids-*.parquet")
            return sorted(map(str, ids)), earlier
        earlier = Earlier(name=str(path), sha256=counts_folder.file_hash(path))
        schema = pa.schema({"id": pa.binary(16)})
        with pq.ParquetWriter(copy, schema) as writer:
            for page in pages:
                writer.write_batch(pa.record_batch([pa.array(page, pa.binary(16))], schema=schema))
        return [str(copy)], earlier


def _check_against_manifest(file: SourceFile, promised: ReportFile | None) -> None:
    """Check the size and digest of a file against its manifest."""
    if promised is not None and (file.size, file.sha256) != (promised.size, promised.sha256):
        raise ParameterError(
            f"files: {file.name}: has {file.size} bytes that are not those of its manifest;"
            f" expected the {promised.size} that were written",
            field="files",
        )


def _refusals(
    checked: Sequence[tuple[SourceFile, dict[str, str]]],
    conflicts: Sequence[tuple[int, int, int]],
) -> tuple[list[SourceFile], Refusals]:
    """Add conflicts to the refusals of each file, and sum the refusals of all files."""
    number_of: Counter[int] = Counter()
    first: dict[int, int] = {}
    for file, reports, row in conflicts:
        number_of[file] += reports
        first[file] = min(row, first.get(file, row))
    total, sources = Refusals(), []
    for number, (source, first_messages) in enumerate(checked):
        refused, messages = dict(source.refused), dict(first_messages)
        if number in first:
            refused[CONFLICT] = number_of[number]
            messages[CONFLICT] = (
                f"report {first[number]}: id: another report has it with other values; expected"
                " one id for each report"
            )
        for reason, reports in refused.items():
            total.add(reason, reports, f"{source.name}: {messages[reason]}")
        sources.append(msgspec.structs.replace(source, refused=refused))
    return sources, total


def _nothing_counted_error(refused: Refusals) -> ParameterError:
    reasons = "; ".join(
        f"{number} of {reason}, the first in {refused.first[reason]}"
        for reason, number in sorted(refused.counts.items())
    )
    return ParameterError(
        f"files: no report can be counted ({reasons or 'there is none'}); expected reports of this"
        " survey",
        field="files",
    )


def _sum_parts(space: ReportSpace, counted: Sequence[CountedPart]) -> dict[bytes, int]:
    """Sum the counts of all parts by packed report."""
    columns = zip(*(part.words for part in counted), strict=True)
    packed = to_packed(space, [np.concatenate(column) for column in columns])
    cells, places = np.unique(packed, return_inverse=True)
    total = np.zeros(len(cells), dtype=np.int64)
    np.add.at(total, places, np.concatenate([part.counts for part in counted]))
    return dict(zip(cells.tolist(), total.tolist(), strict=True))
