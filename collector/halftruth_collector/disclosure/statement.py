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
        f" {number(audit.respondents)} respondents planned. SHA-256 of what is asked and how:"
        f" {audit.digest}.",
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
            "This holds against whoever sees the report, the collector's own operator among them,"
            " and however they compute. Prior beliefs may rest on anything but this report."
        )
    return Section("What every single report promises", tuple(paragraphs))


def _answers(audit: Audit) -> Section | None:
    if not audit.answers:
        return None
    shown, has_pilot = _most_revealed(audit), audit.pilot is not None
    header = ["question", "answer", "before"]
    header += ["knows the population: on average", "knows the population: at most"] * has_pilot
    header += ["knows all other answers: at most", "whatever they know: at most"]
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
            f"Each answer was thought {percent(float(PRIOR))} likely before. The table has, for"
            " every question, the answer that a report reveals most about."
        )
    else:
        before = f"Before, answers were thought as likely as they are among {_people(audit.pilot)}."
        if len(shown) < len(audit.answers):
            before += f" The table has {len(shown)} of {len(audit.answers)} answers, those that a"
            before += " report reveals most about."
    notes = []
    if has_pilot:
        notes.append(
            "Knows the population: someone who knows how answers are associated in it, and so"
            " learns about one answer from what is reported about the others. The average is over"
            " the reports of the people who gave the answer."
        )
    notes.append("A question with several answers is one question.")
    if audit.protection.unprotected:
        notes.append(
            f"The last two columns are among {audit.protection.people}, if the answer is as likely"
            " among them before. The columns about the population include what those answers tell"
            " by themselves."
            if has_pilot
            else f"Before and after: among {audit.protection.people}."
        )
    if has_pilot and any(answer.joint is None for answer in shown):
        notes.append(f"“{UNDEFINED}” where there are too many possible records to compute it.")
    return Section(
        "What one report tells of an answer",
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
    "device": "Whoever answers"
    " again in the same browser on the same page address, or by the same key in the same outbox,"
    " sends the first report again, which tells nothing more. Another browser, device or page"
    " address, or another survey about the same things, draws anew.",
    "respondent": "Whoever is asked again, or in another survey about the same things, draws anew.",
}

#: Protection against double counting, without a relay and with one.
_INVITED = (
    " An invitation for each person keeps another report from being counted, but not from being"
    " seen by whoever receives it."
)
_NOT_INVITED = " It is counted, too: a survey with a relay has no invitations."

