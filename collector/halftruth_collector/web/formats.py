"""Results as JSON, CSV or Parquet, and their charts as SVG or PNG."""

from importlib.util import find_spec
from typing import Any, Literal, get_args

import msgspec
from flask import Response, request
from halftruth_shared import ParameterError
from halftruth_shared.analyses import Result

from ..analyses.tabular import to_csv, to_parquet
from ..errors import NotAcceptable

Format = Literal["json", "csv", "parquet"]

#: What a chart can be drawn as.
Picture = Literal["svg", "png"]

#: The parameter that names a format; without it the header Accept chooses.
PARAMETER = "format"

_MEDIA_TYPES: dict[Format | Picture, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "png": "image/png",
}

MEDIA_TYPES: dict[Format, str] = {name: _MEDIA_TYPES[name] for name in get_args(Format)}


def offered() -> list[tuple[Format, str]]:
    """The formats that can be made here, with what people call them."""
    called: list[tuple[Format, str]] = [("json", "JSON"), ("csv", "CSV"), ("parquet", "Parquet")]
    return called if find_spec("pyarrow") else called[:2]


def named() -> Format | None:
    """The format that the address names.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    found: Format | None = _named(get_args(Format))
    return found


def named_of_page(*, with_chart: bool) -> Format | Picture | None:
    """The format that the address of a page names, which may be that of its chart.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    pictures = get_args(Picture) if with_chart else ()
    found: Format | Picture | None = _named((*get_args(Format), *pictures))
    return found


def _named(names: tuple[str, ...]) -> Any:
    given = request.args.getlist(PARAMETER)
    if given and (len(given) > 1 or given[0] not in names):
        raise ParameterError(f"{PARAMETER}: expected one of: {', '.join(names)}", field=PARAMETER)
    return given[0] if given else None


def wanted() -> Format:
    """The format that a program asks for: by its address, else by its header Accept.

    Raises
    ------
    ParameterError, NotAcceptable
    """
    format = named()
    if format is not None:
        return format
    if not request.accept_mimetypes:
        return "json"
    best = request.accept_mimetypes.best_match(MEDIA_TYPES.values())
    for format, media_type in MEDIA_TYPES.items():
        if media_type == best:
            return format
    raise NotAcceptable(
        f"Accept: expected one of: {', '.join(MEDIA_TYPES.values())}", field="Accept"
    )


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


def respond(content: bytes, format: Format | Picture, name: str) -> Response:
    """An answer that no cache keeps; other formats than JSON as a file of this name."""
    response = Response(content, mimetype=_MEDIA_TYPES[format])
    response.headers["Cache-Control"] = "no-store"
    if format != "json":
        response.headers["Content-Disposition"] = f"attachment; filename={name}.{format}"
    return response
