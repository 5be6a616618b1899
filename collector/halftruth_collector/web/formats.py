"""Results as JSON, CSV or Parquet, and their charts as SVG or PNG."""

from importlib.util import find_spec
from typing import Literal

import msgspec
from flask import Response, request
from halftruth_shared import ParameterError
from halftruth_shared.analyses import Result

from ..analyses.tabular import to_csv, to_parquet
from ..errors import NotAcceptable

Format = Literal["json", "csv", "parquet", "svg", "png"]

#: What a result can be written as, and what its chart can be drawn as.
DATA: tuple[Format, ...] = ("json", "csv", "parquet")
PICTURES: tuple[Format, ...] = ("svg", "png")

MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "png": "image/png",
}

#: The parameter that names a format; without it the header Accept chooses.
PARAMETER = "format"


def offered() -> list[tuple[Format, str]]:
    """The formats that can be made here, with what people call them."""
    called: list[tuple[Format, str]] = [("json", "JSON"), ("csv", "CSV"), ("parquet", "Parquet")]
    return called if find_spec("pyarrow") else called[:2]


def named(known: tuple[Format, ...]) -> Format | None:
    """Return the one of these formats that the address names, if it names any.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    given = request.args.getlist(PARAMETER)
    found = next((name for name in known if [name] == given), None)
    if given and found is None:
        raise ParameterError(f"{PARAMETER}: expected one of: {', '.join(known)}", field=PARAMETER)
    return found


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


def encode(result: Result, format: Format) -> bytes:
    """A result in a format.

    Raises
    ------
    NotAcceptable
        If Parquet cannot be written here.
    """
    if format == "csv":
        return to_csv(result).encode()
    return to_parquet(result) if format == "parquet" else msgspec.json.encode(result)


def respond(content: bytes, format: Format, name: str) -> Response:
    """An answer that no cache keeps; other formats than JSON as a file of this name."""
    response = Response(content, mimetype=MEDIA_TYPES[format])
    response.headers["Cache-Control"] = "no-store"
    if format != "json":
        response.headers["Content-Disposition"] = f"attachment; filename={name}.{format}"
    return response
