"""Mutated requests to every endpoint cause no failure or leak, and reports are counted exactly.

HALFTRUTH_TEST_REQUESTS sets the number of requests, such as 100000.
"""

import base64
import io
import json
import logging
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote, unquote_to_bytes, urlencode
from uuid import UUID

import msgspec
import pytest
from calls import PLACES, SURVEY, calls
from halftruth_collector import operations
from halftruth_collector.web.calls import declared
from halftruth_shared import Survey
from halftruth_shared.analyses.reading import write
from halftruth_shared.protocol.sealing import create_sealing_key, seal
from halftruth_shared.protocol.terms import Terms

#: Default number of requests in ordinary and in nightly runs.
FEW, MANY = 800, 6_000
MAX_BODY = 50_000

#: Pages in addition to the calls of the HTTP interface; {} stands for a survey.
PAGES = (
    *("/", "/s/{}", "/results/{}", "/sign-in?next=/results/{}", "/js/index.js", "/operate/"),
    *("/results/{}/table?attributes=smoker", "/results/{}/rules?format=csv", "/assets/style.css"),
    "/results/{}/itemsets?min_support=0.1&format=json",
    "/form/halftruth.js",
)

#: Calls that are not chosen at random: `Fuzzer._reports` sends reports, and the others would remove
#: counts or add sealing keys.
OTHERWISE = ("addReports", "deleteSurvey", "createSealingKey")

METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "TRACE", "get", "X" * 100)
NUMBERS = (0, -1, 1, 2, 255, 256, 2**31, 2**63, 2**64, 10**40, 1.5, -0.0, 1e308, True)
TEXTS = (
    *("", "\0", "\u202e", "é", "😀", "\ufeff", "' OR 1=1 --", "<script>alert(1)</script>", "%00"),
    *("../../etc/passwd", "A" * 300, "nan", "1e999", "9" * 5_000, "\r\nX: y", "{{7*7}}", "\x7f"),
)
RAW = (
    *(b"[" * 5_000, b'{"a":' * 5_000, b"{}", b"null", b"", b"\xff\xfe", b"\0" * 100, b"1e999"),
    b'{"digest":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    b'{"terms":{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}}",
    b" " * MAX_BODY,
)
PATH_PIECES = (
    *("/", "//", "/..", "/.", "%00", "%2e%2e", "%ff", "%2F", "health", "sealed", "é", ";x", "%0a"),
    *("reports", "close", "terms", "sign-in", "A" * 5_000, "%25", "?", "counts", ".json", "'"),
)
HEADERS = (
    *(("Content-Type", value) for value in ("text/html", "", "multipart/form-data", "\xff", "a/b")),
    ("Content-Type", "multipart/form-data; boundary=x"),
    ("Content-Type", "application/x-www-form-urlencoded; charset=utf-7"),
    *(("Content-Length", value) for value in ("0", "1", "-1", "x", "9" * 30, "1e3", "", "49999")),
    ("Transfer-Encoding", "chunked"),
    ("Content-Encoding", "gzip"),
    *(("Accept", value) for value in ("text/html", "*/*;q=x", "\xe9", "a" * 500, "text/html;q=-1")),
    *(
        ("Authorization", value)
        for value in ("Bearer", "Bearer ", "Basic eDp5", "\xff", "Bearer \0")
    ),
    *(
        ("Cookie", value)
        for value in ("halftruth_token", "halftruth_token=\xff", "=;=;", "a" * 900)
    ),
    *(("Host", value) for value in ("", "evil.example", "[::1", "a b", "x:99999999", "\xff")),
    *(("Origin", "https://elsewhere.example"), ("Expect", "100-continue"), ("Range", "bytes=9-")),
    *(("If-None-Match", "*"), ("If-Modified-Since", "x"), ("X-Forwarded-For", "1, 2, \xff")),
    *(("X-Forwarded-Host", "evil.example"), ("X-HTTP-Method-Override", "PUT")),
)


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    document: object = None

    def environ(self) -> dict[str, object]:
        """Return the WSGI environment of the request, whose text is Latin-1."""
        made: dict[str, object] = {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(self.path).decode("latin-1"),
            "QUERY_STRING": quote(self.query, safe="%&=,+;/?:@!$'()*[]~<>").strip(),
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_LENGTH": str(len(self.body)),
            "CONTENT_TYPE": "application/json",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(self.body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        for name, value in self.headers.items():
            key = name.upper().replace("-", "_")
            made[
                key if key.startswith("CONTENT_") and key != "CONTENT_ENCODING" else f"HTTP_{key}"
            ] = value
        if "Transfer-Encoding" in self.headers:
            made["wsgi.input_terminated"] = True
            del made["CONTENT_LENGTH"]
        return made


class Fuzzer:
    """Generates valid requests and mutates them, reproducibly from a seed."""

    def __init__(self, surveys, sealing_key, tokens, invitations, seed):
        self._rng = random.Random(seed)
        self._surveys = surveys
        self._sealing_key = sealing_key
        self._tokens = tokens
        self._invitations = invitations
        self._calls = [call for call in declared() if call.id not in OTHERWISE]
        self._sent = []
        #: Values by sealed bytes, and every id, to compare with counts and logs.
        self.sealed = {}
        self.ids = set()

    def __call__(self) -> Asked:
        """Return the next request, mutated in up to three ways."""
        rng = self._rng
        if rng.random() < 0.03 and self._sent:
            return rng.choice(self._sent)
        kinds = [self._reports, self._call, self._page, self._sign_in]
        asked = rng.choices(kinds, [70, 20, 7, 3])[0]()
        if rng.random() < 0.7:
            asked.headers.setdefault("Authorization", f"Bearer {rng.choice(self._tokens)}")
        if asked.path.startswith("/results") and rng.random() < 0.8:
            asked.headers["Cookie"] = f"halftruth_token={rng.choice(self._tokens)}"
        mutations = [self._of_structure, self._of_bytes, self._of_path, self._of_query]
        mutations += [self._of_headers, self._of_method]
        for mutate in rng.choices(
            mutations, [40, 25, 8, 10, 12, 5], k=rng.choice((0, 1, 1, 1, 2, 3))
        ):
            mutate(asked)
        self._sent.append(asked)
        del self._sent[:-50]
        return asked

    def _json(self, method, path, document) -> Asked:
        return Asked(method, path, body=json.dumps(document).encode(), document=document)

    def _reports(self) -> Asked:
        rng = self._rng
        name = rng.choices(["health", "sealed", "invited", "other"], [5, 2, 2, 1])[0]
        survey = self._surveys[name]
        reports = []
        for _ in range(rng.choice((1, 1, 2, 5))):
            id = UUID(int=rng.getrandbits(128), version=4)
            self.ids.add(str(id))
            values = [rng.randrange(size) for size in survey.schema.shape]
            report = {"id": str(id), "values": values}
            if name == "sealed":
                content = seal(self._sealing_key, survey.digest, id, bytes(values))
                self.sealed[content] = tuple(values)
                report = {"id": str(id), "sealed": base64.b64encode(content).decode()}
            elif name == "invited":
                report["invitation"] = rng.choice(self._invitations)
            reports.append(report)
        body = {"digest": survey.digest, "reports": reports}
        return self._json("POST", f"/v1/surveys/{name}/reports", body)

    def _page(self) -> Asked:
        id = self._rng.choice(list(self._surveys))
        path, _, query = self._rng.choice(PAGES).format(id).partition("?")
        return Asked("GET", path, query)

    def _call(self) -> Asked:
        """Return any other call with its example; operators change only the survey `other`."""
        rng = self._rng
        call = rng.choice(self._calls)
        id = "other" if call.role == "operator" else rng.choice(list(self._surveys))
        path, example = call.path.format(**PLACES | {"survey_id": id}), calls()[call.id]
        query = urlencode(write(example.query), doseq=True, safe=",")
        if not example.bodies:
            return Asked(call.method, path, query)
        document = json.loads(msgspec.json.encode(next(iter(example.bodies.values()))))
        if call.id == "publishSurvey":
            document["id"] = f"made-{rng.randrange(5)}"
        return self._json(call.method, path, document)

    def _sign_in(self) -> Asked:
        rng = self._rng
        if rng.random() < 0.3:
            return Asked("POST", "/sign-out")
        token = rng.choice(self._tokens)
        if rng.random() < 0.5:
            kind = "application/x-www-form-urlencoded"
            body = f"token={token}&next=/results/health".encode()
        else:
            kind = "multipart/form-data; boundary=x"
            part = 'Content-Disposition: form-data; name="token"'
            body = f"--x\r\n{part}\r\n\r\n{token}\r\n--x--\r\n".encode()
        return Asked("POST", "/sign-in", body=body, headers={"Content-Type": kind})

    def _of_structure(self, asked: Asked) -> None:
        if asked.document is None:
            return
        asked.document = self._changed(json.loads(json.dumps(asked.document)))
        text = json.dumps(asked.document, ensure_ascii=self._rng.random() < 0.5)
        if self._rng.random() < 0.1:
            # A duplicate key.
            text = text.replace("{", '{"digest": "x", "id": "y", ', 1)
        asked.body = text.encode("utf-8", "surrogatepass")

    def _changed(self, found):
        """Return a JSON value with one random change."""
        rng = self._rng
        if isinstance(found, dict | list) and found and rng.random() < 0.85:
            key = rng.choice(list(found) if isinstance(found, dict) else range(len(found)))
            chance = rng.random()
            if chance < 0.08:
                del found[key]
            elif chance >= 0.16:
                found[key] = self._changed(found[key])
            elif isinstance(found, list):
                found.insert(key, found[key])
            else:
                found[rng.choice((*TEXTS, "invitation", "sealed", "values"))] = found[key]
            return found
        choices = [rng.choice(NUMBERS), rng.choice(TEXTS), None, [], {}, [found], {"x": found}]
        return rng.choice(choices)

    def _of_bytes(self, asked: Asked) -> None:
        rng = self._rng
        body = bytearray(asked.body)
        for _ in range(rng.choice((1, 1, 2, 8))):
            place = rng.randrange(len(body) + 1)
            chance = rng.random()
            if chance < 0.4 and place < len(body):
                body[place] ^= 1 << rng.randrange(8)
            elif chance < 0.6:
                body[place:place] = rng.randbytes(rng.choice((1, 2, 30)))
            elif chance < 0.8:
                del body[place : place + rng.choice((1, 3, 40))]
            elif chance < 0.97:
                body[place:place] = body[: rng.randrange(200)]
            else:
                body[:] = rng.choice(RAW)
        asked.body = bytes(body)
        asked.document = None

    def _of_path(self, asked: Asked) -> None:
        rng = self._rng
        piece, place = rng.choice(PATH_PIECES), rng.randrange(len(asked.path) + 1)
        end = place + rng.choice((0, 0, 1, 6))
        asked.path = asked.path[:place] + piece + asked.path[end:]

    def _of_query(self, asked: Asked) -> None:
        rng = self._rng
        names = ["min_support", "attributes", "confidence", "x", "present", "next", "max_length"]
        value = rng.choice(
            [*map(str, NUMBERS), *TEXTS, "smoker", "smoker=yes", "a=b=c", "%ff", "%"]
        )
        parts = [part for part in asked.query.split("&") if part]
        if parts and rng.random() < 0.6:
            place = rng.randrange(len(parts))
            parts[place] = f"{parts[place].partition('=')[0]}={quote(value)}"
        else:
            parts.append(f"{rng.choice(names)}={quote(value)}")
        asked.query = "&".join(parts)

    def _of_headers(self, asked: Asked) -> None:
        name, value = self._rng.choice(HEADERS)
        asked.headers[name] = value

    def _of_method(self, asked: Asked) -> None:
        asked.method = self._rng.choice(METHODS)


class Lines(logging.Handler):
    """Collects distinct log records as text."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.texts = set()

    def emit(self, record):
        said = {
            name: value
            for name, value in vars(record).items()
            if name in ("exc_text", "method", "route", "status", "survey", "reason")
        }
        self.texts.add(f"{record.name} {record.getMessage()} {record.exc_info} {said}")


@pytest.fixture
def lines():
    handler, root = Lines(), logging.getLogger()
    ours = logging.getLogger("halftruth_collector")
    before = ours.level
    root.addHandler(handler)
    ours.setLevel(logging.DEBUG)
    yield handler.texts
    root.removeHandler(handler)
    ours.setLevel(before)


@pytest.fixture
def fuzzed(make_app, store, tmp_path):
    """An application with four surveys on different terms, its fuzzer and its secrets."""
    keys = tmp_path / "sealing.pem"
    public = create_sealing_key(keys)
    terms = {"health": Terms(), "sealed": Terms(sealing_key=public)}
    terms |= {"invited": Terms(invitations=True), "other": Terms()}
    surveys = {id: Survey(id, f"About {id}", SURVEY.schema, SURVEY.mechanism) for id in terms}
    for id, survey in surveys.items():
        operations.publish_survey(store, survey, terms[id])
    invitations = operations.create_invitations(store, "invited", 5_000)
    tokens = [
        operations.create_token(store, role)
        for role in ("operator", "analyst", "monitor", "analyst")
    ]
    tokens.append(operations.create_token(store, "analyst", "health"))
    operations.revoke_token(store, store.tokens.bearer(tokens[3]).id)
    app = make_app(max_body=MAX_BODY, sealing_keys=keys, rate_limit=None)
    return app, Fuzzer(surveys, public, tokens, invitations, seed=20), [*tokens, *invitations]


def ask(app, asked):
    """Return the status, headers and body of the response to a request."""
    begun = []
    answer = app(asked.environ(), lambda status, headers, *_: begun.append((status, headers)))
    try:
        body = b"".join(answer)
    finally:
        getattr(answer, "close", lambda: None)()
    [(status, headers)] = begun
    return int(status.split()[0]), {name.lower(): value for name, value in headers}, body


def check(asked, status, headers, body):
    """Check that a response is a success, a problem or a page, without internal details."""
    assert status < 500
    assert b"Traceback" not in body
    assert b"<script>alert" not in body or "json" in headers["content-type"]
    assert all("\n" not in value and "\r" not in value for value in headers.values())
    if status < 400 or asked.method == "HEAD":
        return
    if headers["content-type"] == "application/problem+json":
        problem = json.loads(body)
        assert problem["status"] == status
        assert problem["title"] == HTTPStatus(status).phrase
        assert problem["detail"]
        assert "\n" not in problem["detail"]
    else:
        assert headers["content-type"].startswith("text/html")
        assert body.startswith(b"<!doctype html>")


def read_reports(asked, fuzzer):
    """Yield the id and the values of each report in an accepted request."""
    length = asked.environ().get("CONTENT_LENGTH", "")
    whole = not length or "Transfer-Encoding" in asked.headers
    body = asked.body if whole else asked.body[: int(length)]
    for report in json.loads(body)["reports"]:
        if "sealed" in report:
            yield UUID(report["id"]), fuzzer.sealed[base64.b64decode(report["sealed"])]
        else:
            yield UUID(report["id"]), tuple(report["values"])


@pytest.mark.parametrize(
    ("database", "requests"),
    [
        ("sqlite", FEW),
        pytest.param("sqlite", MANY, marks=pytest.mark.nightly),
        pytest.param("postgresql", MANY, marks=pytest.mark.nightly),
    ],
    indirect=["database"],
)
def test_mutated_requests_cause_no_failure_and_accepted_reports_are_counted(
    fuzzed, store, lines, requests
):
    app, fuzzer, secrets = fuzzed
    accepted, cells, seen, statuses = Counter(), {}, {}, Counter()
    requests = int(os.environ.get("HALFTRUTH_TEST_REQUESTS", requests))
    for number in range(requests):
        asked = fuzzer()
        try:
            status, headers, body = ask(app, asked)
            check(asked, status, headers, body)
        except Exception as error:
            error.add_note(
                f"request {number}: {asked.method} {asked.path[:200]}?{asked.query[:200]}"
            )
            error.add_note(f"{asked.headers}, body {asked.body[:300]!r}")
            raise
        statuses[status] += 1
        if status == 202:
            # Several leading slashes equal one.
            id = unquote_to_bytes(asked.path).decode().lstrip("/").split("/")[2]
            accepted[id] += json.loads(body)["accepted"]
            known = seen.setdefault(id, {})
            for report, values in read_reports(asked, fuzzer):
                assert known.setdefault(report, values) == values
    for id, known in seen.items():
        cells[id] = Counter(known.values())
    for stored in store.surveys.all():
        counts = store.reports.counts(stored.id)[1]
        found = dict(zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True))
        assert counts.reports == accepted[stored.id]
        assert found == cells.get(stored.id, {})
        sizes = stored.survey().schema.shape
        assert all(0 <= v < size for cell in found for v, size in zip(cell, sizes, strict=True))
    # The requests caused each of these statuses, and enough of them were accepted.
    assert {200, 202, 400, 401, 403, 404, 405, 409, 422} <= statuses.keys()
    assert min(accepted[id] for id in ("health", "sealed", "invited")) > requests // 100
    used = store.invitations.count("invited").used
    assert used == accepted["invited"]
    said = "\n".join(lines)
    assert "request" in said
    assert not any(secret in said for secret in secrets)
    assert not any(id in said for id in fuzzer.ids)
    assert not any(base64.b64encode(content).decode() in said for content in fuzzer.sealed)
    assert "unforeseen" not in said


@pytest.mark.parametrize("depth", [1_000, 20_000])
@pytest.mark.parametrize(
    ("method", "path", "begin", "end"),
    [
        ("POST", "/v1/surveys", b"", b""),
        ("POST", "/v1/surveys", b'{"id": ', b"}"),
        ("POST", "/v1/plan", b'{"respondents": 5, "survey": ', b"}"),
        ("PATCH", "/v1/surveys/other/terms", b'{"terms": {"x": ', b"}}"),
        ("POST", "/v1/surveys/health/reports", b'{"digest": "x", "reports": ', b"}"),
    ],
)
def test_deep_nesting_is_refused(fuzzed, method, path, begin, end, depth):
    app, _, [operator, *_] = fuzzed
    headers = {"Authorization": f"Bearer {operator}"}
    for body in (b"[" * depth, b"[" * depth + b"]" * depth):
        asked = Asked(method, path, body=begin + body + end, headers=headers)
        status, answered, said = ask(app, asked)
        assert status in (400, 422)
        check(asked, status, answered, said)


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/surveys/%00", "/v1/surveys/a%00b/counts", "/v1/surveys/%00/itemsets?min_support=1"),
        *("/s/%00", "/results/%00", "/v1/surveys/%ff%fe", "/v1/surveys/%ed%a0%80", "/js/%00.js"),
        *("/assets/%00", "/js/..%2f..%2fclient.py", "/v1/surveys/" + "a" * 10_000),
    ],
)
def test_impossible_survey_ids_and_paths_get_404(fuzzed, path):
    app, _, [operator, *_] = fuzzed
    headers = {"Authorization": f"Bearer {operator}", "Cookie": f"halftruth_token={operator}"}
    path, _, query = path.partition("?")
    asked = Asked("GET", path, query, headers=headers)
    status, answered, said = ask(app, asked)
    assert status == 404
    check(asked, status, answered, said)


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/results/health"])
@pytest.mark.parametrize("cookie", [True, False])
def test_a_form_that_is_too_large_is_refused(fuzzed, path, cookie):
    app, _, [operator, *_] = fuzzed
    part = b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n\r\n'
    for body in (part * 1_100, part + b"a" * 2 * MAX_BODY):
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        if cookie:
            headers["Cookie"] = f"halftruth_token={operator}"
        asked = Asked("POST", path, body=body, headers=headers)
        status, answered, said = ask(app, asked)
        check(asked, status, answered, said)
        assert status in (303, 401, 405, 413)
