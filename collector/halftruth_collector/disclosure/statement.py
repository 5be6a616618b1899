"""Statement of an audit: sections of sentences and tables."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.errors import listing
from halftruth_shared.protection import PRIOR, Guarantee
from halftruth_shared.protection import percent as rounded_up
from halftruth_shared.results.wording import UNDEFINED, number, percent

from ..estimation.planning.wording import definition, formatted, worst
from ..estimation.reliability import reliability
from .audit import LIMIT, TIMES, Audit
from .posterior import AnswerPosterior, Posterior
from .sections import Section, Statement, Table
from .series import series_sections

#: Largest number of answers in the table.
MAX_ROWS = 24

#: Largest ratio of an improved ε to that of a single report.
_HARDLY = 0.99


def statement(audit: Audit) -> Statement:
    """Describe an audit in words; bounds are rounded up."""
    questions = "question" if audit.questions == 1 else "questions"
    return Statement(
        f"Audit of the survey “{audit.title}”",
        f"Survey {audit.survey}, {audit.questions} {questions}, mechanism {audit.mechanism},"
        f" {number(audit.respondents)} planned respondents. Digest (SHA-256 of questions and"
        f" mechanism): {audit.digest}.",
        tuple(
            section
            for section in (
                _promise(audit),
                _answers(audit),
                _again(audit),
                *(() if audit.series is None else series_sections(audit.series)),
                *(_relay(audit) or (_counts(audit),)),
                _linking(audit),
                _results(audit),
                _assumptions(audit),
            )
            if section is not None
        ),
    )


def _promise(audit: Audit) -> Section:
    done, sentences = len(audit.protection.in_words), audit.protection.sentences()
    paragraphs = [" ".join(part) for part in (sentences[:done], sentences[done:]) if part]
    if audit.protection.bounded:
        paragraphs.append(
            "This holds against anyone who sees the report, including the operator of the"
            " collector, with any amount of computation. What they think before may rest on"
            " anything except this report."
        )
    return Section("What each report promises", tuple(paragraphs))


def _answers(audit: Audit) -> Section | None:
    if not audit.answers:
        return None
    shown, has_pilot = _most_revealed(audit), audit.pilot is not None
    header = ["question", "answer", "before"]
    header += ["knows the population: on average", "knows the population: at most"] * has_pilot
    header += ["knows all other answers: at most", "anybody else: at most"]
    rows = [
        (
            answer.question,
            answer.answer,
            percent(answer.prior, 1),
            *_cells(answer.joint) * has_pilot,
            _at_most(answer.known),
            _at_most(answer.bound),
        )
        for answer in shown
    ]
    if audit.pilot is None:
        before = (
            f"Each answer is assumed to be {percent(float(PRIOR))} likely before the report. For"
            " each question, the table has the answer about which a report reveals most."
        )
    else:
        before = (
            "Before the report, each answer is assumed to be as likely as its share among"
            f" {_people(audit.pilot)}."
        )
        if len(shown) < len(audit.answers):
            before += f" The table has the {len(shown)} of {len(audit.answers)} answers about which"
            before += " a report reveals most."
    notes = []
    if has_pilot:
        notes.append(
            "Knows the population: someone who knows how answers are associated in the population,"
            " and so learns about one answer from the report on the others. The average is over the"
            " reports of the people who gave the answer."
        )
    notes.append("A question with several answers is one question.")
    if audit.protection.unprotected:
        notes.append(
            f"The last two columns are among {audit.protection.people}, if the answer is as likely"
            " among them before. The columns about the population include what those answers reveal"
            " about this one."
            if has_pilot
            else f"Before and after: among {audit.protection.people}."
        )
    if has_pilot and any(answer.joint is None for answer in shown):
        notes.append(f"“{UNDEFINED}”: there are too many possible records to compute it.")
    return Section(
        "What one report reveals about an answer",
        (before,),
        Table("How likely an answer becomes", tuple(header), tuple(rows)),
        (" ".join(notes),),
    )


def _most_revealed(audit: Audit) -> Sequence[AnswerPosterior]:
    """Return the answers to show, in the survey's order."""
    answers: Sequence[AnswerPosterior] = audit.answers
    if audit.pilot is None:
        answers = [
            max(group, key=_gain) for _, group in groupby(answers, lambda answer: answer.attribute)
        ]
    most = sorted(answers, key=_gain, reverse=True)[:MAX_ROWS]
    return [answer for answer in answers if answer in most]


def _gain(answer: AnswerPosterior) -> float:
    return (answer.bound if answer.joint is None else answer.joint.most) - answer.prior


def _cells(posterior: Posterior | None) -> tuple[str, str]:
    if posterior is None:
        return UNDEFINED, UNDEFINED
    return percent(posterior.mean, 1), _at_most(posterior.most)


