"""An upgrade: nginx in front of collectors, and a next version of the program."""

import os
import re
import shutil
import ssl
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Self

import halftruth_collector
from halftruth_collector.store import schema
from halftruth_collector.store.database import Database
from processes import Broken, NotRun, until
from proxies import nginx_files
from wire import free_port

_ROOT = Path(__file__).parents[2]

#: What the next version adds to the tables of surveys, and of reports.
_MIGRATION = """import sqlalchemy as sa
from alembic import op

revision = "{made}"
down_revision = "{before}"


def upgrade() -> None:
    op.add_column("surveys", sa.Column("contact", sa.String(100)))
    op.add_column("cells", sa.Column("kind", sa.Integer, nullable=False, server_default="0"))
    op.create_table("notes", sa.Column("number", sa.Integer, primary_key=True))
"""


class Proxy:
    """The nginx.conf of docker/ in front of these collectors; as a context, it runs meanwhile."""

    def __init__(self, folder: Path, urls: list[str]) -> None:
        self._folder = folder
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            raise NotRun("nginx is missing (Debian package nginx-light)")
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        servers = " max_fails=0; server ".join(url.removeprefix("http://") for url in urls)
        main, _ = nginx_files(_ROOT, folder, free_port(), port, servers)
        self._command = [program, "-c", main, "-p", folder]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command)
        until(self._answers, "nginx to answer")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    @property
    def certificate(self) -> Path:
        """Certificate that its clients trust."""
        return self._folder / "tls.crt"

    def passed_on(self) -> int:
        """Requests that one collector did not take, so that another one was asked."""
        return len(re.findall(r"\d{3}, \d{3}$", (self._folder / "log").read_text(), re.M))

    def failed(self) -> list[str]:
        """Lines of its log about requests that no collector answered."""
        return re.findall(r"^.* 50\d \S+s .*$", (self._folder / "log").read_text(), re.M)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise Broken("nginx ended by itself")
        try:
            host, port = self.url.removeprefix("https://").split(":")
            ssl.get_server_certificate((host, int(port)), ca_certs=str(self.certificate))
        except OSError:
            return False
        return True


def next_version(folder: Path) -> tuple[Path, str]:
    """This program with one more migration, in a folder of packages; and its version."""
    package = shutil.copytree(
        Path(halftruth_collector.__file__).parent,
        folder / "halftruth_collector",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    made = f"{int(schema.HEAD[:4]) + 1:04}_since_{schema.HEAD[:4]}"
    file = package / "store" / "schema.py"
    before = file.read_text()
    text = before.replace(f'"{schema.HEAD}")', f'"{schema.HEAD}", "{made}")')
    assert text != before
    file.write_text(text)
    migration = _MIGRATION.format(made=made, before=schema.HEAD)
    (package / "store" / "migrations" / "versions" / "next.py").write_text(migration)
    return folder, made


def version_of(database: str) -> str | None:
    """Version of the tables."""
    with closing(Database(database)) as opened, opened.reading() as connection:
        return schema.version(connection)


def run_command(packages: Path, database: str, *words: str) -> None:
    """Run a command of that program."""
    subprocess.run(
        [sys.executable, "-m", "halftruth_collector", *words, "--database", database],
        env={**os.environ, "PYTHONPATH": str(packages)},
        check=True,
        capture_output=True,
    )
