"""Privacy guarantees of a survey, for the whole record and for a single answer.

Plans, commands, pages and forms all take their statements about protection from here, so that they
agree.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from .extras import import_extra
from .mechanisms import ProvableAnswer, Randomizer
from .privacy import epsilon, worst_case_posterior
from .schema import Schema
from .survey import Promise, Survey
from .texts import NARROW_SPACE, group_digits

if TYPE_CHECKING:
    from .relayed import Relayed

#: Prior probability in descriptions of guarantees.
PRIOR = Fraction(1, 20)

#: Whole numbers below this are written with all digits.
_WRITTEN_OUT = 10**6

#: Prior probabilities of three examples of what can be learned.
_EXAMPLES = (Fraction(1, 100), PRIOR, Fraction(1, 4))


@dataclass(frozen=True)
class Guarantee:
    """Amplification γ with its interpretations; infinite if a report can prove an answer."""

    gamma: Fraction | float

    @property
    def epsilon(self) -> float:
        """ε = ln γ of local differential privacy."""
        return epsilon(self.gamma)

    @property
    def posterior(self) -> Fraction:
        """Largest posterior probability of a property with prior probability 5 %."""
        return worst_case_posterior(PRIOR, self.gamma)

    def __str__(self) -> str:
        if self.gamma == math.inf:
            return "no bound, since a report can prove an answer (γ infinite)"
        return f"from {percent(PRIOR)} to at most {percent(self.posterior)} (γ = {self.written})"

    @property
    def written(self) -> str:
        """Amplification in digits, rounded up."""
        return "infinite" if isinstance(self.gamma, float) else _round_up(self.gamma)


@dataclass(frozen=True)
class SeriesGuarantee(Guarantee):
    """Guarantee for all waves of a series, to the browsers that answer at its web address."""

    origin: str


@dataclass(frozen=True)
class Protection:
    """Privacy guarantees of a survey.

    They compare people with the same unperturbed answers, and with the same answers where a report
    proves them. These are known to whoever sees the report, and may be associated with the others.

    Attributes
    ----------
    record : Guarantee
        Guarantee for all answers together that are neither sent unperturbed nor proved:
        :attr:`.Perturbation.spent_amplification`.
    answer : Guarantee
        Guarantee for the least protected question, against someone who knows all other answers.
        Against anyone else, the guarantee for a single answer is that for the whole record.
    promise : {"record", "answer"}
        Which of both the survey promises. No statement has the figure of `answer` without that of
        `record`.
    protected, unperturbed : tuple of str
        Attributes that are perturbed, and attributes that are sent unperturbed.
    provable : dict of str to ProvableAnswer
        Attributes with one answer that a report can prove; the other can never be proven. They are
        neither in `protected` nor in `unperturbed`. The amplification is against someone who knows
        all other answers.
    people : str
        The compared people in words, such as "people with the same answer to “Your age”"; or
        "people" if no answer is sent unperturbed or can be proved.
    in_words : tuple of str
        Description of the perturbation, if the mechanism has one for respondents.
    unprotected : tuple of str
        Sentences about unperturbed attributes and provable answers.
    timing : tuple of str
        Sentence about response times, if questions depend on answers.
    randomized_by : {"device", "respondent"}
    series : SeriesGuarantee, optional
        Guarantee for all protected answers in all waves of the series of the survey. The browser of
        the respondent keeps it, by adding up the amplification of its reports at one web address.
    relayed : Relayed, optional
        Additional guarantee of a relay; `record` holds even if relay and collector collude.
    """

    record: Guarantee
    answer: Guarantee
    protected: tuple[str, ...]
    unperturbed: tuple[str, ...]
    provable: dict[str, ProvableAnswer]
    people: str
    in_words: tuple[str, ...]
    unprotected: tuple[str, ...]
    timing: tuple[str, ...] = ()
    randomized_by: Randomizer = "device"
    promise: Promise = "record"
    series: SeriesGuarantee | None = None
    relayed: "Relayed | None" = None

    @classmethod
    def of(cls, survey: Survey) -> "Protection":
        """Compute the guarantees of a survey; that of a relay requires NumPy.

        Raises
        ------
        MissingExtra
            If the survey has a relay and NumPy is not installed.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> mechanism = RandomizedResponse({"smoker": "0.75", "coughs": "0.75"})
        >>> protection = Protection.of(Survey("health", "Health", schema, mechanism))
        >>> protection.record.gamma, protection.answer.gamma
        (Fraction(9, 1), Fraction(3, 1))
        """
        schema, mechanism, perturbation = survey.schema, survey.mechanism, survey.perturbation
        unperturbed = perturbation.unperturbed
        single = perturbation.single_amplifications()
        provable = {
            attribute.name: replace(
                perturbation.provable[attribute.name], amplification=single[question.name]
            )
            for question in schema.questions
            for attribute in question.attributes
            if attribute.name in perturbation.provable
        }
        record = Guarantee(perturbation.spent_amplification)
        answer = Guarantee(max(single.values(), default=Fraction(1)))
        return cls(
            record=record,
            answer=answer,
            protected=tuple(
                name for name in schema.names if name not in unperturbed and name not in provable
            ),
            unperturbed=tuple(name for name in schema.names if name in unperturbed),
            provable=provable,
            people=_describe_people(schema, unperturbed, provable),
            in_words=tuple(mechanism.in_words(schema)),
            unprotected=(
                *_describe_unperturbed(schema, unperturbed, mechanism.randomized_by),
                *_describe_provable(survey, provable, record),
            ),
            timing=_describe_timing(schema),
            randomized_by=mechanism.randomized_by,
            promise=survey.promise,
            series=_of_series(survey),
            relayed=_of_relay(survey),
        )

    @property
    def bounded(self) -> bool:
        """True if at least one answer is perturbed."""
        return bool(self.protected or self.provable)

    @property
    def whole(self) -> str:
        """The answers and people of the guarantee for all answers together, in words."""
        if not self.unprotected:
            return "All answers together"
        return f"All other answers together, among {self.people}"

    def sentences(self) -> list[str]:
        """Return the guarantee in plain sentences."""
        sentences = [*self.in_words, *self.unprotected]
        if not self.bounded:
            return sentences
        if self.record.gamma == math.inf:
            return [*sentences, "There is no bound: a report can prove an answer (γ is infinite)."]
        sentences.append(
            f"{self.whole}: what someone thinks {percent(PRIOR)} likely before the report is at"
            f" most {percent(self.record.posterior)} likely after it, whoever they are and whatever"
            f" else they know (γ = {self.record.written}, ε = {self.record.epsilon:.3g})."
        )
        if self.answer.gamma < self.record.gamma:
            sentences.append(_describe_answer(self.promise, self.answer, self.record))
        if self.series is not None:
            sentences.append(
                f"{self.whole}, in all waves of this series, if no wave leaves other answers"
                f" unprotected: {self.series}. A browser counts its reports at the web address"
                f" {self.series.origin}, and refuses a wave that would exceed this bound."
            )
        if self.relayed is not None:
            sentences += self.relayed.sentences()
            if self.series is not None:
                sentences.append(self.relayed.two_waves())
        return [*sentences, *self.timing]

    def learning(self) -> list[str]:
        """Return what γ permits somebody to learn from a report, by three examples.

        Examples
        --------
        >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
        >>> survey = Survey("s", "S", Schema([Attribute("a", ["no", "yes"])]), GammaDiagonal("19"))
        >>> [said] = Protection.of(survey).learning()
        >>> said.partition("; ")[0].replace("\N{NARROW NO-BREAK SPACE}", " ")
        'γ = 19 means: what someone thinks 1 % likely about a person, such as an answer, is at \
most 16.2 % likely after the report'
        """
        if not self.bounded or self.record.gamma == math.inf:
            return []
        whom = f"one of the {self.people}" if self.unprotected else "a person"
        first, *others = (
            (percent(prior), percent(worst_case_posterior(prior, self.record.gamma)))
            for prior in _EXAMPLES
        )
        more = ", and ".join(f"{before} becomes at most {after}" for before, after in others)
        return [
            f"γ = {self.record.written} means: what someone thinks {first[0]} likely about {whom},"
            f" such as an answer, is at most {first[1]} likely after the report; {more}."
        ]


def _describe_answer(promise: Promise, answer: Guarantee, record: Guarantee) -> str:
    """Describe the guarantee of an answer to someone who knows all others.

    A survey that promises it says in the same sentences what anybody else can learn.
    """
    if promise == "record":
        return f"A single answer, to someone who already knows all other answers: {answer}."
    return (
        f"Each answer is protected separately. To someone who knows all other answers: {answer}."
        f" {_describe_ignorant(record)}"
    )


def _describe_ignorant(record: Guarantee) -> str:
    """Describe what someone who does not know the other answers can learn of an answer."""
    return (
        "Someone who does not know them can learn more if answers are related: at most"
        f" {percent(record.posterior)} (γ = {record.written})."
    )


def _of_relay(survey: Survey) -> "Relayed | None":
    gamma = survey.perturbation.spent_amplification
    if survey.relay is None or not isinstance(gamma, Fraction):
        return None
    relayed = import_extra("halftruth_shared.relayed", "the guarantee of a relay", field="relay")
    found: Relayed = relayed.Relayed.of(survey.relay, gamma)
    return found


def _of_series(survey: Survey) -> SeriesGuarantee | None:
    """Return the guarantee for all waves; None if respondents randomize without a device."""
    if survey.series is None or survey.mechanism.randomized_by != "device":
        return None
    return SeriesGuarantee(Fraction(survey.series.total_gamma), survey.series.origin)


def _describe_timing(schema: Schema) -> tuple[str, ...]:
    """Describe the risk of response times, which the amplification does not bound."""
    if not any(attribute.ask_if for attribute in schema.attributes):
        return ()
    return (
        "Some questions are asked only after certain answers. Anyone who sees when the form is"
        " loaded and when the report arrives can conclude from the time between whether they were"
        " asked; no bound covers that.",
    )


def _describe_unperturbed(
    schema: Schema, unperturbed: Collection[str], randomized_by: Randomizer
) -> list[str]:
    """Return the sentence about unperturbed attributes, if there are any, by labels."""
    labels = [each.label_in() for each in schema.attributes if each.name in unperturbed]
    begin = "Sent as answered" if randomized_by == "device" else "Asked directly"
    listed = f"{begin}, without protection: {', '.join(labels)}."
    # A label can end with a question mark.
    return [listed.replace("?.", "?")] if labels else []


def _describe_provable(
    survey: Survey, provable: Mapping[str, ProvableAnswer], record: Guarantee
) -> list[str]:
    """Return a sentence about each provable answer, by labels."""
    attributes = {attribute.name: attribute for attribute in survey.schema.attributes}
    sentences = []
    for name, proof in provable.items():
        answer, other = map(attributes[name].answer_in, (proof.answer, proof.other))
        sentence = (
            f"For “{attributes[name].label_in()}”, a report can prove the answer “{answer}”, which"
            f" this survey considers not sensitive. It never proves “{other}”: to someone who"
            f" already knows all other answers, {Guarantee(proof.amplification)}."
        )
        if survey.promise == "answer" and proof.amplification < record.gamma:
            sentence += f" {_describe_ignorant(record)}"
        sentences.append(sentence)
    return sentences


def _describe_people(
    schema: Schema, unperturbed: Collection[str], provable: Collection[str]
) -> str:
    """Describe people who agree in all answers that a report reveals or proves."""

    def labels_of(names: Collection[str]) -> list[str]:
        return [f"“{each.label_in()}”" for each in schema.attributes if each.name in names]

    sent, proved = labels_of(unperturbed), labels_of(provable)
    if not sent and not proved:
        return "people"
    answers = "answer" if len(sent) + len(proved) == 1 else "answers"
    where = f"{', '.join(proved)} (where a report proves {'it' if len(proved) == 1 else 'them'})"
    groups = [*([", ".join(sent)] if sent else []), *([where] if proved else [])]
    return f"people with the same {answers} to {', and to '.join(groups)}"


def percent(share: Fraction) -> str:
    r"""Format a share as a percentage, rounded up so that the bound holds.

    >>> percent(Fraction(3, 22))
    '13.7\u202f%'
    """
    tenths = math.ceil(share * 1000)
    whole, tenth = divmod(tenths, 10)
    return f"{whole}.{tenth}{NARROW_SPACE}%" if tenth else f"{whole}{NARROW_SPACE}%"


def _round_up(gamma: Fraction) -> str:
    """Format small whole numbers exactly, and other numbers with three digits, rounded up."""
    if gamma.denominator == 1 and gamma < _WRITTEN_OUT:
        return group_digits(gamma.numerator)
    up = Context(prec=3, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))
    rounded = up.divide(Decimal(gamma.numerator), Decimal(gamma.denominator))
    return f"{rounded:f}" if rounded < 1000 else f"{rounded:.2e}"
