"""Formats of results: JSON, CSV, Parquet, charts as SVG or PNG, and files for other programs."""

from importlib.util import find_spec
from typing import Any, Literal

from flask import Response, request
from halftruth_shared import ParameterError
from halftruth_shared.analyses import Result, result_of
from halftruth_shared.analyses.microdata import MicrodataResult
from halftruth_shared.columns import encode as encode_message

from ..analyses import Analysis
from ..analyses.covariance import Covariance
from ..analyses.tabular import to_csv, to_parquet
from ..errors import NotAcceptable
from ..exporters import ARCHIVE, export_content, exporters

# fmt: off
Format = Literal[
    "json", "csv", "parquet", "svg", "png", "html", "covariance.csv", "codebook.txt",
    "csv.zip", "parquet.zip",
]
# fmt: on

#: Formats of a result, and formats of its chart.
DATA: tuple[Format, ...] = ("json", "csv", "parquet")
PICTURES: tuple[Format, ...] = ("svg", "png")

#: Formats of the covariance of estimates, and of weighted records for other programs.
COVARIANCE: tuple[Format, ...] = ("covariance.csv",)
ARCHIVES: tuple[Format, ...] = ("csv.zip", "parquet.zip")
RECORDS: tuple[Format, ...] = ("codebook.txt", *ARCHIVES)

MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html",
    "covariance.csv": "text/csv",
    "codebook.txt": "text/plain",
    **dict.fromkeys(ARCHIVES, "application/zip"),
}

#: Query parameter with the format; without it, the header Accept is used.
PARAMETER = "format"


def missing_package(format: Format) -> str | None:
    """Return what has to be installed for a format; None if it is available."""
    if format in RECORDS and f".{format.removesuffix(ARCHIVE)}" not in exporters():
        return "halftruth-records"
    is_missing = format.startswith("parquet") and not find_spec("pyarrow")
    return "halftruth-collector[parquet]" if is_missing else None


def formats_for(analysis: Analysis[Any, Any]) -> tuple[Format, ...]:
    """Return the formats on the page of an analysis."""
    return (
        *DATA,
        *(PICTURES if analysis.pictured else ()),
        *(COVARIANCE if "covariance" in analysis.fields else ()),
        *(RECORDS if result_of(analysis.query) is MicrodataResult else ()),
    )


def list_available(analysis: Analysis[Any, Any]) -> list[Format]:
    """Return the formats of an analysis, except charts, that are available here."""
    return [
        format
        for format in formats_for(analysis)
        if format not in PICTURES and not missing_package(format)
    ]


def from_query(accepted: tuple[Format, ...]) -> Format | None:
    """Return the format that the query parameter names; None without the parameter.

    A format that is not accepted is a ParameterError, one without its package NotAcceptable.
    """
    given = request.args.getlist(PARAMETER)
    kind = next((name for name in accepted if [name] == given), None)
    if given and kind is None:
        raise ParameterError(
            f"{PARAMETER}: expected one of: {', '.join(accepted)}", field=PARAMETER
        )
    package = kind and missing_package(kind)
    if package:
        raise NotAcceptable(
            f"{PARAMETER}: {kind} needs {package}, which is not installed here",
            field=PARAMETER,
        )
    return kind


def negotiate() -> Format:
    """Return the format of a response, by the query parameter or the header Accept."""
    format = from_query(DATA)
    if format is not None:
        return format
    if not request.accept_mimetypes:
        return "json"
    types = {MEDIA_TYPES[format]: format for format in DATA}
    best = request.accept_mimetypes.best_match(types)
    if best is None:
        raise NotAcceptable(f"Accept: expected one of: {', '.join(types)}", field="Accept")
    return types[best]


def encode(analysis: Analysis[Any, Any], result: Result[Any], format: Format) -> bytes:
    """Encode a result in a format.

    Raises
    ------
    NotAcceptable
        If Parquet is not available here.
    EstimateError
        If the result has no covariance.
    """
    if isinstance(result, MicrodataResult) and format in RECORDS:
        return export_content(result, f"{result.survey}-microdata.{format}")
    if format in COVARIANCE:
        return to_csv(Covariance(result)).encode()
    if format == "csv":
        return to_csv(result).encode()
    if format == "parquet":
        return to_parquet(result)
    return encode_message(analysis.described(result))


def respond(content: bytes, format: Format, name: str) -> Response:
    """Return a response that must not be cached; other formats than JSON are attachments."""
    response = Response(content, mimetype=MEDIA_TYPES[format])
    response.headers["Cache-Control"] = "no-store"
    if format != "json":
        response.headers["Content-Disposition"] = f"attachment; filename={name}.{format}"
    return response
