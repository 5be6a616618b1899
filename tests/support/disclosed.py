"""What the reports of a small survey disclose at most, by enumeration, and what its sentences say.

An attacker sees a report, and with it the answers that are sent unperturbed, the answers that it
proves, and which answers respondents left out. So records are compared that agree in these.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product


@dataclass
class Largest:
    """Largest ratio of two likelihoods of a report, and the number of ratios."""

    ratio: Fraction | float = Fraction(1)
    ratios: int = 0


class Disclosure:
    """Likelihood ratios of the reports of a survey case."""

    def __init__(self, case):
        self.case = case
        self.records, self.weights = case.feasible(), case.weights().tolist()
        #: Positions of attributes by whether they are perturbed.
        self.provable = set(case.others)
        self.unperturbed = {
            j for j in self.revealing if not case.sensitive[j] and j not in self.provable
        }
        self.perturbed = set(range(len(case.shape))) - self.unperturbed
        self._groups = {}

    @cached_property
    def revealing(self):
        """Positions of attributes an answer to which some report excludes, given all others."""
        case, weights = self.case, self.case.all_weights().tolist()
        every = list(product(*map(range, case.shape)))
        found = set()
        for j in range(len(case.shape)):
            others = set(range(len(case.shape))) - {j}
            groups = self._grouped(every, others)
            if any(
                any(row[p] for p in places) and not all(row[p] for p in places)
                for places in groups
                for row in weights
            ):
                found.add(j)
        return found

    def _grouped(self, records, agree):
        """Return positions of records that agree in some answers and in which are left out."""
        found = {}
        for place, record in enumerate(records):
            key = tuple(
                code if j in agree or code in self.case.unrandomized[j] else None
                for j, code in enumerate(record)
            )
            found.setdefault(key, []).append(place)
        return list(found.values())

    def groups(self, agree):
        agree = frozenset(agree)
        if agree not in self._groups:
            self._groups[agree] = self._grouped(self.records, agree)
        return self._groups[agree]

    @cached_property
    def proved(self):
        """For each report, the positions of attributes of which it proves the provable answer."""
        every = list(product(*map(range, self.case.shape)))
        rows = self.case.all_weights().tolist()
        return [
            frozenset(
                j
                for j, other in self.case.others.items()
                if not any(w for u, w in zip(every, row, strict=True) if u[j] == other)
            )
            for row in rows
        ]

    def of_report(self, number, agree=frozenset()):
        """Return the largest ratio for one report, of records with these answers in common."""
        found = Largest()
        most, least = 1, 1
        row = self.weights[number]
        for places in self.groups(self.unperturbed | self.proved[number] | agree):
            found.ratios += len(places) * (len(places) - 1)
            values = [row[p] for p in places]
            high, low = max(values), min(values)
            if high and not low:
                most, least = 1, 0
            elif high and least and high * least > most * low:
                most, least = high, low
        found.ratio = Fraction(most, least) if least else math.inf
        return found

    def largest(self, agree=frozenset()):
        """Return the largest ratio of all reports, of records with these answers in common."""
        each = [self.of_report(number, agree) for number in range(len(self.weights))]
        return Largest(
            max((one.ratio for one in each), default=Fraction(1)), sum(one.ratios for one in each)
        )

    @cached_property
    def whole(self):
        return self.largest()

    def of_question(self, attributes):
        """Return the largest ratio for someone who knows all answers but those to one question.

        The answers to questions that are asked after it are not known either.
        """
        changed = set().union(*(self.case.dependents(j) for j in attributes))
        return self.largest(frozenset(range(len(self.case.shape))) - changed)

    def of_answer(self, j, code):
        """Return the largest ratio in favour of one answer over all others."""
        best = Fraction(1)
        for number, row in enumerate(self.weights):
            for places in self.groups(self.unperturbed | self.proved[number]):
                over = [row[p] for p in places if self.records[p][j] == code]
                under = [row[p] for p in places if self.records[p][j] != code]
                if over and under and max(over):
                    ratio = Fraction(max(over), min(under)) if min(under) else math.inf
                    best = max(best, ratio)
        return best


def posterior(ratio, prior=Fraction(1, 20)):
    """Return the posterior probability after a likelihood ratio."""
    return prior * ratio / (prior * ratio + 1 - prior) if ratio < math.inf else Fraction(1)


@dataclass(frozen=True)
class Said:
    """A bound in words: the amplification, the probabilities before and after, and the people."""

    gamma: Fraction
    before: Fraction
    after: Fraction
    people: frozenset[str] = frozenset()
    #: The same for someone who does not know the other answers, where the sentence says it.
    anybody: Fraction | None = None
    most: Fraction | None = None

    def allows(self, ratio):
        """Return true if a likelihood ratio exceeds neither figure."""
        return ratio <= self.gamma and posterior(ratio, self.before) <= self.after


_NUMBER = r"[\d.]+(?:e\+\d+)?"
_BOUND = rf"from ({_NUMBER}) % to at most ({_NUMBER}) % \(γ = ({_NUMBER})\)"
_IGNORANT = (
    r"Someone who does not know them can learn more if answers are related: at most"
    rf" (?P<most>{_NUMBER}) % \(γ = (?P<whole>{_NUMBER})\)\."
)
_PATTERNS = {
    "whole": (
        r"(?:All answers together|All other answers together(?P<people>, among [^:]*)): what"
        rf" someone thinks ({_NUMBER}) % likely before the report is at most ({_NUMBER}) % likely"
        rf" after it, whoever they are and whatever else they know \(γ = ({_NUMBER}), ε = .*\)\."
    ),
    "series": (
        r"(?:All answers together|All other answers together(?P<people>, among [^:]*)), in all"
        rf" waves of this series, if no wave leaves other answers unprotected: {_BOUND}\..*"
    ),
    "single": rf"A single answer, to someone who already knows all other answers: {_BOUND}\.",
    "answer": (
        r"Each answer is protected separately\. To someone who knows all other answers:"
        rf" {_BOUND}\. {_IGNORANT}"
    ),
    "provable": (
        r"For “(?P<name>[^”]*)”, a report can prove the answer “[^”]*”, which this survey considers"
        r" not sensitive\. It never proves “[^”]*”: to someone who already knows all other"
        rf" answers, {_BOUND}\.(?: {_IGNORANT})?"
    ),
}


def _ignorant(named):
    if named.get("whole") is None:
        return ()
    return Fraction(named["whole"]), Fraction(named["most"]) / 100


def read_sentences(sentences):
    """Return the bounds that the sentences of a promise state, by what they are about."""
    found = {}
    for sentence in sentences:
        text = re.sub(r"(?<=\d)\u202f(?=\d)", "", sentence).replace("\u202f", " ")
        for what, pattern in _PATTERNS.items():
            match = re.fullmatch(pattern, text)
            if match is None:
                continue
            people = frozenset(re.findall("“([^”]*)”", match.groupdict().get("people") or ""))
            named = match.re.groupindex.values()
            numbers = [x for place, x in enumerate(match.groups(), 1) if place not in named]
            before, after, gamma = map(Fraction, numbers)
            said = Said(gamma, before / 100, after / 100, people, *_ignorant(match.groupdict()))
            key = (what, match["name"]) if what == "provable" else what
            assert key not in found
            found[key] = said
    return found
