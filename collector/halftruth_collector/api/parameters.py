"""Query parameters and bodies, read strictly."""

import math
import re
from typing import TypeVar, cast, get_args

import msgspec
from flask import request
from halftruth_shared import ParameterError, ReportError
from halftruth_shared.messages import ReportBatch, Selection, Target

from ..errors import MalformedRequest, TooManyReports

_REPORT_PATH = re.compile(r"`\$\.reports\[(\d+)\](\.values\[(\d+)\]|\.\w+)?")

T = TypeVar("T")


def known(*names: str) -> None:
    """Refuse parameters other than these, so that a misspelt one is not silently ignored.

    Raises
    ------
    ParameterError
    """
    for name in request.args:
        if name not in names:
            accepted = f"expected one of: {', '.join(names)}" if names else "expected none"
            raise ParameterError(f"{name}: unknown parameter; {accepted}", field=name)
        if len(request.args.getlist(name)) > 1:
            raise ParameterError(f"{name}: expected once", field=name)


def number(name: str, default: float | None = None) -> float:
    """A finite number; a parameter without default must be given.

    Raises
    ------
    ParameterError
    """
    text = request.args.get(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ParameterError(f"{name}: expected a number, such as 0.05", field=name)
    return value


def optional_integer(name: str) -> int | None:
    """An integer, None where it is not given.

    Raises
    ------
    ParameterError
    """
    text = request.args.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise ParameterError(f"{name}: expected an integer", field=name)
    return int(text)


def flag(name: str) -> bool:
    """``true`` or ``false``, false where it is not given.

    Raises
    ------
    ParameterError
    """
    text = request.args.get(name, "false")
    if text not in ("true", "false"):
        raise ParameterError(f"{name}: expected true or false", field=name)
    return text == "true"


def selection() -> Selection:
    """What must reach the threshold."""
    return cast(Selection, _choice("select", get_args(Selection)))


def target() -> Target:
    """Whom the estimates are about."""
    return cast(Target, _choice("target", get_args(Target)))


def _choice(name: str, accepted: tuple[str, ...]) -> str:
    text = request.args.get(name, accepted[0])
    if text not in accepted:
        raise ParameterError(f"{name}: expected one of: {', '.join(accepted)}", field=name)
    return text


def attributes() -> list[str]:
    """Attribute names with commas between them; none is left to the schema to refuse."""
    return [name for name in request.args.get("attributes", "").split(",") if name]


def body(kind: type[T]) -> T:
    """The request's JSON as a message.

    Raises
    ------
    MalformedRequest
        If it is not JSON.
    ParameterError
        If it is JSON of another shape.
    """
    try:
        return msgspec.json.decode(request.get_data(cache=False), type=kind)
    except msgspec.ValidationError as error:
        raise ParameterError(f"body: {error}", field="body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedRequest(f"body: expected JSON: {error}", field="body") from None


def report_batch(schema_names: tuple[str, ...], most: int) -> ReportBatch:
    """A batch of reports.

    Parameters
    ----------
    schema_names : tuple of str
        Names of the report's columns, to say which value is wrong.
    most : int
        Largest number of reports.

    Raises
    ------
    MalformedRequest
        If it is not JSON.
    ReportError
        If a report or one of its values is of a wrong type.
    ParameterError
        If anything else is.
    TooManyReports
    """
    try:
        batch = body(ReportBatch)
    except ParameterError as error:
        raise _report_error(str(error), schema_names) or error from None
    if len(batch.reports) > most:
        raise TooManyReports(
            f"reports: expected at most {most} in one request, got {len(batch.reports)}",
            field="reports",
        )
    return batch


def _report_error(message: str, names: tuple[str, ...]) -> ReportError | None:
    """The same complaint in terms of report and column, if it is about a report."""
    place = _REPORT_PATH.search(message)
    if place is None:
        return None
    index = int(place[1])
    what = message.removeprefix("body: ").split(" - at")[0]
    what = what[0].lower() + what[1:]
    if place[3] is not None and int(place[3]) < len(names):
        name = names[int(place[3])]
        return ReportError(f"report {index}: '{name}': {what}", field=name, index=index)
    return ReportError(f"report {index}: {what}", field="reports", index=index)
