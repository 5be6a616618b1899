"""Static files and rendered pages in memory, compressed once and identified by their contents.

The tag of a response (ETag) is a hash of the contents, so that all collectors behind a proxy agree
about it, and a browser that has the contents gets them from none again. Only what holds no secret
is compressed: the length of a compressed page can reveal a secret in it (BREACH).
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from mimetypes import guess_type
from pathlib import Path

from flask import Response
from werkzeug.datastructures import Accept
from werkzeug.exceptions import NotFound
from werkzeug.http import parse_accept_header, parse_etags
from werkzeug.security import safe_join

from .context import current_request

#: Lifetimes: until the name changes, and until the next use, which asks whether it is current.
IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATED = "no-cache"

#: Content codings, the preferred one first.
_CODINGS = ("br", "gzip")


@dataclass(frozen=True)
class StaticFile:
    """Contents with their compressed forms by content coding."""

    contents: bytes
    mimetype: str
    compressed: dict[str, bytes]
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hashlib.sha256(self.contents).hexdigest()[:16])

    @classmethod
    def compress(cls, contents: bytes, mimetype: str) -> StaticFile:
        """Compress contents by gzip, which is in the standard library."""
        return cls(contents, mimetype, {"gzip": gzip.compress(contents, 9, mtime=0)})

    def response(self, caching: str = REVALIDATED) -> Response:
        """Respond with these contents in a coding that the request accepts, or that it has them."""
        headers = current_request().headers
        coding = _choose_coding(headers.get("Accept-Encoding", ""), tuple(self.compressed))
        # Two codings of the same contents differ byte by byte, so their tags differ.
        tag = self.hash if coding is None else f"{self.hash}-{coding}"
        known = headers.get("If-None-Match")
        has_it = known is not None and parse_etags(known).contains_weak(tag)
        contents = self.contents if coding is None else self.compressed[coding]
        response = Response(
            b"" if has_it else contents, 304 if has_it else 200, mimetype=self.mimetype
        )
        if coding is not None:
            response.headers["Content-Encoding"] = coding
        response.headers["Vary"] = "Accept-Encoding"
        response.headers["Cache-Control"] = caching
        response.headers["ETag"] = f'"{tag}"'
        return response


@lru_cache(maxsize=256)
def _choose_coding(accepted: str, offered: tuple[str, ...]) -> str | None:
    """Return the best of the offered content codings that a header accepts; None for none.

    The header is parsed once, since browsers send few different ones.
    """
    qualities = parse_accept_header(accepted, Accept)
    return next((name for name in _CODINGS if name in offered and qualities.quality(name)), None)


def read(folder: Path, name: str) -> StaticFile:
    """Return a file of a folder, read again only if it was changed.

    Raises
    ------
    NotFound
        If there is no such file, or it is not in the folder.
    """
    path = safe_join(str(folder), name)
    try:
        if path is None:
            raise NotFound
        state = Path(path).stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        raise NotFound from None


@lru_cache(maxsize=256)
def _read(path: str, _changed: int, _size: int) -> StaticFile:
    mimetype = "text/javascript" if path.endswith(".js") else guess_type(path)[0]
    return StaticFile.compress(Path(path).read_bytes(), mimetype or "application/octet-stream")
