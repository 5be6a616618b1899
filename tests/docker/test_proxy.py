"""Caddyfile and nginx.conf in a real Caddy and nginx, in front of a recording server."""

import inspect
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from halftruth_client import Client
from halftruth_collector import operations
from halftruth_collector.ops.settings import Config
from halftruth_shared import Survey
from installed import program
from proxies import nginx_files, temporary_paths
from serving import run_collector
from wire import PATIENCE, REPORTS, free_port, running, wait_until

#: Maximum body size of this proxy in bytes.
LIMIT = 1000


@dataclass
class Upstream:
    """Requests that reached the collector's place in order, with headers and bodies.

    `headers` are those of its responses.
    """

    port: int
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def targets(self) -> list[str]:
        return [target for target, _, _ in self.requests]


@dataclass
class Proxy:
    """A running proxy with its log, its TLS context and its port without TLS."""

    port: int
    log: Path
    tls: ssl.SSLContext | None = None
    plain: int = 0

    def connect(self) -> socket.socket:
        """Open a connection for a slow client."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return self.tls.wrap_socket(plain, server_hostname="127.0.0.1") if self.tls else plain

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> int:
        return self.answer(method, target, body, **headers).status

    def answer(
        self, method: str, target: str, body: bytes | None = None, **headers: str
    ) -> HTTPResponse:
        where: Any = ("127.0.0.1", self.port)
        connection = (
            HTTPSConnection(*where, timeout=30, context=self.tls)
            if self.tls
            else HTTPConnection(*where, timeout=30)
        )
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
        return response

    def lines(self, count: int) -> list[str]:
        """Return the first log lines about requests, once there are at least `count`."""

        def about() -> list[str]:
            # Skip a line that is still being written.
            whole = self.log.read_text().rpartition("\n")[0].splitlines()
            return whole if self.tls else [line for line in whole if "request" in json.loads(line)]

        wait_until(lambda: len(about()) >= count)
        return about()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    class Handler(BaseHTTPRequestHandler):
        def take(self) -> None:
            # Recorded before the body is read: a request counts as soon as it arrives.
            noted.requests.append((self.path, dict(self.headers), b""))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            noted.requests[-1] = (*noted.requests[-1][:2], body)
            self.finish_answer()

        def finish_answer(self) -> None:
            self.send_response(202)
            for name, value in noted.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    for method in ("GET", "HEAD", "OPTIONS", "POST", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.take)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    noted = Upstream(server.server_port)
    with running(server):
        yield noted


@pytest.fixture
def caddy() -> str:
    return program("caddy")


@pytest.fixture(params=["caddy", "nginx"])
def start(request) -> Callable[..., Proxy]:
    """Start either proxy on loopback: Caddy without TLS, nginx with a self-signed certificate."""
    return request.getfixturevalue(f"start_{request.param}")


@pytest.fixture
def start_nginx(root, tmp_path, upstream) -> Iterator[Callable[..., Proxy]]:
    """Start nginx with nginx.conf and the body limit of these tests."""
    ports, started = (free_port(), free_port()), []

    def start(*collectors: str, changes: dict[str, str] | None = None) -> Proxy:
        servers = collectors or [f"127.0.0.1:{upstream.port}"]
        changes = {"8000000": str(LIMIT), **(changes or {})}
        main, tls = nginx_files(root, tmp_path, *ports, servers, changes)
        process = subprocess.Popen([program("nginx"), "-c", main, "-p", tmp_path])
        started.append(process)
        wait_for(ports[1], process, tmp_path / "errors")
        return Proxy(ports[1], tmp_path / "log", tls, ports[0])

    yield start
    for process in started:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        # Errors of requests must not be logged.
        assert (tmp_path / "errors").read_text() == ""


@pytest.fixture
def start_caddy(caddy, compose, root, tmp_path, upstream) -> Iterator[Callable[..., Proxy]]:
    """Start Caddy with the Caddyfile and compose.yaml's variables, without TLS, on loopback."""
    started = []
    text = (root / "docker/Caddyfile").read_text(encoding="utf-8")
    here = tmp_path / "Caddyfile"
    here.write_text(text.replace("collector:8000", f"127.0.0.1:{upstream.port}"))

    def start(**settings: str) -> Proxy:
        port = free_port()
        log = tmp_path / "log"
        with log.open("w") as file:
            process = subprocess.Popen(
                [caddy, "run", "--adapter", "caddyfile", "--config", here],
                env={
                    "HOME": str(tmp_path),
                    "HALFTRUTH_HOST": f"http://127.0.0.1:{port}",
                    "HALFTRUTH_MAX_BODY": str(LIMIT),
                    **settings,
                },
                stderr=file,
                stdout=file,
            )
        started.append(process)
        wait_for(port, process, log)
        return Proxy(port, log)

    yield start
    for process in started:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_the_caddyfile_serves_the_host_by_tls_and_names_an_existing_service(
    caddy, compose, root, tmp_path
):
    proxy = compose["services"]["proxy"]
    text = (root / "docker/Caddyfile").read_text(encoding="utf-8")
    assert set(re.findall(r"\{\$(\w+)", text)) == set(proxy["environment"])
    adapted = subprocess.run(
        [caddy, "adapt", "--config", root / "docker/Caddyfile"],
        env={"HOME": str(tmp_path), "HALFTRUTH_HOST": "collect.example"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "not formatted" not in adapted.stderr
    [server] = json.loads(adapted.stdout)["apps"]["http"]["servers"].values()
    assert server["listen"] == [":443"]
    assert "automatic_https" not in server
    [dialled] = re.findall(r'"dial":"([^"]+)"', adapted.stdout)
    service, port = dialled.split(":")
    exposed = re.search(r"^EXPOSE (\d+)$", (root / "docker/Dockerfile").read_text("utf-8"), re.M)
    assert exposed is not None
    assert port == exposed[1]
    assert set(compose["services"][service]["networks"]) & set(proxy["networks"])
    limits = re.findall(r'"(?:max_size|request_buffers)":(\d+)', adapted.stdout)
    assert [int(limit) for limit in limits] == [Config().max_body] * 2


def test_requests_are_forwarded_with_the_address_of_the_client(start, upstream):
    proxy = start()
    answer = proxy.answer("GET", "/v1/surveys?x=1", **{"X-Forwarded-For": "192.0.2.7"})
    assert answer.status == 202
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    [(target, headers, _)] = upstream.requests
    assert target == "/v1/surveys?x=1"
    # The collector trusts one proxy; the client's own header is dropped.
    assert headers["X-Forwarded-For"] == "127.0.0.1"


def test_compressed_files_that_browsers_keep_pass_through(start, upstream):
    proxy = start()
    upstream.headers |= {
        "Content-Type": "text/javascript; charset=utf-8",
        "Content-Encoding": "br",
        "Vary": "Accept-Encoding",
        "Cache-Control": "public, max-age=31536000, immutable",
        "ETag": '"0123456789abcdef-br"',
    }
    asked = {"Accept-Encoding": "gzip, deflate, br", "If-None-Match": '"0123456789abcdef-gzip"'}
    answer = proxy.answer("GET", "/form/halftruth.0123456789abcdef.js", **asked)
    assert {name: answer.headers[name] for name in upstream.headers} == upstream.headers
    [(_, headers, _)] = upstream.requests
    assert {name: headers[name] for name in asked} == asked


def test_nginx_speaks_http_2(start_nginx):
    proxy = start_nginx()
    proxy.tls.set_alpn_protocols(["h2", "http/1.1"])
    with proxy.connect() as connection:
        assert connection.selected_alpn_protocol() == "h2"


def test_monitoring_endpoints_are_not_reachable_from_outside(start, upstream):
    proxy = start()
    for target in (
        *["/metrics", "/metrics/", "/metrics?x=1", "/METRICS", "//metrics", "/%6detrics"],
        *["/metrics%2f", "/v1/../metrics", "/v1/%2e%2e/metrics", "/./metrics", "/readyz"],
    ):
        assert proxy.ask("GET", target) == 404, target
    assert upstream.targets == []
    assert proxy.ask("GET", "/healthz") == 202


def test_bodies_are_forwarded_completely_and_larger_ones_are_refused(start, upstream):
    proxy = start()
    assert proxy.ask("POST", "/v1/surveys/a/reports", b"x" * LIMIT) == 202
    assert upstream.requests[0][2] == b"x" * LIMIT
    for excess in (1, LIMIT, 100 * LIMIT):
        assert proxy.ask("POST", "/v1/surveys/b/reports", b"x" * (LIMIT + excess)) == 413
    # A request that was partly forwarded is cut off, shorter than its declared length.
    for target, headers, body in upstream.requests[1:]:
        assert target == "/v1/surveys/b/reports"
        assert len(body) < int(headers["Content-Length"])


def test_a_client_that_sends_slowly_does_not_reach_the_collector(start, upstream):
    proxy = start()
    with proxy.connect() as slow:
        slow.sendall(b"POST /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nhalf ")
        for _ in range(20):
            assert proxy.ask("POST", "/quick", b"whole") == 202
        assert set(upstream.targets) == {"/quick"}
        slow.sendall(b"later")
        assert slow.recv(12) == b"HTTP/1.1 202"
    assert upstream.targets[-1] == "/slow"
    assert upstream.requests[-1][2] == b"half later"


@pytest.mark.parametrize(("kind", "told"), [("anonymous", False), ("addresses", True)])
def test_caddy_logs_no_query_no_header_and_by_default_no_address(start_caddy, kind, told):
    proxy = start_caddy(HALFTRUTH_PROXY_LOG=kind)
    assert proxy.ask("GET", "/v1/states?secret=1", Referer="secret") == 202
    assert proxy.ask("POST", "/v1/tokens", b"secret" * LIMIT) == 413
    entries = [json.loads(line) for line in proxy.lines(2)]
    assert [entry["request"]["uri"] for entry in entries[:2]] == ["/v1/states", "/v1/tokens"]
    text = json.dumps(entries)
    assert "secret" not in text
    assert ("remote_ip" in text) == told


def test_caddy_logs_no_requests_in_front_of_a_relay(start_caddy, of_relay):
    given = of_relay["services"]["proxy"]["environment"]
    names = ("HALFTRUTH_PROXY_LOG", "HALFTRUTH_PROXY_OUTPUT")
    proxy = start_caddy(**{name: given[name] for name in names})
    assert proxy.ask("POST", "/v1/surveys/a/reports", b"report") == 202
    assert "/v1/surveys" not in proxy.log.read_text()


def test_nginx_logs_no_requests_in_front_of_a_relay(start_nginx, root):
    """With the directive from the comment in nginx.conf."""
    text = (root / "docker/nginx.conf").read_text(encoding="utf-8")
    [instead] = re.findall(r"# In front of a relay: (access_log off;)", text)
    [given] = re.findall(r"^    (access_log .* halftruth .*;)$", text, re.M)
    proxy = start_nginx(changes={given: instead})
    assert proxy.ask("POST", "/v1/tokens", b"as an operator") == 202
    assert not (proxy.log.parent / "log").exists()


#: Requests of respondents' browsers, and of operators and analysts.
OF_RESPONDENTS = [
    *["GET /", "GET /s/health", "GET /js/form/index.js", "GET /assets/form.js", "GET /favicon.ico"],
    "GET /form/halftruth.0123456789abcdef.js",
    *["GET /v1/surveys", "GET /v1/surveys/health", "OPTIONS /v1/surveys/health/reports"],
    *["POST /v1/surveys/health/reports", "OPTIONS /v1/surveys/health/invitations/check"],
    *["POST /v1/surveys/health/invitations/check", "HEAD /v1/surveys/health", "GET /healthz"],
]
OF_OPERATORS = [
    *["GET /sign-in", "GET /operate/", "POST /operate/tokens", "GET /results/health/overview"],
    *["POST /v1/surveys", "DELETE /v1/surveys/health", "PATCH /v1/surveys/health/terms"],
    *["GET /v1/surveys/health/overview", "GET /v1/states", "POST /v1/surveys/health/invitations"],
]


def test_proxies_log_no_request_of_a_respondent(start, upstream):
    """The time of a report, of its preflight, or of the page says when somebody answered."""
    proxy = start()
    for request in (*OF_RESPONDENTS, *OF_OPERATORS):
        method, path = request.split()
        body = b"{}" if method in ("POST", "PATCH") else None
        assert proxy.ask(method, path, body) == 202, request
    assert len(upstream.requests) == len(OF_RESPONDENTS) + len(OF_OPERATORS)
    logged = []
    for line in proxy.lines(len(OF_OPERATORS)):
        if proxy.tls:
            logged.append(" ".join(line.split()[1:3]))
        else:
            request = json.loads(line)["request"]
            logged.append(f"{request['method']} {request['uri']}")
    assert logged == OF_OPERATORS


def test_caddy_logs_no_address_of_a_failed_request(start_caddy, upstream):
    proxy = start_caddy()
    with proxy.connect() as slow:
        slow.sendall(
            b"POST /operate/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nhalf"
        )
        source = "{}:{}".format(*slow.getsockname())
    entries = [json.loads(line) for line in proxy.lines(1)]
    assert entries[0]["request"]["uri"] == "/operate/x"
    assert source not in proxy.log.read_text()
    assert "127.0.0.1" not in json.dumps([entry["request"] | {"host": ""} for entry in entries])
    assert upstream.targets == []


def test_nginx_logs_only_method_path_and_statuses(start_nginx, upstream):
    proxy = start_nginx()
    assert proxy.ask("GET", "/v1/states?secret=1", Referer="secret") == 202
    assert proxy.ask("POST", "/v1/tokens?secret", b"secret" * LIMIT) == 413
    with proxy.connect() as slow:
        slow.sendall(
            b"POST /operate/x?secret HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nsecret"
        )
    here = re.escape(f"127.0.0.1:{upstream.port}")
    expected = [
        rf"GET /v1/states 202 \S+s {here} 202",
        r"POST /v1/tokens 413 \S+s - -",
        r"POST /operate/x 400 \S+s - -",
    ]
    for line, said in zip(proxy.lines(3), expected, strict=True):
        assert re.fullmatch(rf"\S+ {said}", line), line


def test_nginx_redirects_to_tls_and_has_the_body_limit_of_a_collector(start_nginx, root):
    proxy = start_nginx()
    connection = HTTPConnection("127.0.0.1", proxy.plain, timeout=30)
    connection.request("GET", "/s/health", headers={"Host": "collect.example.org"})
    answer = connection.getresponse()
    connection.close()
    assert (answer.status, answer.headers["Location"]) == (
        *(301, "https://collect.example.org/s/health"),
    )
    text = (root / "docker/nginx.conf").read_text(encoding="utf-8")
    sizes = re.findall(r"client_(?:max_body|body_buffer)_size (\w+);", text)
    assert [int(size) for size in sizes] == [Config().max_body] * 2


def test_nginx_retries_reports_but_not_operator_forms_at_the_next_collector(start_nginx, upstream):
    """The first collector accepts requests, and disconnects without a response."""
    with socket.create_server(("127.0.0.1", 0)) as broken:
        stop = threading.Event()
        taker = threading.Thread(target=break_off, args=(broken, stop))
        taker.start()
        # Never leave the first one out, so that it gets every other request.
        always = {"max_fails=3": "max_fails=0"}
        try:
            first = f"127.0.0.1:{broken.getsockname()[1]}"
            proxy = start_nginx(first, f"127.0.0.1:{upstream.port}", changes=always)
            reports = [proxy.ask("POST", "/v1/surveys/a/reports", b"x") for _ in range(6)]
            forms = [proxy.ask("POST", "/operate/tokens", b"x") for _ in range(6)]
        finally:
            stop.set()
            taker.join()
    assert reports == [202] * 6
    assert sorted(forms) == [202] * 3 + [502] * 3
    assert len(upstream.requests) == 9


@pytest.fixture
def hung(tmp_path) -> Iterator[str]:
    """Address of a server whose process was stopped: it connects and answers nothing."""
    command = [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path
    ) as process:
        try:
            assert process.stdout is not None
            [port] = re.findall(r"port (\d+)", process.stdout.readline())
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()


#: What the browser of a respondent asks for.
ANSWERING = [
    *[("GET", "/s/health"), ("GET", "/form/halftruth.js"), ("GET", "/v1/surveys/health")],
    *[("POST", "/v1/surveys/health/invitations/check"), ("POST", "/v1/surveys/health/reports")],
]


@pytest.mark.parametrize(("method", "path"), ANSWERING)
def test_nginx_asks_another_collector_if_one_hangs(start_nginx, upstream, hung, method, path):
    """Each request of a respondent is answered; the hung collector is left out after a while."""
    # A second instead of five, since all requests wait one after the other.
    shorter = {"proxy_read_timeout 5s": "proxy_read_timeout 1s", " if=$halftruth_logged": ""}
    proxy = start_nginx(hung, f"127.0.0.1:{upstream.port}", changes=shorter)
    body = b"x" if method == "POST" else None
    answers = [proxy.ask(method, path, body) for _ in range(8)]
    assert answers == [202] * 8
    assert upstream.targets == [path] * 8
    retried = [line for line in proxy.lines(8) if line.endswith(" 504, 202")]
    # Three failures; then it is tried again every two or three seconds.
    assert 3 <= len(retried) <= 5
    # Without the short limit these would wait for two minutes.
    assert all(f"{hung}, 127.0.0.1:{upstream.port}" in line for line in retried)


def test_nginx_sends_no_other_post_to_a_second_collector(start_nginx, upstream, hung):
    shorter = {"proxy_read_timeout 120s": "proxy_read_timeout 1s"}
    proxy = start_nginx(hung, f"127.0.0.1:{upstream.port}", changes=shorter)
    for path in ("/v1/surveys/health/invitations", "/operate/tokens"):
        assert sorted(proxy.ask("POST", path, b"x") for _ in range(2)) == [202, 504]
    assert len(upstream.requests) == 2


def test_nginx_gives_up_on_a_collector_before_the_clients_do(root):
    text = (root / "docker/nginx.conf").read_text(encoding="utf-8")
    script = (root / "client/halftruth_client/js/transport.js").read_text(encoding="utf-8")
    [client] = re.findall(r"timeout: (\d+)_000", script)
    limits = [int(limit) for limit in re.findall(r"proxy_read_timeout (\d+)s;", text)]
    assert sorted(limits)[:-1] == [5] * 3
    assert 2 * 5 <= int(client) == inspect.signature(Client).parameters["timeout"].default


#: What the manual of any web server has in front of a program: no header of its own.
PLAIN_NGINX = """
daemon off;
pid {folder}/pid;
error_log stderr emerg;
events {{}}
http {{
    access_log off;
    {temporary}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {url};
            proxy_http_version {version};
            proxy_set_header Connection "";
        }}
    }}
}}
"""


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_reports_through_an_nginx_with_default_headers_have_a_limit(
    database, store, survey, tmp_path, version
):
    """Its requests look like those of a program on the collector's machine, whoever sends them."""
    operations.publish_survey(store, survey)
    port, main = free_port(), tmp_path / "nginx.conf"
    with run_collector(database, tmp_path, RATE_LIMIT="5 per hour") as collector:
        given = {"folder": tmp_path, "port": port, "url": collector.url, "version": version}
        main.write_text(PLAIN_NGINX.format(temporary=temporary_paths(tmp_path), **given))
        with subprocess.Popen([program("nginx"), "-c", main, "-p", tmp_path]) as process:
            try:
                wait_for(port, process, main)
                proxy = Proxy(port, tmp_path / "log")
                statuses = [proxy.ask("POST", REPORTS, report_to(survey)) for _ in range(12)]
            finally:
                process.terminate()
    assert statuses == [202] * 5 + [429] * 7


def report_to(survey: Survey) -> bytes:
    """Return the body of a request with one new report."""
    report = {"id": str(uuid4()), "values": [0, 0]}
    return json.dumps({"digest": survey.digest, "reports": [report]}).encode()


def break_off(server: socket.socket, stop: threading.Event) -> None:
    server.settimeout(0.1)
    while not stop.is_set():
        with suppress(TimeoutError):
            taken, _ = server.accept()
            with taken:
                taken.recv(65_536)


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            return False
        return True

    wait_until(answers)
