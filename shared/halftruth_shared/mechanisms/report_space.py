"""Columns of a report, and the packed form of its values."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import ReportError


@dataclass(frozen=True)
class ReportSpace:
    """Name and number of values of each column of a report.

    The report of some mechanisms is a record, with a column for each attribute; other mechanisms
    report a symbol from an alphabet.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of possible reports."""
        return math.prod(self.shape)

    def check(self, values: Sequence[int], index: int | None = None) -> tuple[int, ...]:
        """Return the values of a report, checked; ReportError names its index and the column."""
        where = "report" if index is None else f"report {index}"
        if len(values) != len(self.shape):
            raise ReportError(
                f"{where}: expected {len(self.shape)} values, one for each of the survey's columns",
                field="values",
                index=index,
            )
        for name, value, size in zip(self.names, values, self.shape, strict=True):
            if type(value) is not int or not 0 <= value < size:
                raise ReportError(
                    f"{where}: '{name}': expected an integer from 0 to {size - 1}",
                    field=name,
                    index=index,
                )
        return tuple(values)

    @cached_property
    def dtype(self) -> str:
        """Narrowest big-endian unsigned integer that holds every value, in NumPy's notation."""
        largest = max(self.shape) - 1
        return "u1" if largest < 2**8 else ">u2" if largest < 2**16 else ">u4"

    @cached_property
    def _packing(self) -> str:
        """The same integers in the notation of `struct`, as many as there are columns."""
        code = {"u1": "B", ">u2": "H", ">u4": "I"}[self.dtype]
        return f">{len(self.shape)}{code}"

    @property
    def packed_size(self) -> int:
        """Number of bytes of every packed report."""
        return struct.calcsize(self._packing)

    def pack(self, values: Sequence[int]) -> bytes:
        """Pack the values of a checked report."""
        return struct.pack(self._packing, *values)

    def unpack(self, packed: bytes) -> tuple[int, ...]:
        """Unpack the values of a report, not checked against the columns."""
        return struct.unpack(self._packing, packed)
