"""Weighted records as files for other programs, which add-ons write."""

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias
from zipfile import ZIP_DEFLATED, ZipFile

from halftruth_shared import ParameterError
from halftruth_shared.addons import added
from halftruth_shared.analyses.microdata import MicrodataResult

from .analyses.tabular import arrow

#: From weighted records and the name of a file to the contents of this file and of those that
#: belong to it, by their names; an entry point of the group ``halftruth.exporters``, whose name is
#: the suffix of the files without a dot.
Exporter: TypeAlias = Callable[[MicrodataResult, str], dict[str, bytes]]

#: Suffix of an archive with all files of one exporter.
ARCHIVE = ".zip"


@cache
def exporters() -> dict[str, Exporter]:
    """Return the exporters of all installed packages by suffix, such as ``.csv``."""
    return {f".{suffix}": exporter for suffix, exporter in added("exporters")}


def find_exporter(file: str) -> Exporter:
    """Return the exporter of a file, by the longest suffix of its name.

    Raises
    ------
    ParameterError
        If no installed package writes such files.
    NotAcceptable
        If the file is Parquet, and PyArrow is not installed.
    """
    suffixes = [suffix for suffix in exporters() if file.endswith(suffix)]
    if not suffixes:
        expected = f"a file that ends in one of {', '.join(exporters())}"
        raise ParameterError(
            f"output: expected {expected if exporters() else 'halftruth-records to be installed'}",
            field="output",
        )
    suffix = max(suffixes, key=len)
    if suffix == ".parquet":
        arrow()
    return exporters()[suffix]


def export_content(result: MicrodataResult, name: str) -> bytes:
    """Return the content of a file of records; that of an archive has all files of an exporter."""
    if not name.endswith(ARCHIVE):
        return find_exporter(name)(result, name)[name]
    file = name.removesuffix(ARCHIVE)
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as into:
        for each, content in find_exporter(file)(result, file).items():
            into.writestr(each, content)
    return archive.getvalue()


def write_records(result: MicrodataResult, file: str) -> list[Path]:
    """Write all files of an exporter into the folder of a file; return their paths.

    Raises
    ------
    ParameterError
        If they cannot be written, or no installed package writes such files.
    """
    path = Path(file)
    contents = find_exporter(file)(result, path.name)
    written = [path.with_name(name) for name in contents]
    try:
        for each, content in zip(written, contents.values(), strict=True):
            each.write_bytes(content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"output: expected a file that can be written: {reason}", field="output"
        ) from None
    return written