#: Sentences about repeated participation, by the party that randomizes.
_ANEW = {
    "device": "Someone who answers again in the same browser at the same web address, or with the"
    " same key in the same outbox, sends the first report again, which reveals nothing more."
    " Another browser, device or web address, or another survey about the same things, draws a new"
    " report.",
    "respondent": "Someone who is asked again, or in another survey about the same things, draws a"
    " new report.",
}

#: Protection against double counting, without a relay and with one.
_INVITED = (
    " With an invitation for each person, a second report is not counted; whoever receives it still"
    " sees it."
)
_NOT_INVITED = " The new report is counted, since a survey with a relay has no invitations."

#: Assumptions of the guarantee, by the party that randomizes.
_RESTS_ON = {
    "device": (
        "The person's own device draws the report as the survey says, with good random numbers, and"
        " sends nothing else. Whoever provides the form or its script could change this.",
        "Each person sends one report. A browser ensures this at one web address. It is not hidden"
        " that someone took part.",
        "No one sees the answers before the draw, by looking over a shoulder or spying on the"
        " device.",
    ),
    "respondent": (
        "Respondents randomize as the survey says, out of everyone's sight, and report only the"
        " outcome. Respondents who always give the harmless answer are protected, and bias the"
        " estimates.",
        "Each person sends one report. It is not hidden that someone took part.",
    ),
}


def _again(audit: Audit) -> Section | None:
    if not audit.protection.bounded:
        return None
    more = _ANEW[audit.protection.randomized_by]
    if audit.protection.randomized_by == "device":
        more += _INVITED if audit.protection.relayed is None else _NOT_INVITED
    return Section(
        "Someone who takes part more than once",
        (
            f"{audit.protection.whole}, after {TIMES} independent reports of the same answers by"
            f" one person: {audit.twice}. k reports raise γ to its kth power. {more}",
        ),
    )


def _relay(audit: Audit) -> tuple[Section, Section] | None:
    relayed = audit.protection.relayed
    if relayed is None:
        return None
    losses, relay = relayed.losses, relayed.relay
    few = ""
    if audit.respondents < relay.batch:
        few = f" It would pass on none of the planned {number(audit.respondents)} reports."
    hides = Section(
        "What the relay hides, and from whom",
        (
            f"Reports go to {relay.url}, which passes them on in random order"
            f" {_RELEASES[relay.release]} at least {number(relay.batch)}, and never fewer.{few} The"
            " relay, its key, the collector's key and this number are part of the digest.",
            *relayed.sentences(),
            "This is privacy amplification by shuffling (Feldman, McMillan & Talwar 2021), from"
            f" ε = {losses.local_epsilon:.3g} for each report to ε = {_up(losses.epsilon)} with"
            f" δ = 1 in {relayed.chance}: with at most that probability, a batch is more than"
            f" e^{_up(losses.tail)} times as likely with one answer as with another.",
            *relayed.sees(),
        ),
    )
    items = relayed.rests_on(waves=audit.series is not None, timed=bool(audit.protection.timing))
    return hides, Section("Assumptions of the promise with the relay", tuple(items), listed=True)


#: Time at which a relay passes reports on.
_RELEASES = {
    "closing": "once the survey is closed, if there are",
    "batches": "whenever it holds",
}


def _counts(audit: Audit) -> Section | None:
    if not audit.protection.bounded:
        return None
    title, bound = "Someone who sees only the counts", audit.counts
    if bound is None:
        return Section(
            title,
            (
                "There is no promise beyond the one above: answers that are sent unperturbed or can"
                " be proved divide people into distinguishable groups, with fewer people in each to"
                " hide among.",
            ),
        )
    chance = f"1 in {number(math.floor(1 / bound.delta))}"
    if bound.tail > _HARDLY * bound.local_epsilon:
        paragraph = (
            "So few reports do not hide one another: there is no promise beyond the one above with"
            f" δ = {chance}."
        )
    else:
        guarantee = Guarantee(Fraction(math.exp(bound.tail)))
        closed_form = (
            "the closed form does not apply to so few respondents"
            if bound.closed_form is None
            else f"ε = {_up(bound.closed_form)} by the closed form"
        )
        paragraph = (
            f"What someone thinks {percent(float(PRIOR))} likely about a person is at most"
            f" {rounded_up(guarantee.posterior)} likely after they see the counts of"
            f" {number(bound.respondents)} reports, including this person's, and all results,"
            f" except with a probability of {chance}: with at most that probability, the counts are"
            f" more than e^{_up(bound.tail)} times as likely with one answer as with another. This"
            " is privacy amplification by shuffling, from"
            f" ε = {bound.local_epsilon:.3g} for each report to ε = {_up(bound.epsilon)} with"
            f" δ = {chance}: for any set of outcomes, the probability with one answer is at most"
            f" e^ε times the probability with another, plus δ; {closed_form}. The bound does not"
            " include what the other reports reveal about people in general."
        )
    return Section(
        title,
        (
            paragraph,
            "This needs more assumptions than the promise of a single report. No one may see which"
            " report came from whom or when: an observer of the growing counts sees each report"
            " arrive, and the database has the order of arrival until it is compacted. And this"
            " number of respondents must each have sent one report as the survey says; false"
            " reports, and reports whose random draws someone knows, do not count.",
        ),
    )


