"""Firefox and WebKit, driven by Marionette and WebDriver."""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests
from installed import program
from wire import free_port, wait_until

#: Timeout of a page's script in seconds.
SCRIPT = 30


class Driven:
    """A page of a browser, controlled by WebDriver commands."""

    def __init__(self, send: Callable[[str, dict[str, Any]], Any]) -> None:
        self.send = send

    def go(self, url: str) -> None:
        self.send("url", {"url": url})

    def run(self, script: str, *arguments: object) -> Any:
        """Return the value of an asynchronous function's body."""
        ended = "const end = arguments[arguments.length - 1];"
        body = f"{ended} (async (...args) => {{ {script} }})(...arguments)"
        settled = ".then(end, (error) => end({ error: `${error}` }));"
        value = self.send("execute/async", {"script": body + settled, "args": list(arguments)})
        assert not (isinstance(value, dict) and "error" in value), value
        return value


@contextmanager
def started(command: list[str], **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process until the block is left."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **silent, **more)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


#: Commands of Marionette by WebDriver endpoint.
MARIONETTE = {"url": "WebDriver:Navigate", "execute/async": "WebDriver:ExecuteAsyncScript"}


@contextmanager
def firefox(folder: Path) -> Iterator[Driven]:
    """Headless Firefox by Marionette: length-prefixed JSON messages."""
    firefox = program("firefox-esr")
    (folder / "user.js").write_text('user_pref("marionette.port", 0);', encoding="utf-8")
    options = ["--headless", "--no-remote", "--marionette", "--profile", str(folder)]
    with ExitStack() as stack:
        stack.enter_context(started([firefox, *options], env={**os.environ, "HOME": str(folder)}))
        port = folder / "MarionetteActivePort"
        wait_until(lambda: port.exists() and port.read_text(encoding="utf-8").strip())
        address = ("127.0.0.1", int(port.read_text(encoding="utf-8")))
        connection = stack.enter_context(socket.create_connection(address, timeout=2 * SCRIPT))
        reader = stack.enter_context(connection.makefile("rb"))

        def receive() -> Any:
            length = b""
            while (byte := reader.read(1)) != b":":
                assert byte, "Firefox has ended"
                length += byte
            return json.loads(reader.read(int(length)))

        def send(name: str, parameters: dict[str, Any]) -> Any:
            message = json.dumps([0, 1, MARIONETTE.get(name, name), parameters]).encode()
            connection.sendall(b"%d:%b" % (len(message), message))
            _, _, error, result = receive()
            assert error is None, error
            return result.get("value") if isinstance(result, dict) else result

        receive()
        send("WebDriver:NewSession", {"timeouts": {"script": 1_000 * SCRIPT}})
        yield Driven(send)


@contextmanager
def webkit(folder: Path) -> Iterator[Driven]:
    """WebKit's minimal browser on a virtual screen, by its WebDriver."""
    screen, driver = program("Xvfb"), program("WebKitWebDriver")
    number, port = free_port(), free_port()
    environment = {**os.environ, "DISPLAY": f":{number}", "HOME": str(folder)}
    with ExitStack() as stack:
        stack.enter_context(started([screen, f":{number}", "-nolisten", "tcp"]))
        wait_until(Path(f"/tmp/.X11-unix/X{number}").exists)
        stack.enter_context(started([driver, f"--port={port}"], env=environment))
        http = stack.enter_context(requests.Session())

        def call(method: str, path: str, body: object = None) -> Any:
            address = f"http://127.0.0.1:{port}{path}"
            answer = http.request(method, address, json=body, timeout=2 * SCRIPT).json()["value"]
            assert not (isinstance(answer, dict) and "error" in answer), answer
            return answer

        def ready() -> bool:
            try:
                return bool(call("GET", "/status")["ready"])
            except requests.ConnectionError:
                return False

        wait_until(ready)
        wanted = {"timeouts": {"script": 1_000 * SCRIPT}}
        session = call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        path = f"/session/{session['sessionId']}"
        try:
            yield Driven(lambda name, parameters: call("POST", f"{path}/{name}", parameters))
        finally:
            call("DELETE", path)
