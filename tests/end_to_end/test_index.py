"""No command of the manual asks a package index for our names, which anybody can register there."""

import os
import re
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import requires, version
from io import BytesIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("halftruth-shared", "halftruth-client", "halftruth-collector", "halftruth-relay")
PINNED = dict(
    re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.M)
)
PINNED = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in PINNED.items()}

#: Commands of the manual by page.
COMMANDS = [
    (page, line.split(" # ")[0].strip().replace("/opt/halftruth/bin/", ""))
    for page in ("docs/operating.md", "docs/relay.md", "client/PYTHON.md")
    for line in re.findall(r"^.*pip install .*dist/.*$", (ROOT / page).read_text("utf-8"), re.M)
]


def wheel(name, number, requirements=()):
    """Return a wheel without modules."""
    folder = f"{name.replace('-', '_')}-{number}.dist-info"
    extras = {extra for line in requirements for extra in re.findall(r"extra == .(\w+)", line)}
    metadata = [
        *("Metadata-Version: 2.1", f"Name: {name}", f"Version: {number}"),
        *(f"Provides-Extra: {extra}" for extra in sorted(extras)),
        *(f"Requires-Dist: {line}" for line in requirements),
    ]
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"{folder}/METADATA", "\n".join(metadata) + "\n")
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{folder}/WHEEL", tags)
        archive.writestr(f"{folder}/RECORD", "")
    return content.getvalue()


class Index(BaseHTTPRequestHandler):
    """An index that has every package in the pinned version, and a newer one of ours."""

    def do_GET(self):
        name = self.path.strip("/").split("/")[-1]
        if self.path.endswith(".whl"):
            kind, content = "application/zip", wheel(*name.split("-")[:2])
        else:
            self.server.asked.append(name)
            number = PINNED.get(name, "99")
            file = f"{name.replace('-', '_')}-{number}-py3-none-any.whl"
            kind, content = "text/html", f'<a href="/files/{file}">{file}</a>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def install(tmp_path):
    """Return a function that resolves a command of pip, and returns the names that it asked for."""
    (tmp_path / "dist").mkdir()
    (tmp_path / "constraints.txt").write_bytes((ROOT / "constraints.txt").read_bytes())
    for room in ROOMS:
        number = version(room)
        file = f"{room.replace('-', '_')}-{number}-py3-none-any.whl"
        (tmp_path / "dist" / file).write_bytes(wheel(room, number, requires(room)))
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as index:
        index.asked = []
        threading.Thread(target=index.serve_forever, daemon=True).start()

        def run(line):
            words = f"{sys.executable} -m pip install --dry-run --ignore-installed --no-cache-dir"
            pip = {name: text for name, text in os.environ.items() if "PIP_" not in name}
            # What the machine is configured to ask is not asked.
            given = {
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_INDEX_URL": f"http://127.0.0.1:{index.server_port}/simple/",
            }
            ran = subprocess.run(
                ["sh", "-c", line.replace("pip install", words)],
                cwd=tmp_path,
                env=pip | given,
                timeout=200,
                capture_output=True,
                encoding="utf-8",
            )
            assert ran.returncode == 0, ran.stderr
            return index.asked, ran.stdout

        yield run
        index.shutdown()


def test_the_manual_has_commands_for_files():
    pages = ["client/PYTHON.md", "docs/operating.md", "docs/relay.md"]
    assert sorted({page for page, _ in COMMANDS}) == pages
    for page in (*ROOT.glob("docs/*.md"), ROOT / "client" / "PYTHON.md", ROOT / "README.md"):
        for line in re.findall(r"^.*pip install .*$", page.read_text("utf-8"), re.M):
            assert "--find-links" not in line, page.name


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_pip_asks_the_index_for_dependencies_only(install, page, line):
    asked, said = install(line)
    assert {"requests", "msgspec"} <= set(asked)
    assert not [name for name in asked if "halftruth" in name]
    for room in ROOMS:
        if room.replace("-", "_") in line:
            assert f"{room}-{version(room)}" in said.replace("_", "-")
    # The packages of the extra are there, too.
    assert ("matplotlib" in asked) == ("[plot" in line)
    assert "cryptography" in asked


def test_a_name_alone_would_be_asked_for(install):
    asked, said = install("pip install --find-links dist 'halftruth-client[sealed]'")
    assert "halftruth-client" in asked
    assert "halftruth_client-99" in said.replace("halftruth-", "halftruth_")
