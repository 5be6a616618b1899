"""What every mechanism offers, and what those share whose report is a record."""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..channels import Channel
from ..errors import ParameterError, ReportError
from ..sampling import (
    MAX_VECTOR_OUTCOMES,
    DrawBelow,
    RandBelow,
    draw_below_from_os,
    simulated_draw_below,
    simulated_randbelow,
)
from ..schema import Schema

#: Condition number above which reconstruction is hopeless: an error of one report in a
#: million could become an error of everything.
MAX_CONDITION = 1e6


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """How a mechanism is written in files and messages; each mechanism declares its own."""

    def mechanism(self, schema: Schema) -> "Mechanism":
        """The mechanism that these parameters stand for.

        Raises
        ------
        ParameterError
            For a parameter outside its range.
        """
        raise TypeError("only the parameters of a kind of mechanism can make one")


@dataclass(frozen=True)
class ReportShape:
    """What a report looks like: a name and a number of values for each of its columns."""

    names: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of different reports."""
        return math.prod(self.shape)

    def check(self, values: Sequence[int], index: int | None = None) -> tuple[int, ...]:
        """The values of a report, each inside its column.

        Raises
        ------
        ReportError
            Naming the report's index and the column.
        """
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
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """Narrowest big-endian unsigned integer that holds every value of a report."""
        largest = max(self.shape) - 1
        return np.dtype("u1") if largest < 2**8 else np.dtype(">u2" if largest < 2**16 else ">u4")

    @property
    def packed_size(self) -> int:
        """Bytes of a packed report, which are as many for every report."""
        return self.dtype.itemsize * len(self.shape)

    def pack(self, values: Sequence[int]) -> bytes:
        """The values of a checked report, each in as many bytes."""
        return np.array(values, dtype=self.dtype).tobytes()

    def unpack(self, packed: bytes) -> tuple[int, ...]:
        """The values of a packed report, not checked against the columns."""
        return tuple(np.frombuffer(packed, dtype=self.dtype).tolist())


class Mechanism(ABC):
    """A way to perturb one record, and what it does to a whole population of them.

    Every mechanism states its sampler twice, once for one record from ``randbelow`` and once for
    many records from arrays, and its channel; tests hold the three against each other. What the
    samplers prepare once for a schema is their *plan*, of a type of their own.
    """

    kind: ClassVar[str]

    def __init__(self) -> None:
        self._plans: dict[Schema, Any] = {}

    def __repr__(self) -> str:
        return f"<{self.parameters()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.parameters() == other.parameters()

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self.parameters(), order="sorted"))

    @abstractmethod
    def parameters(self) -> Parameters:
        """The mechanism as files and messages write it, every parameter resolved."""

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """Make sure that this mechanism can serve the schema.

        Raises
        ------
        ParameterError
            If not, naming the parameter or attribute.
        """

    @abstractmethod
    def amplification(self, schema: Schema, public: Collection[str] = ()) -> Fraction | float:
        """Amplification γ of a whole report (EGS; FRAPP eq. 2).

        Parameters
        ----------
        schema : Schema
        public : collection of str
            Attributes taken as known: only records that agree on them are compared.

        Returns
        -------
        Fraction, or ``math.inf`` where a report can rule a record out.
        """

    @abstractmethod
    def report_shape(self, schema: Schema) -> ReportShape:
        """What a report looks like."""

    @abstractmethod
    def report_columns(self, schema: Schema, attributes: Sequence[str]) -> tuple[int, ...]:
        """The columns of a report that :meth:`channel` of these attributes speaks of."""

    @abstractmethod
    def decode_report(self, schema: Schema, values: Sequence[int]) -> dict[str, str]:
        """A report in words, column by column."""

    @abstractmethod
    def channel(self, schema: Schema, attributes: Sequence[str]) -> Channel:
        """Channel from the true table of these attributes to their report columns."""

    @abstractmethod
    def perturb(
        self, schema: Schema, codes: Sequence[int], randbelow: RandBelow = secrets.randbelow
    ) -> tuple[int, ...]:
        """Perturb one record, exactly.

        Parameters
        ----------
        schema : Schema
        codes : sequence of int, length M
            The true record.
        randbelow : callable
            Source of randomness; the operating system's by default.

        Raises
        ------
        RecordError
            If the record does not fit the schema; the message never holds an answer.
        """

    def perturb_many(
        self,
        schema: Schema,
        codes: NDArray[np.integer],
        rng: np.random.Generator | None = None,
    ) -> NDArray[np.int64]:
        """Perturb N records, exactly, each with randomness of its own.

        Parameters
        ----------
        schema : Schema
        codes : ndarray of int, shape (N, M)
            The true records.
        rng : numpy.random.Generator, optional
            A seeded generator for simulation; the operating system's randomness by default.

        Returns
        -------
        ndarray of int64, shape (N, number of report columns)
        """
        records = schema.check_many(codes)
        plan = self._plan(schema)
        if self._outcomes(plan) <= MAX_VECTOR_OUTCOMES:
            draw = draw_below_from_os if rng is None else simulated_draw_below(rng)
            return self._perturb_array(plan, records, draw)
        randbelow = secrets.randbelow if rng is None else simulated_randbelow(rng)
        reports = [self.perturb(schema, record, randbelow) for record in records.tolist()]
        columns = len(self.report_shape(schema).shape)
        return np.array(reports, dtype=np.int64).reshape(len(records), columns)

    def _plan(self, schema: Schema) -> Any:
        """What the samplers need of a schema, prepared and checked at its first use."""
        plan = self._plans.get(schema)
        if plan is None:
            self.check(schema)
            plan = self._plans[schema] = self._prepare(schema)
        return plan

    @abstractmethod
    def _prepare(self, schema: Schema) -> Any:
        """Prepare the samplers for a schema already checked."""

    @abstractmethod
    def _outcomes(self, plan: Any) -> int:
        """Largest number of equally likely outcomes of one draw of `_perturb_array`."""

    @abstractmethod
    def _perturb_array(
        self, plan: Any, records: NDArray[np.int64], draw: DrawBelow
    ) -> NDArray[np.int64]:
        """Vectorized sampler for records already checked."""


class RecordMechanism(Mechanism):
    """A mechanism whose report is itself a record of the schema."""

    def report_shape(self, schema: Schema) -> ReportShape:
        return ReportShape(schema.names, schema.shape)

    def report_columns(self, schema: Schema, attributes: Sequence[str]) -> tuple[int, ...]:
        return schema.positions(attributes)

    def decode_report(self, schema: Schema, values: Sequence[int]) -> dict[str, str]:
        return schema.decode(values)


def check_public(public: Collection[str]) -> None:
    """Refuse a single name given as text, in which other names could be found.

    Raises
    ------
    ParameterError
    """
    if isinstance(public, str):
        raise ParameterError("public: expected a list of names", field="public")
