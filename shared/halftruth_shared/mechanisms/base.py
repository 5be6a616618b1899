"""Mechanisms, and the perturbation that a mechanism makes of the records of one schema."""

import math
import secrets
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..attribute import Attribute
from ..channels import Channel, Operator
from ..errors import ParameterError, SchemaError, listing
from ..rational import Rational
from ..sampling import (
    MAX_VECTOR_OUTCOMES,
    RandBelow,
    Sampler,
    draw_below_from_os,
    simulated_draw_below,
    simulated_randbelow,
)
from ..schema import Question, Schema
from .report_space import ReportSpace

T = TypeVar("T")

#: Who draws a report.
Randomizer = Literal["device", "respondent"]

#: Condition number above which reconstruction is hopeless: an error of one report in a
#: million could become an error of everything.
MAX_CONDITION = 1e6

#: The column of a report that is the symbol of a view.
SYMBOL = "(symbol)"


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Parameters of a mechanism in files and messages; each mechanism declares its own."""

    def mechanism(self, schema: Schema) -> "Mechanism":
        """Make the mechanism with these parameters.

        Raises
        ------
        ParameterError
            For a parameter outside its range.
        """
        raise TypeError("only the parameters of a kind of mechanism can make one")


@dataclass(frozen=True)
class Provable:
    """Answer that a report can prove, declared as not sensitive.

    Attributes
    ----------
    other : str
        The only other answer to the question, which no report proves.
    amplification : Fraction, or ``math.inf``
        Largest likelihood ratio of a report, of the other answer over this one.
    """

    answer: str
    other: str
    amplification: Fraction | float


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A group of questions that a report can be about.

    Attributes
    ----------
    positions : tuple of int
        Of its attributes in the schema, in increasing order.
    shape : tuple of int
        Their numbers of categories; cells are numbered in row-major order.
    weight : int
        Its probability of being drawn, out of the sum over all views.
    channel : Operator
        From the cells of its table to reports.
    first : int
        Its first symbol; the symbols of all views are numbered one after the other.
    """

    positions: tuple[int, ...]
    shape: tuple[int, ...]
    weight: int
    channel: Operator
    first: int = 0

    def amplification(self, varying: Collection[int]) -> Fraction | float:
        """Return the amplification between records that differ at some positions alone."""
        return self.channel.amplification(
            [axis for axis, j in enumerate(self.positions) if j in varying]
        )


class Mechanism(ABC):
    """Parameters of a random perturbation, which :meth:`bind` applies to a schema.

    Attributes
    ----------
    kind : str
        Its name in files and messages.
    written_as : type of Parameters
        How files and messages write it; the tag is `kind`.
    randomized_by : {"device", "respondent"}
        Who draws reports: a program, or people by dice and the like. Nothing asks for true answers
        to perturb where they did that.
    """

    kind: ClassVar[str]
    written_as: ClassVar[type[Parameters]]
    randomized_by: Randomizer = "device"

    def __repr__(self) -> str:
        return f"<{self.parameters()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.parameters() == other.parameters()

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self.parameters(), order="sorted"))

    @abstractmethod
    def parameters(self) -> Parameters:
        """Return its parameters for files and messages, all resolved."""

    @abstractmethod
    def bind(self, schema: Schema) -> "Perturbation":
        """Return the perturbation of records of a schema.

        Raises
        ------
        ParameterError
            If this mechanism cannot serve the schema, naming the parameter or attribute.
        """

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "Mechanism | None":
        """Return the mechanism of this kind that a planner proposes for an amplification.

        Parameters
        ----------
        gamma : Fraction, int or str
            Amplification of the attributes that are not public, above 1.
        public : collection of str
            Attributes that may be sent unperturbed.
        max_length : int, optional
            Most attributes of the tables that are wanted; all by default.

        Returns
        -------
        Mechanism or None
            None if this kind proposes none. It may be unable to serve the schema.

        Raises
        ------
        ParameterError
            If there is none of this amplification.
        """
        return None

    def provable(self, schema: Schema) -> dict[str, Provable]:
        """Return the answer to each attribute that a report can prove, but never the other."""
        return {}

    def protected_answers(self, attribute: Attribute) -> list[int]:
        """Return the codes of the answers that bounds are of: those that respondents randomize."""
        return list(range(len(attribute.categories)))

    def in_words(self, schema: Schema) -> list[str]:
        """Return sentences for respondents about the named designs."""
        return []


