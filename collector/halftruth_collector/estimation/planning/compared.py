"""What a survey is compared with: other designs and mechanisms, and protocols of the literature.

All have the amplification of the survey and ask its questions; its public questions are sent
unperturbed. Only split questionnaires have groups of answers. Other mechanisms are planned with
answers in detail, and their tables are read in the same groups afterwards.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from halftruth_shared import Perturbation, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.mechanisms import MECHANISMS, WantedTables
from halftruth_shared.rational import as_float

from ..bounds import optional
from ..reconstruction import of_perturbation
from ..table import Reconstruction
from .advice import design_perturbation
from .margins import Expectation, People
from .oracles import ORACLES, OracleTables
from .proposals import DESIGN_NAMES, designs_for
from .summaries import Chosen

#: Mechanisms that are an oracle for the whole record, or for each question.
_SAME_AS_ORACLE = {"gamma-diagonal": True, "randomized-response": False}


@dataclass(frozen=True)
class Compared:
    """A mechanism by the perturbation of a schema, or else an oracle of the literature.

    Attributes
    ----------
    kind, name : str
        The name tells apart designs of one kind.
    own : bool
        Whether it is the survey's.
    mechanism : Perturbation or OracleTables
    for_tables : bool
        Whether it is another design for the wanted tables.
    read_as : Perturbation, optional
        A perturbation of the same questions with the groups in which tables are read; by default
        the answers of the mechanism.
    """

    kind: str
    name: str
    own: bool
    mechanism: Perturbation | OracleTables
    for_tables: bool = False
    read_as: Perturbation | None = None

    @property
    def tables(self) -> OracleTables | Reconstruction:
        """Tables of its reports, with answers in detail unless it has groups itself."""
        if isinstance(self.mechanism, Perturbation):
            return of_perturbation(self.mechanism)
        return self.mechanism

    def expectation(self, chosen: Chosen) -> Expectation:
        """Return its expected tables."""
        if self.read_as is not None:
            return chosen.expectation(self.read_as, self.tables)
        if isinstance(self.mechanism, Perturbation):
            return chosen.expectation(self.mechanism)
        return chosen.expectation(chosen.survey.perturbation, self.mechanism)

    def amplifications(self, survey: Survey) -> tuple[float | None, float | None]:
        """Return γ of all perturbed answers, and of a single question to who knows the others."""
        schema, public = survey.schema, survey.perturbation.unperturbed
        if isinstance(self.mechanism, Perturbation):
            perturbation = self.mechanism
            of_questions = [
                perturbation.amplification(each, public=public) for each in schema.questions
            ]
            whole = perturbation.amplification(public=public)
        else:
            oracle = self.mechanism
            # Who answers a question differently may also be asked others.
            varying = [
                {
                    name
                    for attribute in question.attributes
                    for name in schema.dependents(attribute.name, public)
                }
                for question in schema.questions
            ]
            of_questions = [oracle.amplification(sorted(names)) for names in varying]
            whole = oracle.amplification(schema.names)
        return optional(as_float(whole)), optional(as_float(max(of_questions)))


def wanted_tables(survey: Survey, query: PlanQuery) -> tuple[WantedTables, ...]:
    """Return the wanted tables of a survey, or of the groups of a query; empty without any."""
    mechanism = survey.mechanism
    if isinstance(mechanism, SplitQuestionnaire) and mechanism.tables:
        return mechanism.tables
    if not query.groups:
        return ()
    questions = survey.schema.names if query.questions is None else query.questions
    outcomes = tuple(name for name in questions if name not in query.groups)
    return (WantedTables(of=outcomes, by=tuple(query.groups)),) if outcomes else ()


def compare_with(
    survey: Survey,
    gamma: Fraction,
    max_length: int,
    tables: Sequence[WantedTables],
    people: People | None = None,
) -> list[Compared]:
    """Return the survey's mechanism and those that it is compared with.

    Parameters
    ----------
    gamma : Fraction
        Amplification of the perturbed attributes.
    max_length : int
        Number of questions of the tables that other mechanisms are designed for.
    tables : sequence of WantedTables
        For which split questionnaires are designed; perhaps none.
    people : callable, optional
        Counts of a pilot.
    """
    own = survey.perturbation
    schema, public = ungrouped(survey.schema), own.unperturbed
    has_groups = any(each.collapsed for each in survey.schema.attributes)
    every = [Compared(survey.mechanism.kind, survey.mechanism.kind, True, own)]
    for design in designs_for(schema, tables, gamma, public, people=people) if tables else ():
        kind = SplitQuestionnaire.kind
        if has_groups and design.name == "tables of groups":
            continue
        # The survey can have this design itself.
        if has_groups or design.perturbation.mechanism.parameters() != own.mechanism.parameters():
            name = f"{kind} ({DESIGN_NAMES[design.name]})"
            for_tables = design.name != "all pairs"
            every.append(Compared(kind, name, False, design.perturbation, for_tables))
    for mechanism in MECHANISMS:
        present = any(each.kind == mechanism.kind for each in every)
        perturbation = (
            None if present else design_perturbation(mechanism, schema, gamma, public, max_length)
        )
        if perturbation is not None:
            every.append(Compared(mechanism.kind, mechanism.kind, False, perturbation))
    every += _oracles(schema, gamma, public, every)
    grouped = next((each.mechanism for each in every if _has_groups(each)), None)
    if not isinstance(grouped, Perturbation):
        return every
    return [each if _has_groups(each) else replace(each, read_as=grouped) for each in every]


def _oracles(
    schema: Schema, gamma: Fraction, public: frozenset[str], others: Sequence[Compared]
) -> Iterator[Compared]:
    """Yield the frequency oracles, except those that another mechanism is."""
    present = {each.kind for each in others if not each.own or each.kind == "gamma-diagonal"}
    free = [name for name in schema.names if name not in public]
    # The record of a single question is the question.
    for whole in (True, False) if len(free) > 1 else (True,):
        of = "whole record" if whole else "each question"
        for kind in ORACLES:
            oracle = OracleTables(schema, kind, gamma, public, whole=whole)
            if kind == "k-ary randomized response" and any(
                same == whole and mechanism in present
                for mechanism, same in _SAME_AS_ORACLE.items()
            ):
                continue
            if oracle.amplification(free[:1]) > 1:
                yield Compared(kind, f"{kind} ({of})", False, oracle)


def _has_groups(each: Compared) -> bool:
    return isinstance(each.mechanism, Perturbation) and any(
        attribute.collapsed for attribute in each.mechanism.schema.attributes
    )


def ungrouped(schema: Schema) -> Schema:
    """Return the schema without groups of answers, and without labels of groups."""
    return Schema(
        tuple(
            replace(
                each,
                collapsed=None,
                answers={a: text for a, text in each.answers.items() if a in each.categories},
                short_answers={
                    a: text for a, text in each.short_answers.items() if a in each.categories
                },
            )
            if each.collapsed
            else each
            for each in schema.attributes
        )
    )
