"""Counting the reports of files, each id once: what is done by whom, and what it comes to."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.report_files import ReportFile
from numpy.typing import NDArray
from sqlalchemy import select

from ..executors import Map
from ..store import counts_folder
from ..store.counts_folder import PARTS, PROVENANCE, Earlier, Provenance, SourceFile, ids_name
from ..store.tables import surveys
from ..store.transfer import exported
from .checking import Refusals, Rules
from .pieces import CheckedFile, CountedPart, File, Part, check_file, count_part, partition
from .reading import find, written


def count(
    survey: Survey,
    patterns: Sequence[str],
    to: Path,
    map_pieces: Map = map,
    *,
    sealing_key: str | None = None,
    key_file: Path | None = None,
    earlier: Sequence[Path] = (),
) -> tuple[Provenance, Refusals]:
    """Count reports in files, each id once, and write counts and ids into a new folder.

    Of reports with one id the first one counts: in the first file by name, the first one there.
    Wherever the work is done, the counts and ids are the same.

    Parameters
    ----------
    survey : Survey
    patterns : sequence of str
        Names of files of reports, with wildcards.
    to : Path
        Folder of counts to make; beside it is what is needed meanwhile. Whoever does pieces of the
        work finds it, and the files, under the same name.
    map_pieces : callable, optional
        Where the pieces of the work are done.
    sealing_key : str, optional
        Public key that the reports are sealed to.
    key_file : Path, optional
        The collector's private keys, where reports are sealed.
    earlier : sequence of Path
        Folders of counts, and exports of collectors, whose reports are not counted again.

    Returns
    -------
    Provenance
    Refusals

    Raises
    ------
    ParameterError
        If a file is not as it was written or no file of reports, none of the reports can be
        counted, or the folder cannot be made.
    KeyFileError, WorkersLost
    """
    if to.exists():
        raise ParameterError(f"to: {to} exists; expected a new name", field="to")
    rules = _rules(survey, sealing_key, key_file)
    names = find(patterns)
    promised = written(names)
    with _scratch(to) as scratch:
        (scratch / "checked").mkdir()
        result = scratch / "counts"
        result.mkdir(mode=0o700)
        before = [
            _earlier(path, survey, scratch / "checked" / f"earlier-{number}")
            for number, path in enumerate(earlier)
        ]
        files = [
            File(name, _everywhere(name), rules, str(scratch / "checked" / f"{number:06}"), PARTS)
            for number, name in enumerate(names)
        ]
        checked: list[CheckedFile] = list(map_pieces(check_file, files))
        for file in checked:
            _check_promise(file.source, promised.get(file.source.name))
        refused = _refusals(checked)
        reports = sum(file.source.rows for file in checked)
        if reports == sum(refused.counts.values()):
            raise _nothing(refused)
        of_files = [file.checked for file in files]
        parts = [
            Part(
                number,
                PARTS,
                of_files,
                [ids(number) for ids, _ in before],
                str(result / ids_name(number)),
            )
            for number in range(PARTS)
        ]
        counted: list[CountedPart] = list(map_pieces(count_part, parts))
        counts = _total(counted)
        provenance = Provenance(
            survey=survey.id,
            digest=survey.digest,
            sealing_key=sealing_key,
            files=[file.source for file in checked],
            earlier=[known for _, known in before],
            reports=reports,
            counted=sum(counts.values()),
            repeated=sum(part.repeated for part in counted),
            differing=sum(part.differing for part in counted),
            refused=refused.counts,
            ids=[part.ids for part in counted],
            counts=counts_folder.write(result, survey, sealing_key, counts),
        )
        (result / PROVENANCE).write_bytes(msgspec.json.format(msgspec.json.encode(provenance)))
        os.replace(result, to)
    return provenance, refused


def _rules(survey: Survey, sealing_key: str | None, key_file: Path | None) -> Rules:
    rules = Rules(survey.id, survey.digest, survey.report_space)
    if sealing_key is None:
        return rules
    check_hexadecimal("sealed_to", sealing_key)
    from halftruth_shared.protocol.sealing import SealingKeys

    if key_file is None or sealing_key not in SealingKeys.read(key_file).public:
        raise ParameterError(
            "sealed_to: its private key is not here; expected it in the file that"
            " HALFTRUTH_SEALING_KEYS names",
            field="sealed_to",
        )
    return Rules(rules.survey_id, rules.digest, rules.space, sealing_key, str(key_file.absolute()))


@contextmanager
def _scratch(to: Path) -> Iterator[Path]:
    """A folder beside the result, which nobody else can read, and which is gone in the end."""
    scratch = to.absolute().with_name(f".{to.name}.{secrets.token_hex(4)}")
    try:
        scratch.mkdir(mode=0o700, parents=True)
        yield scratch
    except OSError as error:
        if error.errno is None:
            # Of a connection, not of a file.
            raise
        raise ParameterError(
            f"to: {to} cannot be written: {error.strerror}; expected a place for it that every"
            " process and worker finds under this name",
            field="to",
        ) from None
    finally:
        # Under another name, since a worker that lost its scheduler goes on for a while.
        gone = scratch.with_name(f"{scratch.name}.gone")
        with suppress(OSError):
            os.replace(scratch, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _everywhere(name: str) -> str:
    """A name that means the same to processes that run elsewhere."""
    return name if "://" in name else os.path.abspath(name)


def _earlier(path: Path, survey: Survey, parted_ids: Path) -> tuple[Callable[[int], str], Earlier]:
    """Return the file of each part of the ids of earlier counts, and their provenance."""
    with exported(path) as (source, pages):
        digests = source.execute(select(surveys.c.digest)).scalars().all()
        if digests != [survey.digest]:
            raise ParameterError(
                f"earlier: {path} has counts of another survey; expected the digest"
                f" {survey.digest}",
                field="earlier",
            )
        hashed = path / PROVENANCE if path.is_dir() else path
        known = Earlier(name=str(path), sha256=counts_folder.file_hash(hashed))
        if path.is_dir():
            folder = path.absolute()
            return lambda number: str(folder / ids_name(number)), known
        with partition(parted_ids, 1, PARTS) as write:
            for page in pages:
                write(np.frombuffer(b"".join(page), "V16"), np.zeros(len(page), "V1"))
        return lambda number: str(parted_ids), known


def _check_promise(file: SourceFile, promised: ReportFile | None) -> None:
    """Make sure that a file is as its manifest says."""
    if promised is not None and (file.size, file.sha256) != (promised.size, promised.sha256):
        raise ParameterError(
            f"files: {file.name}: has {file.size} bytes that are not those of its manifest;"
            f" expected the {promised.size} that were written",
            field="files",
        )


def _refusals(checked: Sequence[CheckedFile]) -> Refusals:
    """Sum the refusals of all files, with the first one of each reason and its file."""
    total = Refusals()
    for file in checked:
        for reason, number in file.source.refused.items():
            total.add(reason, number, f"{file.source.name}: {file.first[reason]}")
    return total


def _nothing(refused: Refusals) -> ParameterError:
    said = "; ".join(
        f"{number} of {reason}, the first in {refused.first[reason]}"
        for reason, number in sorted(refused.counts.items())
    )
    return ParameterError(
        f"files: no report can be counted ({said or 'there is none'}); expected reports of this"
        " survey",
        field="files",
    )


def _total(counted: Sequence[CountedPart]) -> dict[bytes, int]:
    cells = pa.concat_arrays([part.cells for part in counted]).dictionary_encode()
    total = np.zeros(len(cells.dictionary), dtype=np.int64)
    places: NDArray[Any] = np.from_dlpack(cells.indices)
    np.add.at(total, places, np.concatenate([np.from_dlpack(part.counts) for part in counted]))
    return dict(zip(cells.dictionary.to_pylist(), total.tolist(), strict=True))
