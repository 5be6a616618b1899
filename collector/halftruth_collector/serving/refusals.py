"""Answers to what does not come to the application."""

import socket
from contextlib import suppress
from http import HTTPStatus

import msgspec
from halftruth_shared.messages import Problem

from ..headers import API_HEADERS


def refuse(sock: socket.socket, status: int) -> None:
    """Answer without the application, as far as the peer takes it."""
    phrase = HTTPStatus(status).phrase
    body = msgspec.json.encode(
        Problem(
            type="urn:halftruth:problem:http", title=phrase, status=status, detail=_DETAIL[status]
        )
    )
    headers = {
        "Connection": "close",
        "Content-Type": "application/problem+json",
        "Content-Length": str(len(body)),
        **API_HEADERS,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with suppress(OSError):
        answer = f"HTTP/1.1 {status} {phrase}\r\n{head}\r\n".encode() + body
        sock.send(answer, socket.MSG_DONTWAIT)


_DETAIL = {
    400: "request: expected HTTP/1.1",
    408: "request: expected all of it sooner",
    413: "body: expected fewer bytes",
    414: "request: expected a shorter address",
    417: "expect: expected 100-continue or none",
    431: "request: expected fewer and shorter headers",
    500: "the collector failed; nothing of this request was counted",
    501: "transfer-encoding: expected chunked or none",
    503: "the collector has too many unfinished requests; try again later",
}
