"""Base class of mechanisms, and a mechanism bound to the schema of a survey."""

import math
import secrets
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import msgspec

from ..attribute import Attribute
from ..deadlines import check_deadline
from ..errors import ParameterError, SchemaError, listing
from ..extras import import_extra
from ..rational import Rational
from ..responses import Columns, RandBelow, Response
from ..schema import Question, Schema
from ..set_responses import SetResponse
from ..subset_responses import SubsetResponse
from .report_space import ReportSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..channels import Channel, Operator

T = TypeVar("T")

#: Who draws the report: a program on the respondent's device, or the respondent.
Randomizer = Literal["device", "respondent"]

#: Largest accepted condition number of a matrix. Beyond it, an error in one report of a million
#: could change the whole estimate.
MAX_CONDITION = 1e6

#: Name of the report column that holds the symbol of the view.
SYMBOL = "(symbol)"


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Parameters of a mechanism in files and messages; each mechanism declares its own."""

    def mechanism(self, schema: Schema) -> "Mechanism":
        """Make the mechanism; ParameterError for a parameter outside its range."""
        raise TypeError("only the parameters of a kind of mechanism can make one")

    def mechanism_by_answer(self, schema: Schema) -> "Mechanism":
        """Make the mechanism of a survey that promises by answer: γ is that of each answer."""
        return self.mechanism(schema)


@dataclass(frozen=True)
class ProvableAnswer:
    """Answer that a report can prove, and that the survey declares not sensitive.

    No report proves the `other` answer to the question; `amplification` is the largest likelihood
    ratio of a report for it over this one.
    """

    answer: str
    other: str
    amplification: Fraction | float


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """Group of questions that one report is about.

    Attributes
    ----------
    positions, shape : tuple of int
        Positions of its attributes in the schema, in increasing order, and their numbers of
        categories, or of groups of categories; cells are numbered in row-major order.
    weight : int
        Its probability of being drawn is this weight, divided by the sum over all views.
    response : Response
        Random response to a cell of its table.
    first : int
        Its first symbol; the symbols of all views are numbered consecutively.
    collapsed : frozenset of int
        Positions of its attributes of which it has groups of answers instead of answers.
    options : tuple of int
        Positions of the options of the question with several answers that it asks as one set. The
        response then takes the cell of its other attributes, and the code of each option.
    """

    positions: tuple[int, ...]
    shape: tuple[int, ...]
    weight: int
    response: Response
    first: int = 0
    collapsed: frozenset[int] = frozenset()
    options: tuple[int, ...] = ()
    _channel: "Operator | None" = field(default=None, init=False, repr=False)

    @property
    def others(self) -> tuple[int, ...]:
        """Positions of its attributes that are not options of a set."""
        return tuple([j for j in self.positions if j not in self.options])

    @property
    def symbols(self) -> int:
        """Number of its symbols, where a report is one."""
        assert isinstance(self.response, SubsetResponse | SetResponse)  # noqa: S101
        return self.response.symbols

    def codes(self, record: Sequence[int], attributes: Sequence[Attribute]) -> tuple[int, ...]:
        """Return what the response takes: the cell of a record, and the codes of a set."""
        cell = 0
        for j, size in zip(self.positions, self.shape, strict=True):
            if j not in self.options:
                grouped = j in self.collapsed
                code = attributes[j].groups.codes[record[j]] if grouped else record[j]
                cell = cell * size + code
        return (cell, *[record[j] for j in self.options])

    @property
    def channel(self) -> "Operator":
        """Channel from the cells of its table to reports; requires NumPy."""
        known = self._channel
        if known is None:
            channels = import_extra("halftruth_shared.channels", "a channel")
            known = channels.channel_of(self.response)
            object.__setattr__(self, "_channel", known)
        return known

    def amplification(self, varying: Collection[int]) -> Fraction | float:
        """Return the amplification between records that differ only at some positions."""
        return self.response.amplification(
            [axis for axis, j in enumerate(self.positions) if j in varying]
        )


class Mechanism(ABC):
    """Parameters of a random perturbation; :meth:`bind` applies them to a schema.

    Attributes
    ----------
    kind : str
        Its name in files and messages.
    parameters_type : type of Parameters
        Its parameters in files and messages, tagged with `kind`.
    randomized_by : {"device", "respondent"}
        Who draws reports: a program, or the respondents themselves, for example by dice. If they
        do, no program asks for their true answers.
    is_by_attribute : bool
        Whether attributes are perturbed independently of each other, so that a survey may promise
        by answer.
    """

    kind: ClassVar[str]
    parameters_type: ClassVar[type[Parameters]]
    is_by_attribute: ClassVar[bool] = False
    randomized_by: Randomizer = "device"

    def __repr__(self) -> str:
        return f"<{self.parameters()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.parameters() == other.parameters()

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self.parameters(), order="sorted"))

    @abstractmethod
    def parameters(self) -> Parameters:
        """Return its parameters for files and messages, with all defaults filled in."""

    @abstractmethod
    def bind(self, schema: Schema) -> "Perturbation":
        """Return the perturbation of records of a schema.

        Raises
        ------
        ParameterError
            If the mechanism cannot be used with this schema; names the parameter or attribute.
        """

    def wanted(self, schema: Schema) -> Iterator[tuple[str, ...]]:
        """Yield the attributes of each wanted table, the outcome first; none by default."""
        return iter(())

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "Mechanism | None":
        """Return a mechanism of this kind with the given amplification, for planners to compare.

        Parameters
        ----------
        gamma : Fraction, int or str
            Amplification of the attributes that are not public, above 1.
        public : collection of str
            Attributes that may be sent unperturbed.
        max_length : int, optional
            Largest number of attributes of the requested tables; all by default.

        Returns
        -------
        Mechanism or None
            None if planners do not propose this kind. Binding the mechanism can still fail.

        Raises
        ------
        ParameterError
            If no mechanism of this kind has this amplification.
        """
        return None

    def with_amplification(
        self, schema: Schema, gamma: Rational, max_length: int | None = None
    ) -> "Mechanism | None":
        """Return `for_amplification` for what this mechanism is designed for, if that is known.

        Parameters are those of `for_amplification`; `max_length` is of one without wanted tables.
        """
        return self.for_amplification(schema, gamma, (), max_length)

    def provable(self, schema: Schema) -> dict[str, ProvableAnswer]:
        """Return, by attribute, the answers that a report can prove."""
        return {}

    def protected_answers(self, attribute: Attribute) -> list[int]:
        """Return the codes of the randomized answers, to which privacy bounds apply."""
        return list(range(len(attribute.categories)))

    def in_words(self, schema: Schema) -> list[str]:
        """Return sentences for respondents about the named designs."""
        return []


class Perturbation:
    """A mechanism bound to the schema of a survey.

    It draws a view independently of the record, and reports the record's cell in the table of that
    view by the response of the view. If a report is itself a record, there is a single view of all
    attributes, which is not drawn.

    Parameters
    ----------
    views : sequence of View
        In the order of their symbols.
    unperturbed_columns : sequence of int
        Positions of the attributes that every report states unperturbed, besides its symbol.
    by_ticket : bool
        Whether nobody chooses the view of a report, since it follows from a ticket.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        schema: Schema,
        views: Sequence[View],
        unperturbed_columns: Sequence[int] = (),
        *,
        by_ticket: bool = False,
    ) -> None:
        self.mechanism, self.schema, self.views = mechanism, schema, tuple(views)
        self.unperturbed_columns = tuple(unperturbed_columns)
        self.by_ticket = by_ticket
        self._derived: dict[Callable[..., Any], Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process binds the mechanism again, since cached derived values can be large.
        return _bound, (self.mechanism, self.schema, self.by_ticket)

    def with_tickets(self) -> "Perturbation":
        """Return this perturbation, of a survey whose views follow from tickets."""
        if self.by_ticket:
            return self
        return Perturbation(
            *(self.mechanism, self.schema, self.views, self.unperturbed_columns), by_ticket=True
        )

    def derive(self, compute: Callable[["Perturbation"], T]) -> T:
        """Return the value of a function of this perturbation, cached after the first call."""
        if compute not in self._derived:
            self._derived[compute] = compute(self)
        derived: T = self._derived[compute]
        return derived

    @property
    def reports_records(self) -> bool:
        """True if a report is itself a record, with a column for each attribute."""
        return not isinstance(self.views[0].response, SubsetResponse | SetResponse)

    def channel(self, attributes: Sequence[str]) -> "Channel | None":
        """Return the channel of the table of some attributes; None if reports are not records."""
        if not self.reports_records:
            return None
        whole: Any = self.views[0].channel
        channel: Channel = whole.margin(self.schema.positions(attributes))
        return channel

    @cached_property
    def space(self) -> ReportSpace:
        """Names and sizes of the columns of a report."""
        schema, last = self.schema, self.views[-1]
        if self.reports_records:
            return ReportSpace(schema.names, schema.shape)
        names = [schema.names[j] for j in self.unperturbed_columns]
        sizes = [schema.shape[j] for j in self.unperturbed_columns]
        return ReportSpace((*names, SYMBOL), (*sizes, last.first + last.symbols))

    def report(
        self,
        record: Sequence[int],
        randbelow: RandBelow = secrets.randbelow,
        view: int | None = None,
    ) -> tuple[int, ...]:
        """Perturb one record, with exact sampling.

        Parameters
        ----------
        record : sequence of int, length M
            The true record.
        randbelow : callable
            Source of randomness; the operating system's by default.
        view : int, optional
            Number of the view, if a ticket has drawn it; drawn here by default.

        Raises
        ------
        RecordError
            If the record does not fit the schema; the message never contains an answer.
        """
        return self._report(self.schema.check(record), randbelow, view)

    def reports(
        self,
        records: "NDArray[np.integer] | Sequence[Sequence[int]]",
        rng: "np.random.Generator | None" = None,
    ) -> "NDArray[np.int64]":
        """Perturb N records independently, with exact sampling; requires NumPy.

        Parameters
        ----------
        records : ndarray of int, shape (N, M)
            The true records.
        rng : numpy.random.Generator, optional
            A seeded generator for simulation; the operating system's randomness by default.

        Returns
        -------
        ndarray of int64, shape (N, number of report columns)

        Raises
        ------
        RecordError
            If a record does not fit the schema; the message never contains an answer.
        MissingExtra
            If NumPy is not installed.
        """
        vectorized = import_extra("halftruth_shared.mechanisms.vectorized", "an array of records")
        reports: NDArray[np.int64] = vectorized.draw_reports(self, records, rng)
        return reports

    def _report(
        self, record: Sequence[int], randbelow: RandBelow, number: int | None = None
    ) -> tuple[int, ...]:
        if self.reports_records:
            return self.views[0].response.draw(record, randbelow)
        if number is None:
            drawn = randbelow(self.cumulative_weights[-1])
            number = bisect_right(self.cumulative_weights, drawn)
        view = self.views[number]
        [symbol] = view.response.draw(view.codes(record, self.schema.attributes), randbelow)
        return (*[record[j] for j in self.unperturbed_columns], view.first + symbol)

    @cached_property
    def cumulative_weights(self) -> list[int]:
        """Cumulative weights of the views."""
        return list(accumulate(view.weight for view in self.views))

    def decode(self, values: Sequence[int]) -> dict[str, str]:
        """Describe a report by column: its answers, or its symbol and the attributes asked."""
        if self.reports_records:
            return self.schema.decode(values)
        checked = self.space.check(values)
        decoded = {
            self.schema.names[j]: self.schema.attributes[j].categories[code]
            for j, code in zip(self.unperturbed_columns, checked[:-1], strict=True)
        }
        view = self._view_of(checked)
        names = [
            f"{self.schema.names[j]}{' (group)' if j in view.collapsed else ''}"
            for j in view.others
        ]
        if view.options:
            pairs = isinstance(view.response, SetResponse) and view.response.pairs
            names.append(f"{self.schema.set_of[view.options[0]]}{' (pairs)' if pairs else ''}")
        about = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return {**decoded, SYMBOL: f"code {checked[-1]} about {about}"}

    def reported(self, values: Sequence[int]) -> frozenset[str]:
        """Return the attributes that a report is about."""
        positions = (*self.unperturbed_columns, *self._view_of(values).positions)
        return frozenset([self.schema.names[j] for j in positions])

    def _view_of(self, values: Sequence[int]) -> View:
        return self.views[self.view_number(values)]

    def view_number(self, values: Sequence[int]) -> int:
        """Return the number of the view that a report is about."""
        if self.reports_records:
            return 0
        return bisect_right(self._first_symbols, values[-1]) - 1

    @cached_property
    def _first_symbols(self) -> list[int]:
        return [view.first for view in self.views]

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
            Compare only feasible records that differ in the answer to this question and in the
            questions asked after it. This is its amplification to someone who already knows all
            other answers. All options of a multiple-response question are one question. By
            default, compare any two records.
        public : collection of str
            Attributes assumed to be known; compared records agree on them.
        reported : collection of str, optional
            Attributes that a report is about; all by default.

        Returns
        -------
        Fraction, or ``math.inf`` where a report can rule a record out.
        """
        check_deadline()
        if isinstance(public, str):
            # `name in "text"` would match parts of other names.
            raise ParameterError("public: expected a list of names", field="public")
        names = self.schema.names
        varying = set(names).difference(public)
        if question is not None:
            varying = self.schema.varying_with(question, public)
        if reported is not None:
            varying.intersection_update(reported)
        positions = {j for j, name in enumerate(names) if name in varying}
        if not positions.isdisjoint(self.unperturbed_columns):
            return math.inf
        return max(view.amplification(positions) for view in self._bounding_views)

    @cached_property
    def _bounding_views(self) -> tuple[View, ...]:
        """Views that suffice to find the largest amplification, for any set of public attributes.

        Unless attributes are perturbed independently, one view per attribute suffices.
        """
        if isinstance(self.views[0].response, Columns):
            return self.views
        best: dict[int, tuple[Fraction | float, View]] = {}
        for view in self.views:
            gamma = view.response.amplification(range(len(view.positions)))
            for j in view.positions:
                if j not in best or gamma > best[j][0]:
                    best[j] = gamma, view
        return tuple(dict.fromkeys(view for _, view in best.values()))

    @cached_property
    def spent_amplification(self) -> Fraction | float:
        """Amplification that one report spends of any privacy budget.

        All perturbed attributes count, whether or not they are declared sensitive. For an attribute
        with a provable answer, the other answer counts. The promise to respondents, the ledger and
        the audit all use this number. It is infinite if a report can reveal a sensitive answer.
        """
        whole = self.amplification(public=self.unperturbed.union(self.provable))
        return whole * math.prod([proof.amplification for proof in self.provable.values()])

    def single_amplifications(
        self, public: Collection[str] | None = None, reported: Collection[str] | None = None
    ) -> dict[str, Fraction | float]:
        """Return the amplification of each question against someone who knows all other answers.

        All options of a multiple-response question are one question, and so are the questions asked
        after it. For a provable answer, the other answer counts. Questions that are sent
        unperturbed are left out.

        Parameters
        ----------
        public : collection of str, optional
            Attributes that may be unprotected; by default those that are sent unperturbed, and
            those with a provable answer.
        reported : collection of str, optional
            Attributes that a report is about; all by default.
        """
        provable = self.provable
        public = self.unperturbed.union(provable) if public is None else frozenset(public)
        found = {}
        for question in self.schema.questions:
            names = {attribute.name for attribute in question.attributes}
            if names <= public.difference(provable):
                continue
            proofs = [provable[name].amplification for name in names & provable.keys() & public]
            others = self.amplification(question, public=public, reported=reported)
            found[question.name] = others * math.prod(proofs)
        return found

    def accepted_amplification(
        self, unprotected: Collection[str], by_answer: bool = False
    ) -> Fraction | float:
        """Return the amplification that a caller accepts if some attributes may be unprotected.

        It decides whether a survey is accepted, while `spent_amplification` is the amplification
        that a report spends of a budget. An allowed attribute that is perturbed and has a condition
        counts, since a report about it informs about its condition. If an attribute has a provable
        answer, only that answer may be unprotected. With `by_answer`, it is that of the least
        protected question, against someone who knows all other answers.
        """
        allowed = {
            attribute.name
            for attribute in self.schema.attributes
            if attribute.name in unprotected
            and (not attribute.ask_if or self.reveals(attribute.name))
        }
        if by_answer:
            return max(self.single_amplifications(allowed).values(), default=Fraction(1))
        proofs = self.provable.items()
        others = [proof.amplification for name, proof in proofs if name in allowed]
        return self.amplification(public=allowed) * math.prod(others)

    def reveals(self, name: str) -> bool:
        """Return true if a report can rule out an answer for someone who knows all others."""
        return self.amplification(public=set(self.schema.names) - {name}) == math.inf

    @cached_property
    def provable(self) -> dict[str, ProvableAnswer]:
        """By attribute, the answer that a report can prove."""
        return self.mechanism.provable(self.schema)

    @cached_property
    def unperturbed(self) -> frozenset[str]:
        """Attributes that are not sensitive and whose answers reports can reveal."""
        return frozenset(
            attribute.name
            for attribute in self.schema.attributes
            if not attribute.sensitive
            and attribute.name not in self.provable
            and self.reveals(attribute.name)
        )

    def check_conditions(self) -> None:
        """Raise SchemaError if an unprotected question is asked depending on a protected answer.

        A report reveals whether an unprotected question was asked, and thereby the answers in its
        condition. So the questions in that condition must be unprotected, too.
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


def perturb_records(mechanism: Mechanism, schema: Schema, response: Response) -> Perturbation:
    """Return the perturbation of a mechanism whose reports are themselves records.

    Raises ParameterError if answers are collapsed or a question with several answers is one set,
    since such a report is about all answers.
    """
    for name in schema.sets:
        raise ParameterError(
            f"attribute '{name}': at_most: expected with kind = \"split-questionnaire\" alone, not"
            f" with {mechanism.kind}",
            field="at_most",
        )
    for attribute in schema.attributes:
        if attribute.collapsed is not None:
            raise ParameterError(
                f"attribute '{attribute.name}': collapsed: expected with kind ="
                f' "split-questionnaire" alone, not with {mechanism.kind}',
                field="collapsed",
            )
    view = View(tuple(range(len(schema.names))), schema.shape, 1, response)
    return Perturbation(mechanism, schema, [view])


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


def _bound(mechanism: Mechanism, schema: Schema, by_ticket: bool) -> Perturbation:
    """Bind a mechanism again, in another process."""
    bound = mechanism.bind(schema)
    return bound.with_tickets() if by_ticket else bound