def _linking(audit: Audit) -> Section | None:
    risks = audit.linking
    if risks is None or audit.pilot is None:
        return None
    one_by_one = ""
    if risks.one_by_one is not None:
        one_by_one = f", or {_at_most(risks.one_by_one)} where answers are linked one by one"
    return Section(
        "Someone who knows quasi-identifiers",
        (
            f"Suppose someone knows {listing(risks.quasi)} of {_people(audit.pilot)}, and all"
            " reports without knowing whose they are, and guesses the true records behind the"
            f" reports. The risk that they link a person with their answer to {risks.sensitive} is"
            f" at most {_at_most(risks.at_once)}{one_by_one}. For {_at_most(risks.above)} of the"
            f" people, {'one of these risks' if one_by_one else 'the risk'} is above"
            f" {percent(LIMIT)}.",
            "This risk is not a posterior probability. The answer about which a report reveals most"
            f" beyond the table has a probability of {_at_most(risks.prior)} given the table alone,"
            f" and of {_at_most(risks.posterior)} to someone who also knows this person's report,"
            " on average over the reports that this person may send.",
        ),
    )


def _results(audit: Audit) -> Section | None:
    if not audit.precision:
        return None
    bounded = "Only the limit for each network address bounds their number."
    if audit.protection.relayed is None:
        bounded = (
            "Invitations bound their number; without them, only the limit for each network address"
            " does."
        )
    sent = "largest weight of a report"
    chosen = (
        "Someone who makes up reports can send those with the largest weights, and nothing in a"
        " report shows that it is false."
    )
    if audit.has_tickets:
        sent = "largest weight of a ticket"
        chosen = (
            "The questions of a report follow from a ticket, which nobody can choose. Someone who"
            " makes up reports can send those with the largest weights among what their tickets"
            " admit, and nothing in a report shows that it is false. The weight is the mean over"
            " tickets; tickets with heavier questions are proportionally rarer."
        )
    reports = audit.respondents
    false = {influence.length: influence for influence in audit.false_reports}
    rows = []
    for length, margin in enumerate(audit.precision, 1):
        influence, typical = false.get(length), margin.median
        moved = UNDEFINED
        if influence is not None and typical is not None:
            moved = number(math.ceil(typical * reports / influence.weight))
        rows.append(
            (
                number(length),
                f"{formatted(margin.quantity, typical)} ({reliability(typical)})",
                worst(margin),
                UNDEFINED if influence is None else number(influence.weight, 1),
                moved,
            )
        )
    return Section(
        "How precise the results are, and how false reports can change them",
        (f"With {number(reports)} respondents, by the number of questions in a share:",),
        Table(
            "Precision, and the weight of false reports",
            (
                "questions",
                "typical margin",
                "worst",
                sent,
                "false reports that shift a share by its margin",
            ),
            tuple(rows),
        ),
        (
            f"{definition(PlanQuery().confidence, audit.pilot is not None)} A share is the mean of"
            " the weights of the reports; for true answers, a weight is 0 or 1 on average."
            f" {chosen} {bounded}",
        ),
    )


def _assumptions(audit: Audit) -> Section:
    items = list(_RESTS_ON[audit.protection.randomized_by])
    if audit.pilot is not None:
        items.append(
            f"The people of the pilot ({number(audit.pilot)}) are treated as the whole population,"
            " without a correction for chance."
        )
    if any(influence.examined < influence.possible for influence in audit.false_reports):
        items.append("Weights of reports are computed only for the first sets of questions.")
    return Section("Assumptions", tuple(items), listed=True)


def _people(count: int) -> str:
    return f"the {number(count)} people of the pilot"


def _at_most(share: float) -> str:
    return rounded_up(Fraction(min(share, 1.0)))


def _up(epsilon: float) -> str:
    """Format ε rounded up to two places, or three digits below 0.1."""
    places = 2 if epsilon >= 0.1 else 2 - math.floor(math.log10(epsilon or 1))
    return number(math.ceil(epsilon * 10**places) / 10**places)
