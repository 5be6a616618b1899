"""Nginx in front of collectors that are restarted one after the other."""

import os
import re
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Self

from processes import Broken, NotRun, until
from proxies import nginx_files
from wire import free_port

_ROOT = Path(__file__).parents[2]


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
