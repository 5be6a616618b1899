"""The HTTP server: this application under gunicorn."""

from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from .api import create_app
from .config import Config
from .store import Store

#: Seconds a request may take before its worker is replaced.
_TIMEOUT = 60


class Server(BaseApplication):
    """A collector served by several processes with several threads each.

    Parameters
    ----------
    config : Config
    host : str
    port : int
        0 for any free port.
    workers, threads : int
        Processes, and threads in each.
    ready : callable
        Called with the address once requests are answered.
    """

    def __init__(
        self,
        config: Config,
        *,
        host: str,
        port: int,
        workers: int,
        threads: int,
        ready: Callable[[str], None],
    ) -> None:
        self._config = config
        self._settings: dict[str, Any] = {
            "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "workers": workers,
            "threads": threads,
            "worker_class": "gthread",
            "timeout": _TIMEOUT,
            "loglevel": "warning",
            "proc_name": "halftruth",
            "control_socket_disable": True,
            "when_ready": lambda arbiter: ready(_address(arbiter)),
        }
        # Fails here, before any process starts, if the database cannot be used.
        Store(config.database).close()
        super().__init__()

    def load_config(self) -> None:
        """Take the settings over; called by gunicorn."""
        for name, value in self._settings.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the application; called by gunicorn in each worker."""
        return create_app(self._config)


def _address(arbiter: Any) -> str:
    host, port = arbiter.LISTENERS[0].sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