class Perturbation:
    """A mechanism bound to the schema of a survey: what its reports are, and what they disclose.

    A view is drawn with its probability, independently of the record, and the record's cell in
    the table of its attributes is reported through its channel. A mechanism whose report is itself
    a record has one view, of all attributes.

    Parameters
    ----------
    views : sequence of View
        In the order of their symbols.
    sampler : Sampler
        The same perturbation as an exact draw, for one record and for many.
    unperturbed_columns : sequence of int
        Positions of attributes that every report states besides its symbol.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        schema: Schema,
        views: Sequence[View],
        sampler: Sampler,
        unperturbed_columns: Sequence[int] = (),
    ) -> None:
        self.mechanism, self.schema, self.views = mechanism, schema, tuple(views)
        self.unperturbed_columns = tuple(unperturbed_columns)
        self.sampler = sampler
        self._derived: dict[Callable[..., Any], Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process binds it again: what was derived of it here can be large.
        return self.mechanism.bind, (self.schema,)

    def derive(self, compute: Callable[["Perturbation"], T]) -> T:
        """Return what a function computes of this perturbation, computed once."""
        if compute not in self._derived:
            self._derived[compute] = compute(self)
        derived: T = self._derived[compute]
        return derived

    @property
    def reports_records(self) -> bool:
        """True if a report is itself a record, with a column for each attribute."""
        return isinstance(self.views[0].channel, Channel)

    def channel(self, attributes: Sequence[str]) -> Channel | None:
        """Return the channel of the table of some attributes, None where reports are no records."""
        whole = self.views[0].channel
        return (
            whole.margin(self.schema.positions(attributes)) if isinstance(whole, Channel) else None
        )

    @cached_property
    def space(self) -> ReportSpace:
        """Names and sizes of the columns of a report."""
        schema, last = self.schema, self.views[-1]
        if self.reports_records:
            return ReportSpace(schema.names, schema.shape)
        names = [schema.names[j] for j in self.unperturbed_columns]
        sizes = [schema.shape[j] for j in self.unperturbed_columns]
        return ReportSpace((*names, SYMBOL), (*sizes, last.first + last.channel.reports))

    def report(
        self, record: Sequence[int], randbelow: RandBelow = secrets.randbelow
    ) -> tuple[int, ...]:
        """Perturb one record, exactly.

        Parameters
        ----------
        record : sequence of int, length M
            The true record.
        randbelow : callable
            Source of randomness; the operating system's by default.

        Raises
        ------
        RecordError
            If the record does not fit the schema; the message never holds an answer.
        """
        return self.sampler.report(self.schema.check(record), randbelow)

    def reports(
        self, records: NDArray[np.integer], rng: np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Perturb N records, exactly, each with randomness of its own.

        Parameters
        ----------
        records : ndarray of int, shape (N, M)
            The true records.
        rng : numpy.random.Generator, optional
            A seeded generator for simulation; the operating system's randomness by default.

        Returns
        -------
        ndarray of int64, shape (N, number of report columns)
        """
        checked, sampler = self.schema.check_many(records), self.sampler
        if sampler.outcomes <= MAX_VECTOR_OUTCOMES:
            draw = draw_below_from_os if rng is None else simulated_draw_below(rng)
            return sampler.reports(checked, draw)
        randbelow = secrets.randbelow if rng is None else simulated_randbelow(rng)
        reports = [sampler.report(record, randbelow) for record in checked.tolist()]
        return np.array(reports, dtype=np.int64).reshape(len(checked), len(self.space.shape))

    def decode(self, values: Sequence[int]) -> dict[str, str]:
        """Describe a report column by column: its answers, and which symbol about which view."""
        if self.reports_records:
            return self.schema.decode(values)
        checked = self.space.check(values)
        decoded = {
            self.schema.names[j]: self.schema.attributes[j].categories[code]
            for j, code in zip(self.unperturbed_columns, checked[:-1], strict=True)
        }
        names = [self.schema.names[j] for j in self._view_of(checked).positions]
        about = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return {**decoded, SYMBOL: f"code {checked[-1]} about {about}"}

    def reported(self, values: Sequence[int]) -> frozenset[str]:
        """Return the attributes that a report is about."""
        positions = (*self.unperturbed_columns, *self._view_of(values).positions)
        return frozenset([self.schema.names[j] for j in positions])

    def _view_of(self, values: Sequence[int]) -> View:
        if self.reports_records:
            return self.views[0]
        return self.views[bisect_right(self.views, values[-1], key=lambda view: view.first) - 1]

    def amplification(
        self,
        question: Question | None = None,
        *,
        public: Collection[str] = (),
        reported: Collection[str] | None = None,
    ) -> Fraction | float:
        """Return the amplification γ of a report (EGS; FRAPP eq. 2).

        Parameters
        ----------
        question : Question, optional
            By default any two records are compared. Of a question, only feasible records that
            differ in the answer to it, and in what is asked after it: its amplification to
            someone who already knows all other answers. All options of a question with several
            answers are one question.
        public : collection of str
            Attributes taken as known: only records that agree on them are compared.
        reported : collection of str, optional
            Attributes that a report is about; all by default.

        Returns
        -------
        Fraction, or ``math.inf`` where a report can rule a record out.
        """
        if isinstance(public, str):
            # A text may contain other names.
            raise ParameterError("public: expected a list of names", field="public")
        varying = set(self.schema.names)
        if question is not None:
            varying = set()
            for attribute in question.attributes:
                varying |= self.schema.dependents(attribute.name, public)
        if reported is not None:
            varying.intersection_update(reported)
        varying.difference_update(public)
        positions = {j for j, name in enumerate(self.schema.names) if name in varying}
        if not positions.isdisjoint(self.unperturbed_columns):
            return math.inf
        return max(view.amplification(positions) for view in self._bounding)

    @cached_property
    def _bounding(self) -> tuple[View, ...]:
        """The views among which one has the largest amplification, whatever is public.

        Where channels change all attributes of a view at once, one for each attribute is enough.
        """
        if any(view.channel.factors is not None for view in self.views[:1]):
            return self.views
        best: dict[int, tuple[Fraction | float, View]] = {}
        for view in self.views:
            gamma = view.channel.amplification(range(len(view.positions)))
            for j in view.positions:
                if j not in best or gamma > best[j][0]:
                    best[j] = gamma, view
        return tuple(dict.fromkeys(view for _, view in best.values()))

    @cached_property
    def spent_amplification(self) -> Fraction | float:
        """The amplification that one report spends of any total.

        Everything that is perturbed counts, whether or not it is declared sensitive, and of an
        answer that a report can prove the other answer counts. Promise, ledger and audit all use
        this number. It is infinite where a report can reveal a sensitive answer.
        """
        whole = self.amplification(public=self.unperturbed.union(self.provable))
        return whole * math.prod([proof.amplification for proof in self.provable.values()])

    def reveals(self, name: str) -> bool:
        """Return true if a report can rule out an answer, where all others are known."""
        return self.amplification(public=set(self.schema.names) - {name}) == math.inf

    @cached_property
    def provable(self) -> dict[str, Provable]:
        """The answer to each attribute that a report can prove, but never the other."""
        return self.mechanism.provable(self.schema)

    @cached_property
    def unperturbed(self) -> frozenset[str]:
        """The attributes that are not sensitive and whose every answer reports can prove."""
        return frozenset(
            attribute.name
            for attribute in self.schema.attributes
            if not attribute.sensitive
            and attribute.name not in self.provable
            and self.reveals(attribute.name)
        )

    def check_conditions(self) -> None:
        """Check that no answer that a report can reveal depends on a protected one.

        Respondents who are asked a question gave the answers in its condition. A report reveals
        whether an unprotected question was asked, and thus the answers to the questions in its
        condition; these have to be unprotected, too, and so on.

        Raises
        ------
        SchemaError
            Naming both attributes.
        """
        for attribute in self.schema.attributes:
            if not attribute.ask_if or not self.reveals(attribute.name):
                continue
            for name in attribute.ask_if:
                if name not in self.unperturbed:
                    raise SchemaError(
                        f"attribute '{attribute.name}': ask_if: a report can show whether it was"
                        f" asked, and so reveal the protected answer to '{name}'; expected"
                        f" '{attribute.name}' to be perturbed or asked of everybody, or '{name}' to"
                        " be sent unperturbed (sensitive = false)",
                        field="ask_if",
                    )


def of_records(
    mechanism: Mechanism, schema: Schema, channel: Channel, sampler: Sampler
) -> Perturbation:
    """Return the perturbation of a mechanism whose report is itself a record."""
    view = View(tuple(range(len(schema.names))), schema.shape, 1, channel)
    return Perturbation(mechanism, schema, [view], sampler)


def check_names(schema: Schema, entries: Mapping[str, object], field: str) -> None:
    """Raise ParameterError unless `entries` has one entry for each attribute and no other."""
    for name in entries:
        if name not in schema.names:
            raise ParameterError(
                f"{field}: unknown attribute '{name}'; the survey has: {listing(schema.names)}",
                field=f"{field}.{name}",
            )
    for name in schema.names:
        if name not in entries:
            raise ParameterError(f"{field}: attribute '{name}' is missing", field=f"{field}.{name}")


def check_condition(condition: float, field: str) -> None:
    """Raise ParameterError for a condition number above `MAX_CONDITION`."""
    if not condition <= MAX_CONDITION:
        raise ParameterError(
            f"{field}: the matrix is nearly singular, its condition number is {condition:.3g};"
            f" expected at most {MAX_CONDITION:.0e}",
            field=field,
        )