#: Assumptions of the guarantee, by the party that randomizes.
_RESTS_ON = {
    "device": (
        "The person's own device draws the report as the survey says, from good randomness, and"
        " sends nothing else: whoever provides the form or its script could do otherwise.",
        "One report for each person, which a browser keeps to on one page address; whether somebody"
        " took part at all is not hidden.",
        "Somebody looking over a shoulder, or a spied-out device, sees answers before any draw.",
    ),
    "respondent": (
        "Respondents randomize as the survey says, out of everybody's sight, and tell nothing but"
        " the outcome. Those who say the harmless answer whatever they draw are safe, and make"
        " estimates wrong.",
        "One report for each person; whether somebody took part at all is not hidden.",
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
        few = f" It would pass on none of {number(audit.respondents)} reports, as are planned."
    hides = Section(
        "What the relay hides, and from whom",
        (
            f"Reports go to {relay.url}, which passes them on in random order"
            f" {_RELEASES[relay.release]} at least {number(relay.batch)}, and never fewer.{few} The"
            " relay, its key, the collector's key and this number are part of the digest.",
            *relayed.sentences(),
            "This is amplification by shuffling (Feldman, McMillan & Talwar 2021), from"
            f" ε = {losses.local_epsilon:.3g} of each report to ε = {_up(losses.epsilon)} with"
            f" δ = 1 in {relayed.chance}: with that chance at most a batch is more than"
            f" e^{_up(losses.tail)} times as likely by one answer as by another.",
            *relayed.sees(),
        ),
    )
    items = relayed.rests_on(waves=audit.series is not None, timed=bool(audit.protection.timing))
    return hides, Section("What this promise of the relay rests on", tuple(items), listed=True)


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
                "Nothing is promised beyond the above: answers that are sent unperturbed or can be"
                " proved make groups that can be told apart, with fewer people in each to hide"
                " among.",
            ),
        )
    chance = f"1 in {number(math.floor(1 / bound.delta))}"
    if bound.tail > _HARDLY * bound.local_epsilon:
        paragraph = (
            "So few reports do not hide one another: but for what is above, nothing is promised"
            f" with δ = {chance}."
        )
    else:
        guarantee = Guarantee(Fraction(math.exp(bound.tail)))
        closed_form = (
            "the closed form does not apply to so few respondents"
            if bound.closed_form is None
            else f"ε = {_up(bound.closed_form)} by the closed form"
        )
        paragraph = (
            f"Through somebody's own report, the counts of {number(bound.respondents)} reports and"
            f" all that is computed from them make what was thought {percent(float(PRIOR))} likely"
            f" at most {rounded_up(guarantee.posterior)} likely, but for a chance of {chance}: with"
            f" that chance at most they are more than e^{_up(bound.tail)} times as likely by one"
            " answer as by another. This is amplification by shuffling, from"
            f" ε = {bound.local_epsilon:.3g} of each report to ε = {_up(bound.epsilon)} with"
            f" δ = {chance}: whatever is looked for in the counts, its probability by one answer is"
            f" at most e^ε times that by another, plus δ; {closed_form}. This does not include what"
            " the others' reports say about everybody."
        )
    return Section(
        title,
        (
            paragraph,
            "This takes more than the promise of a single report does: that nobody is shown which"
            " report came from whom or when (who watches the counts grow sees each report come, and"
            " the database tells the order of arrival until it is compacted), and that so many"
            " respondents each sent one report as the survey says. Reports that are false, or whose"
            " draws somebody knows, do not count.",
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
            f"Someone who knows {listing(risks.quasi)} of {_people(audit.pilot)}, and all reports"
            " but not whose each is, may put reports back to what they were drawn from. So they"
            f" link a person with their answer to {risks.sensitive} with a risk of"
            f" {_at_most(risks.at_once)} at most{one_by_one}. For {_at_most(risks.above)} of the"
            f" people {'a risk' if one_by_one else 'the risk'} is above {percent(LIMIT)}.",
            "Risk is no belief: the answer of which a report tells most beyond the table is"
            f" {_at_most(risks.prior)} likely by the table alone, and {_at_most(risks.posterior)}"
            " to who knows whose report is which, on average over the reports that this person may"
            " send.",
        ),
    )


def _results(audit: Audit) -> Section | None:
    if not audit.precision:
        return None
    bounded = "Only a limit for each address bounds their number."
    if audit.protection.relayed is None:
        bounded = (
            "An invitation for each person bounds their number; without invitations, only a limit"
            " for each address."
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
        "What the results will tell, and what can falsify them",
        (f"With {number(reports)} respondents, by the number of questions that a share is of:",),
        Table(
            "Precision, and the weight of false reports",
            (
                "questions",
                "typical margin",
                "worst",
                "largest weight of one report",
                "false reports that move a share by its margin",
            ),
            tuple(rows),
        ),
        (
            f"{definition(PlanQuery().confidence, audit.pilot is not None)} A share is the mean of"
            " what the reports weigh, which of true answers is 0 or 1 on average."
            " Who makes up reports can send those that weigh most, and nothing in a report shows"
            f" that it is false. {bounded}",
        ),
    )


def _assumptions(audit: Audit) -> Section:
    items = list(_RESTS_ON[audit.protection.randomized_by])
    if audit.pilot is not None:
        items.append(
            f"The people of the pilot ({number(audit.pilot)}) are taken for the whole population;"
            " what it would tell by chance alone is not taken off."
        )
    if any(influence.examined < influence.possible for influence in audit.false_reports):
        items.append("Weights of reports are those of the first sets of questions only.")
    return Section("What this rests on", tuple(items), listed=True)


def _people(count: int) -> str:
    return f"the {number(count)} people of the pilot"


def _at_most(share: float) -> str:
    return rounded_up(Fraction(min(share, 1.0)))


def _up(epsilon: float) -> str:
    """Format ε rounded up to two places, or three digits below 0.1."""
    places = 2 if epsilon >= 0.1 else 2 - math.floor(math.log10(epsilon or 1))
    return number(math.ceil(epsilon * 10**places) / 10**places)
