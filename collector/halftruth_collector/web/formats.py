"""Results as JSON, CSV or Parquet, their charts as SVG or PNG, and files for other programs."""

from importlib.util import find_spec
from typing import Any, Literal

from flask import Response, request
from halftruth_shared import ParameterError
from halftruth_shared.analyses import Result
from halftruth_shared.analyses.microdata import MicrodataResult
from halftruth_shared.protocol.base import encode as encode_message

from ..analyses import Analysis
from ..analyses.tabular import to_csv, to_parquet
from ..errors import NotAcceptable
from ..exporting import Covariance, export_content

# fmt: off
Format = Literal[
    "json", "csv", "parquet", "svg", "png", "html", "covariance.csv", "codebook.txt",
    "csv.zip", "parquet.zip",
]
# fmt: on

#: What a result can be written as, and what its chart can be drawn as.
DATA: tuple[Format, ...] = ("json", "csv", "parquet")
PICTURES: tuple[Format, ...] = ("svg", "png")

#: What the covariance of estimates is written as, and weighted records for other programs.
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

#: The parameter that names a format; without it the header Accept chooses.
PARAMETER = "format"


def lacking(format: Format) -> str | None:
    """Return the extra that has to be installed for a format, if any."""
    return "parquet" if format.startswith("parquet") and not find_spec("pyarrow") else None


def of(analysis: Analysis[Any, Any]) -> tuple[Format, ...]:
    """The formats of an analysis' page."""
    return (
        *DATA,
        *(PICTURES if analysis.chart else ()),
        *(COVARIANCE if "covariance" in analysis.fields else ()),
        *(RECORDS if analysis.result is MicrodataResult else ()),
    )


def offered(analysis: Analysis[Any, Any]) -> list[Format]:
    """The formats of an analysis' page that can be made here, without pictures."""
    return [known for known in of(analysis) if known not in PICTURES and not lacking(known)]


def named(known: tuple[Format, ...]) -> Format | None:
    """Return the one of these formats that the address names, if it names any.

    Raises
    ------
    ParameterError
        If there is none of that name.
    NotAcceptable
        If it cannot be written here.
    """
    given = request.args.getlist(PARAMETER)
    kind = next((name for name in known if [name] == given), None)
    if given and kind is None:
        raise ParameterError(f"{PARAMETER}: expected one of: {', '.join(known)}", field=PARAMETER)
    extra = kind and lacking(kind)
    if extra:
        raise NotAcceptable(
            f"{PARAMETER}: {kind} needs halftruth-collector[{extra}], which is not installed here",
            field=PARAMETER,
        )
    return kind


def wanted() -> Format:
    """The format that a program asks for: by its address, else by its header Accept.

    Raises
    ------
    ParameterError, NotAcceptable
    """
    format = named(DATA)
    if format is not None:
        return format
    if not request.accept_mimetypes:
        return "json"
    types = {MEDIA_TYPES[format]: format for format in DATA}
    best = request.accept_mimetypes.best_match(types)
    if best is None:
        raise NotAcceptable(f"Accept: expected one of: {', '.join(types)}", field="Accept")
    return types[best]


def encode(result: Result[Any], format: Format) -> bytes:
    """A result in a format.

    Raises
    ------
    NotAcceptable
        If Parquet cannot be written here.
    EstimateError
        If there is no covariance.
    """
    if isinstance(result, MicrodataResult) and format in RECORDS:
        return export_content(result, f"{result.survey}-microdata.{format}")
    if format in COVARIANCE:
        return to_csv(Covariance(result)).encode()
    if format == "csv":
        return to_csv(result).encode()
    return to_parquet(result) if format == "parquet" else encode_message(result)


def respond(content: bytes, format: Format, name: str) -> Response:
    """An answer that no cache keeps; other formats than JSON as a file of this name."""
    response = Response(content, mimetype=MEDIA_TYPES[format])
    response.headers["Cache-Control"] = "no-store"
    if format != "json":
        response.headers["Content-Disposition"] = f"attachment; filename={name}.{format}"
    return response
