"""The choice between a promise for the record and one for each answer, and its precision."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from halftruth_shared import HalftruthError, Perturbation, RandomizedResponse, SplitQuestionnaire
from halftruth_shared.analyses.plan import PromisePlan
from halftruth_shared.rational import as_float
from halftruth_shared.survey import Promise

from ...executors import Map
from ..bounds import optional
from .advice import design_perturbation
from .compared import ungrouped
from .summaries import Chosen

#: γ of the record if the survey has none, and of each answer in the last line.
_USUAL = Fraction(19)

#: γ of each answer in the line before, if the survey has none.
_SMALL = Fraction(5)


@dataclass(frozen=True)
class _Line:
    """A design with the promise and the γ that it is chosen by; `own` if it is the survey's."""

    promise: Promise
    gamma: Fraction
    perturbation: Perturbation
    own: bool = False


def compare_promises(
    chosen: Chosen, gamma: Fraction, max_length: int, map_pieces: Map = map
) -> list[PromisePlan]:
    """Plan the four designs between which a promise is chosen.

    These are a split questionnaire and randomized response with one γ of the record, and randomized
    response with two γ of each answer. The survey's own design is among them if it is of that kind.
    Designs that cannot serve the schema are left out, and answers are in detail in all.

    Parameters
    ----------
    gamma : Fraction
        Amplification of the record of the survey.
    max_length : int
        Number of questions of the tables that the split questionnaire is designed for.

    Returns
    -------
    list of PromisePlan
        Empty if fewer than two questions are perturbed, since the record is the answer then.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
    >>> from halftruth_shared.analyses.plan import PlanQuery
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> plans = compare_promises(Chosen(survey, PlanQuery()), Fraction(19), 2)
    >>> [(each.promise, each.gamma, round(each.amplification)) for each in plans]
    [('record', 19.0, 19), ('record', 19.0, 19), ('answer', 5.0, 25), ('answer', 19.0, 361)]
    """
    if len(chosen.survey.perturbation.single_amplifications()) < 2:
        return []
    return list(map_pieces(_Planned(chosen), _lines(chosen, gamma, max_length)))


@dataclass(frozen=True)
class _Planned:
    """Function that plans a line, which another process can call."""

    chosen: Chosen

    def __call__(self, line: _Line) -> PromisePlan:
        perturbation = line.perturbation
        public = self.chosen.survey.perturbation.unperturbed
        single = perturbation.single_amplifications().values()
        expected = self.chosen.expectation(perturbation)
        return PromisePlan(
            kind=perturbation.mechanism.kind,
            promise=line.promise,
            gamma=as_float(line.gamma),
            own=line.own,
            amplification=optional(as_float(perturbation.amplification(public=public))),
            answer_amplification=optional(as_float(max(single))),
            margins=self.chosen.summaries(expected, ("share", "share_within")),
        )


def _lines(chosen: Chosen, gamma: Fraction, max_length: int) -> Iterator[_Line]:
    survey, own = chosen.survey, chosen.survey.perturbation
    schema, public = ungrouped(survey.schema), own.unperturbed
    by_record = survey.promise == "record"
    of_record = gamma if by_record else _USUAL
    for kind in (SplitQuestionnaire, RandomizedResponse):
        is_own = by_record and isinstance(survey.mechanism, kind) and schema == survey.schema
        made = own
        if not is_own:
            design = design_perturbation(kind, schema, of_record, public, max_length)
            if design is None:
                continue
            made = design
        yield _Line("record", of_record, made, is_own)
    of_answer = _SMALL
    if not by_record:
        answers = own.single_amplifications().values()
        of_answer = max(each for each in answers if isinstance(each, Fraction))
        yield _Line("answer", of_answer, own, own=True)
    others = (_SMALL, _USUAL) if by_record else (_SMALL if of_answer == _USUAL else _USUAL,)
    for each in others:
        try:
            mechanism = RandomizedResponse.for_answers(schema, each, public)
            yield _Line("answer", each, mechanism.bind(schema))
        except HalftruthError:
            continue
