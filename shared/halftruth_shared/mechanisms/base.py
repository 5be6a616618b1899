"""Base class of mechanisms."""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..attribute import Attribute
from ..errors import ParameterError, SchemaError
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
from .reconstruction import Reconstruction
from .report_space import ReportSpace

#: Who draws a report.
Randomizer = Literal["device", "respondent"]

#: Condition number above which reconstruction is hopeless: an error of one report in a
#: million could become an error of everything.
MAX_CONDITION = 1e6


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


class Mechanism(ABC):
    """Random perturbation of a record, with the reconstruction of a population's answers.

    Every mechanism states its sampler twice, once for one record from ``randbelow`` and once for
    many records from arrays, and its reconstruction; tests hold the three against each other.

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

    def __init__(self) -> None:
        self._samplers: dict[Schema, Sampler] = {}

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
    def check(self, schema: Schema) -> None:
        """Check that this mechanism can serve the schema.

        Raises
        ------
        ParameterError
            If not, naming the parameter or attribute.
        """

    @abstractmethod
    def amplification(self, schema: Schema, public: Collection[str] = ()) -> Fraction | float:
        """Return the amplification γ of a whole report (EGS; FRAPP eq. 2).

        Parameters
        ----------
        public : collection of str
            Attributes taken as known: only records that agree on them are compared.

        Returns
        -------
        Fraction, or ``math.inf`` where a report can rule a record out.
        """

    def spent_amplification(self, schema: Schema) -> Fraction | float:
        """Return the amplification that one report spends of any total.

        Everything that is perturbed counts, whether or not it is declared sensitive, and of an
        answer that a report can prove the other answer counts. Promise, ledger and audit all use
        this number.

        Returns
        -------
        Fraction, or ``math.inf`` where a report can reveal a sensitive answer.
        """
        proofs = self.provable(schema)
        whole = self.amplification(schema, self.unperturbed(schema).union(proofs))
        return whole * math.prod([proof.amplification for proof in proofs.values()])

    def question_amplification(
        self,
        schema: Schema,
        question: Question,
        public: Collection[str] = (),
        reported: Collection[str] | None = None,
    ) -> Fraction | float:
        """Return the amplification of one question, to someone who already knows all others.

        Compared are the feasible records that differ in the answer to this question alone, and in
        what is asked after it. All options of a question with several answers are one question.

        Parameters
        ----------
        question : Question
        public : collection of str
            Attributes taken as known, as for :meth:`amplification`.
        reported : collection of str, optional
            Attributes that a report is about; all by default.

        Returns
        -------
        Fraction, or ``math.inf``
        """
        changed: set[str] = set()
        for attribute in question.attributes:
            changed |= schema.dependents(attribute.name, public)
        if reported is not None:
            changed.intersection_update(reported)
        return self.amplification(schema, (set(schema.names) - changed).union(public))

    def reveals(self, schema: Schema, name: str) -> bool:
        """Return true if a report can rule out an answer, where all others are known."""
        return self.amplification(schema, public=set(schema.names) - {name}) == math.inf

    def reported(self, schema: Schema, values: Sequence[int]) -> frozenset[str]:
        """Return the attributes that a report is about; by default all."""
        return frozenset(schema.names)

    def unperturbed(self, schema: Schema) -> frozenset[str]:
        """Return the attributes that are not sensitive and whose every answer reports can prove."""
        one_sided = self.provable(schema)
        return frozenset(
            attribute.name
            for attribute in schema.attributes
            if not attribute.sensitive
            and attribute.name not in one_sided
            and self.reveals(schema, attribute.name)
        )

    def check_conditions(self, schema: Schema) -> None:
        """Check that no answer that a report can reveal depends on a protected one.

        Respondents who are asked a question gave the answers in its condition. A report reveals
        whether an unprotected question was asked, and thus the answers to the questions in its
        condition; these have to be unprotected, too, and so on.

        Raises
        ------
        SchemaError
            Naming both attributes.
        """
        unprotected: frozenset[str] | None = None
        for attribute in schema.attributes:
            if not attribute.ask_if or not self.reveals(schema, attribute.name):
                continue
            unprotected = self.unperturbed(schema) if unprotected is None else unprotected
            for name in attribute.ask_if:
                if name not in unprotected:
                    raise SchemaError(
                        f"attribute '{attribute.name}': ask_if: a report can show whether it was"
                        f" asked, and so reveal the protected answer to '{name}'; expected"
                        f" '{attribute.name}' to be perturbed or asked of everybody, or '{name}' to"
                        " be sent unperturbed (sensitive = false)",
                        field="ask_if",
                    )

    def provable(self, schema: Schema) -> dict[str, Provable]:
        """Return the answer to each attribute that a report can prove, but never the other."""
        return {}

    def protected_answers(self, attribute: Attribute) -> list[int]:
        """Return the codes of the answers that bounds are of: those that respondents randomize."""
        return list(range(len(attribute.categories)))

    def in_words(self, schema: Schema) -> list[str]:
        """Return sentences for respondents about the named designs."""
        return []

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

    @abstractmethod
    def report_space(self, schema: Schema) -> ReportSpace:
        """Return names and sizes of the columns of a report."""

    @abstractmethod
    def decode_report(self, schema: Schema, values: Sequence[int]) -> dict[str, str]:
        """Describe a report, column by column."""

    @abstractmethod
    def reconstruction(self, schema: Schema) -> Reconstruction:
        """Return the reconstruction of answers from counts of reports."""

    def perturb(
        self,
        schema: Schema,
        codes: Sequence[int],
        randbelow: RandBelow = secrets.randbelow,
    ) -> tuple[int, ...]:
        """Perturb one record, exactly.

        Parameters
        ----------
        codes : sequence of int, length M
            The true record.
        randbelow : callable
            Source of randomness; the operating system's by default.

        Raises
        ------
        RecordError
            If the record does not fit the schema; the message never holds an answer.
        """
        return self._sampler(schema).report(schema.check(codes), randbelow)

    def perturb_many(
        self,
        schema: Schema,
        codes: NDArray[np.integer],
        rng: np.random.Generator | None = None,
    ) -> NDArray[np.int64]:
        """Perturb N records, exactly, each with randomness of its own.

        Parameters
        ----------
        codes : ndarray of int, shape (N, M)
            The true records.
        rng : numpy.random.Generator, optional
            A seeded generator for simulation; the operating system's randomness by default.

        Returns
        -------
        ndarray of int64, shape (N, number of report columns)
        """
        records = schema.check_many(codes)
        sampler = self._sampler(schema)
        if sampler.outcomes <= MAX_VECTOR_OUTCOMES:
            draw = draw_below_from_os if rng is None else simulated_draw_below(rng)
            return sampler.reports(records, draw)
        randbelow = secrets.randbelow if rng is None else simulated_randbelow(rng)
        reports = [sampler.report(record, randbelow) for record in records.tolist()]
        columns = len(self.report_space(schema).shape)
        return np.array(reports, dtype=np.int64).reshape(len(records), columns)

    def _sampler(self, schema: Schema) -> Sampler:
        """Return the sampler for a schema, prepared and checked at its first use."""
        sampler = self._samplers.get(schema)
        if sampler is None:
            self.check(schema)
            sampler = self._samplers[schema] = self._prepare(schema)
        return sampler

    @abstractmethod
    def _prepare(self, schema: Schema) -> Sampler:
        """Prepare the sampler for a schema already checked."""


def check_public(public: Collection[str]) -> None:
    """Raise ParameterError for a single text, which may contain other names, in place of a list."""
    if isinstance(public, str):
        raise ParameterError("public: expected a list of names", field="public")
