"""The form in one file, built by ``make`` from the modules of the JavaScript client.

Browsers load the modules one after the other, in a chain that takes half a minute on a slow
network. The built file is compressed, and its name has the hash of its contents, so that browsers
keep it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from ..ops import logs
from .static import StaticFile

_log = logging.getLogger(__name__)

#: Modules of the JavaScript client: in a clone a link to its sources, in a wheel a copy of them.
MODULES = Path(__file__).with_name("js")
_BUILT = Path(__file__).with_name("built")


class _Manifest(msgspec.Struct):
    """Names of the built files, and the hash of the modules that they were built from."""

    sources: str
    form: str
    words: dict[str, str]


@dataclass(frozen=True)
class Bundle:
    """The built files by name: `form` with client and form, and `words` by language."""

    form: str
    words: Mapping[str, str]
    files: Mapping[str, StaticFile]

    def find(self, name: str) -> StaticFile | None:
        """Return the file of a name.

        A name with another hash, or with none, is that of the current file: while collectors of two
        versions are behind one proxy, a page of one can ask the other for its files.
        """
        stem = name.partition(".")[0]
        alike = (each for each in self.files if each.partition(".")[0] == stem)
        return self.files.get(name) or self.files.get(next(alike, ""))


@cache
def built_form() -> Bundle | None:
    """Return the built form; None if it was not built, or from other modules than these."""
    try:
        manifest = msgspec.json.decode((_BUILT / "manifest.json").read_bytes(), type=_Manifest)
        if manifest.sources != _hash_of_modules():
            return None
        files = {name: _read(name) for name in (manifest.form, *manifest.words.values())}
    except (OSError, msgspec.MsgspecError):
        return None
    return Bundle(manifest.form, manifest.words, files)


def warn_if_not_built() -> None:
    """Log a warning if the modules are served instead of a built form."""
    if built_form() is None:
        _log.warning(
            "the form is not built from these modules, which browsers load one by one: slow on"
            " phones; 'make client/node_modules/.installed' builds it, with Node.js",
            extra=logs.AT_ONCE,
        )


def _read(name: str) -> StaticFile:
    compressed = {"br": f"{name}.br", "gzip": f"{name}.gz"}
    return StaticFile(
        (_BUILT / name).read_bytes(),
        "text/javascript",
        {coding: (_BUILT / file).read_bytes() for coding, file in compressed.items()},
    )


def _hash_of_modules() -> str:
    """Return the hash of all modules with their names, as `client/build.mjs` computes it."""
    names = {path.relative_to(MODULES).as_posix(): path for path in MODULES.rglob("*.js")}
    whole = hashlib.sha256()
    for name in sorted(names):
        whole.update(f"{name}\0".encode())
        whole.update(names[name].read_bytes())
    return whole.hexdigest()
