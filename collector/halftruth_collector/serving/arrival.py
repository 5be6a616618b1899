"""How much of an HTTP/1 request has arrived, told from its bytes alone.

A thread gets a request only once all of it is here, so that a slow sender holds no thread. What
this module takes for malformed counts as whole: the parser that reads it next is to refuse it.
"""

import re
from dataclasses import dataclass

_HEADER = re.compile(
    rb"\r\n(content-length|transfer-encoding|expect):[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)", re.IGNORECASE
)
_CHUNK_SIZE = re.compile(rb"([0-9a-f]{1,15})[ \t]*(?:;.*)?", re.IGNORECASE | re.DOTALL)

#: Longest line with the size of a chunk.
_CHUNK_LINE = 256


@dataclass(frozen=True)
class Limits:
    """What one request may take.

    Attributes
    ----------
    head, body : int
        Most bytes of request line and headers, and of what follows.
    seconds : float
        Time for all of it to arrive.
    """

    head: int
    body: int
    seconds: float


class Refusal(Exception):
    """A request that is not read to its end.

    Parameters
    ----------
    status : int
        What to answer.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Arrival:
    """The bytes of one request so far.

    Parameters
    ----------
    limits : Limits
    data : bytes, optional
        What is there already.

    Attributes
    ----------
    waits : bool
        Whether the sender wants to be told to go on before it sends the body.
    """

    def __init__(self, limits: Limits, data: bytes = b"") -> None:
        self._limits = limits
        self._data = bytearray(data)
        self._body: int | None = None
        self._chunk: int | None = None
        self._end: int | None = None
        self.waits = False

    def __len__(self) -> int:
        return len(self._data)

    def add(self, data: bytes) -> None:
        """Append what has just arrived."""
        self._data += data

    def take(self) -> bytes:
        """All bytes, those of a next request included."""
        return bytes(self._data)

    def begins(self, pattern: re.Pattern[bytes], most: int) -> bool:
        """Whether what is here begins like this, and has at most so many bytes."""
        return len(self._data) <= most and pattern.match(self._data) is not None

    def is_whole(self) -> bool:
        """Whether the request has arrived to its end.

        Raises
        ------
        Refusal
            If its head is too large, or its chunks are.
        """
        if self._body is None:
            self._find_body()
        if self._body is not None and self._chunk is not None and self._end is None:
            self._walk(self._body, self._chunk)
        return self._end is not None and len(self._data) >= self._end

    def _find_body(self) -> None:
        """Find the end of the head, and what it says of the body."""
        blank = self._data.find(b"\r\n\r\n")
        if (len(self._data) if blank < 0 else blank) > self._limits.head:
            raise Refusal(431)
        if blank < 0:
            return
        self._body = blank + 4
        found = [(name.lower(), value) for name, value in _HEADER.findall(self._data[: blank + 2])]
        said = dict(found)
        length, coding = said.get(b"content-length"), said.get(b"transfer-encoding")
        self.waits = said.get(b"expect", b"").lower() == b"100-continue"
        if len(said) < len(found) or (length is not None and coding is not None):
            self._end = self._body
        elif coding is not None and b"chunked" in coding.lower():
            self._chunk = self._body
        elif length is not None and length.isdigit() and len(length) <= 15:
            # A body that is too large is refused by its declared length, without any of it.
            size = int(length)
            self._end = self._body + (size if size <= self._limits.body else 0)
        else:
            self._end = self._body

    def _walk(self, body: int, chunk: int) -> None:
        """Go on from chunk to chunk as far as they have arrived."""
        while self._end is None:
            line_end = self._data.find(b"\r\n", chunk)
            if line_end < 0:
                if len(self._data) - chunk > _CHUNK_LINE:
                    self._end = chunk
                break
            size = _CHUNK_SIZE.fullmatch(self._data[chunk:line_end])
            if size is None:
                self._end = line_end
            elif int(size[1], 16) == 0:
                self._end = self._after_trailers(line_end)
                break
            else:
                chunk = line_end + int(size[1], 16) + 4
        self._chunk = chunk
        # The sizes of chunks may take bytes too.
        most = self._limits.body + self._limits.head
        if self._end is None and max(chunk, len(self._data)) - body > most:
            raise Refusal(413)

    def _after_trailers(self, line_end: int) -> int | None:
        """Where the request ends whose last chunk's size stands before ``line_end``."""
        if self._data[line_end + 2 : line_end + 4] == b"\r\n":
            return line_end + 4
        blank = self._data.find(b"\r\n\r\n", line_end)
        return None if blank < 0 else blank + 4
