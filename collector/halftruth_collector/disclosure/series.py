"""Audit of a series: what all its waves tell of one person together, before anyone answers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from halftruth_shared import ParameterError, Protection, Series, Survey
from halftruth_shared.analyses.wording import number
from halftruth_shared.errors import listing
from halftruth_shared.mechanisms.rotation import Rotation
from halftruth_shared.protection import PRIOR, Guarantee, accepted_amplification
from halftruth_shared.protection import percent as rounded_up
from halftruth_shared.series import MOST_WAVES

from .sections import Section, Statement, Table


@dataclass(frozen=True)
class AuditedWave:
    """One wave: what its report promises, and what whole records cost.

    `total` is what it promises of all waves, `cost` that of its report in the ledger of a device,
    `together` that of all until then, and `within` whether a device that answered all before takes
    part in this one, too.
    """

    wave: int
    survey: str
    title: str
    digest: str
    protection: Protection
    total: Guarantee
    cost: Guarantee
    together: Guarantee
    within: bool


@dataclass(frozen=True)
class AuditedQuestion:
    """Amplification of one question by all waves.

    Attributes
    ----------
    name, label : str
    waves : tuple of int
        Those that ask it.
    reports : int
        How many of them report on it at most, for one person.
    known, unknown : Guarantee
        To an adversary who knows all other answers, and to one who knows none.
    """

    name: str
    label: str
    waves: tuple[int, ...]
    reports: int
    known: Guarantee
    unknown: Guarantee


@dataclass(frozen=True)
class SeriesAudit:
    """Audit of waves of one series.

    Attributes
    ----------
    series : str
    total : Guarantee
        Largest total that a wave promises. Devices keep the smallest one of the waves answered.
    waves : tuple of AuditedWave
    questions : tuple of AuditedQuestion
    differences : tuple of str
        Sentences about what is not the same in all waves.
    """

    series: str
    total: Guarantee
    waves: tuple[AuditedWave, ...]
    questions: tuple[AuditedQuestion, ...]
    differences: tuple[str, ...]


def audit_series(surveys: Sequence[Survey]) -> SeriesAudit:
    """Audit the waves of a series.

    Parameters
    ----------
    surveys : sequence of Survey
        Some waves or all of them, in any order.

    Raises
    ------
    ParameterError
        If a survey is in no series or in another one, or two are the same wave.
    """
    numbered: dict[int, Survey] = {}
    for survey in surveys:
        wave = _series(survey).wave
        if wave in numbered:
            raise ParameterError(
                f"surveys '{numbered[wave].id}' and '{survey.id}' are both wave {wave}; expected"
                " different ones",
                field="series.wave",
            )
        numbered[wave] = survey
    every = [numbered[wave] for wave in sorted(numbered)]
    ids = {_series(survey).id for survey in every}
    if len(ids) != 1:
        raise ParameterError(
            f"surveys of the series {listing(sorted(ids))}; expected one series", field="series.id"
        )
    return SeriesAudit(
        series=ids.pop(),
        total=Guarantee(max(Fraction(_series(survey).total_gamma) for survey in every)),
        waves=tuple(_waves(every)),
        questions=tuple(_questions(every)),
        differences=tuple(_differences(every)),
    )


def _series(survey: Survey) -> Series:
    if survey.series is None:
        raise ParameterError(
            f"survey '{survey.id}' is in no series; expected one with [series]", field="series"
        )
    return survey.series


def _waves(surveys: Sequence[Survey]) -> Iterator[AuditedWave]:
    together: Fraction | float = Fraction(1)
    limit: Fraction | float = math.inf
    for survey in surveys:
        protection = Protection.of(survey)
        open_answers = {*protection.unperturbed, *protection.provable}
        cost = accepted_amplification(survey, open_answers)
        total = Fraction(_series(survey).total_gamma)
        within = together * cost <= min(limit, total)
        # What a device refuses costs nothing, and promises nothing.
        if within:
            together, limit = together * cost, min(limit, total)
        yield AuditedWave(
            _series(survey).wave,
            survey.id,
            survey.title_in(),
            survey.digest,
            protection,
            Guarantee(total),
            Guarantee(cost),
            Guarantee(together),
            within,
        )


def _questions(surveys: Sequence[Survey]) -> Iterator[AuditedQuestion]:
    labels = {a.name: a.label_in() for s in reversed(surveys) for a in s.schema.attributes}
    for name in dict.fromkeys(name for survey in surveys for name in survey.schema.names):
        asking = [survey for survey in surveys if name in survey.schema.names]
        # Whether what is asked after it was asked shows in the report on that.
        related = [survey.schema.dependents(name) for survey in asking]
        gammas = [
            survey.mechanism.amplification(survey.schema, set(survey.schema.names) - names)
            for survey, names in zip(asking, related, strict=True)
        ]
        if all(gamma == 1 for gamma in gammas):
            continue
        reports, known = len(asking), math.prod(gammas)
        unknown = known
        rotation = _rotation(asking, name)
        if rotation is not None:
            waves = _series(asking[-1]).wave - _series(asking[0]).wave + 1
            reports = min(reports, sum(rotation.most(each, waves) for each in related[0]))
            known = math.prod(sorted(gammas)[-reports:])
            unknown = min(known, _none_known(asking[0], rotation, name, waves))
        yield AuditedQuestion(
            name=name,
            label=labels[name],
            waves=tuple(_series(survey).wave for survey in asking),
            reports=reports,
            known=Guarantee(known),
            unknown=Guarantee(unknown),
        )


def _rotation(asking: Sequence[Survey], name: str) -> Rotation | None:
    """Rotation of views over these waves; None if there are none, or others in some wave.

    Devices draw another rotation where questions have other names or another order, too.
    """
    first = asking[0]
    alike = all(
        survey.mechanism == first.mechanism
        and survey.schema.shape == first.schema.shape
        and _asked(survey) == _asked(first)
        for survey in asking
    )
    if not alike or name in first.mechanism.unperturbed(first.schema):
        return None
    return first.mechanism.rotation(first.schema)


def _asked(survey: Survey) -> list[object]:
    """Names of questions in their order, and what they are asked after."""
    return [(attribute.name, attribute.ask_if) for attribute in survey.schema.attributes]


def _none_known(survey: Survey, rotation: Rotation, name: str, waves: int) -> Fraction | float:
    schema, mechanism = survey.schema, survey.mechanism
    once = mechanism.answer_amplification(schema, mechanism.unperturbed(schema))
    if not isinstance(once.known, Fraction) or not isinstance(once.unknown, Fraction):
        return math.inf
    return rotation.unknown_amplification(name, waves, once.known, once.unknown)


def _differences(surveys: Sequence[Survey]) -> Iterator[str]:
    first = surveys[0]
    totals = dict.fromkeys(_series(survey).total_gamma for survey in surveys)
    if len(totals) > 1:
        yield (
            f"The waves promise different totals ({', '.join(map(str, totals))}); a device keeps"
            " the smallest one of the waves that it takes part in."
        )
    waves = [_series(survey).wave for survey in surveys]
    missing = sorted(set(range(1, waves[-1])).difference(waves))
    if missing:
        yield f"Not audited: wave {listing(list(map(str, missing)))}, which may cost more."
    before = {a.name: a.categories for a in first.schema.attributes}
    for survey in surveys[1:]:
        begin = f"Wave {_series(survey).wave} against wave {waves[0]}"
        now = {a.name: a.categories for a in survey.schema.attributes}
        for words, names in (
            ("asks", [name for name in now if name not in before]),
            ("does not ask", [name for name in before if name not in now]),
            ("has other answers to", [n for n in before if now.get(n, before[n]) != before[n]]),
        ):
            if names:
                yield f"{begin}: {words} {listing(names)}."
        if before.keys() == now.keys() and _asked(survey) != _asked(first):
            yield f"{begin}: asks in another order, or after other answers."
        if survey.mechanism != first.mechanism:
            yield f"{begin}: answers are perturbed in another way."


def series_statement(audit: SeriesAudit) -> Statement:
    """Describe the audit of a series in words; bounds are rounded up."""
    alike: dict[str, list[int]] = {}
    for wave in audit.waves:
        alike.setdefault(" ".join(wave.protection.sentences()), []).append(wave.wave)
    asked = "; ".join(f"wave {wave.wave} {wave.digest}" for wave in audit.waves)
    return Statement(
        f"Audit of the series “{audit.series}”",
        f"SHA-256 of what is asked and how: {asked}.",
        (
            *series_sections(audit),
            *(
                Section(f"What a report of wave {listing(list(map(str, waves)))} promises", (said,))
                for said, waves in alike.items()
            ),
        ),
    )


def series_sections(audit: SeriesAudit) -> tuple[Section, ...]:
    """Sections on the total of all waves, its assumptions, and differences between waves."""
    return (_total(audit), _each(audit), _rests_on(), _agreement(audit))


def _total(audit: SeriesAudit) -> Section:
    paragraph = (
        "All reports of one person in this series together make what was thought"
        f" {rounded_up(PRIOR)} likely at most {rounded_up(audit.total.posterior)} likely"
        f" (γ = {audit.total.written}), whoever they are and whatever else is known, however many"
        " waves there will be: their device multiplies what each wave costs, and takes part in none"
        " that would exceed this total."
    )
    equal = _equal_waves(audit)
    if equal is not None:
        paragraph += f" Of waves like wave {audit.waves[0].wave} it takes part in {number(equal)}."
    refused = [str(wave.wave) for wave in audit.waves if not wave.within]
    if refused:
        paragraph += (
            f" Who answered all waves before is refused wave {listing(refused)}: the total is"
            " spent."
        )
    rows = tuple(
        (
            number(wave.wave),
            wave.survey,
            wave.cost.written,
            wave.together.written if wave.within else "refused",
            rounded_up(wave.together.posterior),
        )
        for wave in audit.waves
    )
    return Section(
        "What all waves together promise",
        (paragraph,),
        Table(
            "Whole records, for who answers every wave",
            ("wave", "survey", "γ of this wave", "γ until then", "from 5 % to at most"),
            rows,
        ),
    )


def _equal_waves(audit: SeriesAudit) -> int | None:
    """Number of waves like the first one that the total has room for."""
    one, total = audit.waves[0].cost.gamma, audit.waves[0].total.gamma
    if isinstance(one, float) or isinstance(total, float) or one <= 1:
        return None
    count = 0
    while count < MOST_WAVES and one ** (count + 1) <= total:
        count += 1
    return count


def _each(audit: SeriesAudit) -> Section:
    rows = tuple(
        (
            question.label,
            ", ".join(map(str, question.waves)),
            number(question.reports),
            question.known.written,
            rounded_up(question.known.posterior),
            question.unknown.written,
            rounded_up(question.unknown.posterior),
        )
        for question in audit.questions
    )
    return Section(
        "What they tell of each question",
        (
            "Of an answer that stays the same, by the reports of a person who answers every wave"
            " audited, to someone who knows all other answers, and to someone who knows none.",
        ),
        Table(
            "Single questions",
            (
                "question",
                "asked in waves",
                "reports at most",
                "γ, all others known",
                "from 5 % to at most",
                "γ, none known",
                "from 5 % to at most",
            ),
            rows,
        ),
        ("A question that is asked under another name counts as another one.",),
    )


def _rests_on() -> Section:
    return Section(
        "What the total rests on",
        (
            "The ledger of what was spent is kept by each person's own device or browser, and"
            " nowhere else. Whoever clears its data, uses a private window or another device begins"
            " a new one: with k ledgers the bound is the total's kth power.",
            "A wave counts once its report may have left the device. The same survey answered twice"
            " on one device sends the same report again, and costs nothing more. Where a device is"
            " shared, each survey counts once for all who use it: whoever answers again as another"
            " person draws anew.",
            "Invitations for each wave keep anybody from being counted twice in it, whichever"
            " device is used; they do not bound the total.",
            "Another series has a total of its own, and a survey in none has none. A person's own"
            " limit in the client is for all of them.",
        ),
        listed=True,
    )


def _agreement(audit: SeriesAudit) -> Section:
    same = "All waves promise the same total, and ask the same questions in the same way."
    return Section(
        "Whether waves agree",
        audit.differences or (same if len(audit.waves) > 1 else "One wave was audited.",),
        listed=len(audit.differences) > 1,
    )
