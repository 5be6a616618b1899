"""Collectors that misbehave, for the client to cope with."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import requests
from requests.adapters import BaseAdapter


class Scripted(BaseAdapter):
    """Answers every request from a function, without any network; remembers what was asked."""

    def __init__(self, answer: Callable[[requests.PreparedRequest], tuple[int, bytes]]) -> None:
        super().__init__()
        self._answer = answer
        self.asked: list[requests.PreparedRequest] = []

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        self.asked.append(request)
        response = requests.Response()
        response.status_code, response._content = self._answer(request)
        response.request, response.url = request, request.url or ""
        return response

    def close(self) -> None:
        pass


@pytest.fixture
def answering() -> Callable[..., tuple[requests.Session, Scripted]]:
    def make(
        answer: Callable[[requests.PreparedRequest], tuple[int, bytes]],
    ) -> tuple[requests.Session, Scripted]:
        adapter = Scripted(answer)
        session = requests.Session()
        session.mount("http://", adapter)
        return session, adapter

    return make


@pytest.fixture
def scripted(answering) -> Callable[..., tuple[requests.Session, Scripted]]:
    def make(status: int, body: Any) -> tuple[requests.Session, Scripted]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return answering(lambda _: (status, content))

    return make
