"""Check of a survey before it is published."""

import math
from fractions import Fraction
from typing import Annotated

from halftruth_shared import Protection, SplitQuestionnaire, Survey
from halftruth_shared.acceptance import apply_limit
from halftruth_shared.errors import listing
from halftruth_shared.protocol.base import Digest, Message
from halftruth_shared.protocol.terms import Terms
from halftruth_shared.rational import format_approximately, parse_rational
from halftruth_shared.texts import fits
from msgspec import Meta

from .ops.settings import FormLimits


class SurveyCheck(Message, frozen=True, kw_only=True):
    """Promises of a survey, and whether this collector's form would ask it."""

    id: str
    title: str
    digest: Digest
    questions: int
    protection: Annotated[
        list[str],
        Meta(description="Privacy promises for the record and for each answer, as sentences."),
    ]
    unconfirmed: Annotated[
        list[str], Meta(description="What has to be checked before the survey can be published.")
    ]
    perturbed_openly: Annotated[
        list[str],
        Meta(
            description="Questions that are not sensitive but perturbed, although the mechanism"
            " could send them unchanged."
        ),
    ]
    without_short: Annotated[
        list[str],
        Meta(
            description="Questions and options that results call by their names, as they have no"
            " `short` and their labels are too long."
        ),
    ]
    refused_by_form: Annotated[
        str | None,
        Meta(
            description="Why the form hosted by this collector refuses the survey; null if it"
            " does not."
        ),
    ]

    def sentences(self) -> list[str]:
        """Return the check in words, one line each."""
        form = (
            "The hosted form asks it."
            if self.refused_by_form is None
            else f"The hosted form refuses it: {self.refused_by_form}."
        )
        lines = [*self.protection, form]
        if self.perturbed_openly:
            public = ", ".join(f'"{name}"' for name in self.perturbed_openly)
            lines.append(
                f"Perturbed although not sensitive: {', '.join(self.perturbed_openly)}. With"
                f" public = [{public}] under [mechanism] they are sent unchanged, and groups of"
                " them are more precise."
            )
        if self.without_short:
            lines.append(
                f"Too long for tables and charts are the labels of {listing(self.without_short)};"
                " results show these names. A member short is shown instead, as in"
                ' short = "Drinks daily".'
            )
        return [*lines, *(f"Not confirmed: {each}." for each in self.unconfirmed)]


def check_survey(survey: Survey, limits: FormLimits, terms: Terms | None = None) -> SurveyCheck:
    """Check a survey as publishing would, with the largest amplifications of hosted forms.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, SplitQuestionnaire, Survey
    >>> survey = Survey("s", "S", Schema([Attribute("a", ["no", "yes"])]), GammaDiagonal("20"))
    >>> check_survey(survey, FormLimits()).refused_by_form
    'its amplification 20 exceeds 19 (HALFTRUTH_MAX_GAMMA)'
    >>> check_survey(survey, FormLimits("20")).refused_by_form is None
    True
    >>> open = Attribute("age", ["young", "old"], sensitive=False)
    >>> schema = Schema([*survey.schema.attributes, open])
    >>> split = SplitQuestionnaire.for_amplification(schema, 19, max_length=1)
    >>> check_survey(Survey("s", "S", schema, split), FormLimits()).perturbed_openly
    ['age']
    >>> long = Attribute("sad", ["no", "yes"], label="How often have you felt sad this week?")
    >>> survey = Survey("s", "S", Schema([long]), GammaDiagonal("9"))
    >>> check_survey(survey, FormLimits()).without_short
    ['sad']
    """
    return SurveyCheck(
        id=survey.id,
        title=survey.title_in(),
        digest=survey.digest,
        questions=len(survey.schema.questions),
        protection=Protection.of(survey).sentences(),
        unconfirmed=list(survey.unconfirmed),
        perturbed_openly=_perturbed_openly(survey),
        without_short=_without_short(survey),
        refused_by_form=why_form_refuses(survey, limits, terms),
    )


def _perturbed_openly(survey: Survey) -> list[str]:
    """Return attributes that need no protection and could be public, but are not."""
    if not isinstance(survey.mechanism, SplitQuestionnaire):
        return []
    public = survey.perturbation.unperturbed
    return [a.name for a in survey.schema.attributes if not a.sensitive and a.name not in public]


def _without_short(survey: Survey) -> list[str]:
    """Return the questions and options whose labels are too long for results."""
    questions = [q.name for q in survey.schema.questions if not q.short and not fits(q.label_in())]
    options = [
        a.name
        for a in survey.schema.attributes
        if a.question is not None and not a.short and not fits(a.option_in())
    ]
    return [*questions, *options]


def allowed_by_form(survey: Survey) -> list[str]:
    """Return the attributes that the hosted form may send unperturbed, or prove.

    The operator who published the survey has declared them not sensitive.
    """
    provable = survey.perturbation.provable
    return [
        attribute.name
        for attribute in survey.schema.attributes
        if not attribute.sensitive or attribute.name in provable
    ]


def why_form_refuses(survey: Survey, limits: FormLimits, terms: Terms | None = None) -> str | None:
    """Return the reason why the hosted form refuses a survey; None if it accepts it.

    Like every client, it compares the survey with limits of the amplification, those of the
    collector. It also refuses the survey on other pages than those of its series, and to a browser
    whose reports together would exceed the total.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
    >>> survey = Survey("s", "S", Schema([Attribute("a", ["no", "yes"])]), GammaDiagonal("9"))
    >>> why_form_refuses(survey, FormLimits(max_total_gamma="8"))
    'its amplification 9 exceeds 8 (HALFTRUTH_MAX_TOTAL_GAMMA)'
    >>> limits = FormLimits(max_total_gamma="81")
    >>> why_form_refuses(survey, limits, Terms(shared_devices=True))
    'shared_devices: HALFTRUTH_MAX_TOTAL_GAMMA is the total of one person; expected false'
    """
    limit = parse_rational(limits.max_gamma, "max_gamma")
    of_answer: Fraction | None = None
    if limits.max_answer_gamma is not None:
        of_answer = parse_rational(limits.max_answer_gamma, "max_answer_gamma")
    if survey.mechanism.randomized_by != "device":
        return "respondents randomized their answers themselves, for 'halftruth reports read'"
    schema, perturbation = survey.schema, survey.perturbation
    harmless = set(allowed_by_form(survey))
    applied = apply_limit(survey, harmless, limit, of_answer)
    if not applied.is_exceeded:
        return _why_total_refuses(survey, limits.max_total_gamma, terms)
    if applied.amplification == math.inf:
        names = [
            name for name in schema.names if name not in harmless and perturbation.reveals(name)
        ]
        said = ", ".join(f"'{name}'" for name in names)
        return f"a report can rule out an answer to {said} (γ is infinite)"
    of_record = applied.name == "max_gamma"
    what = "its amplification" if of_record else "its amplification of an answer"
    reason = (
        f"{what} {format_approximately(applied.amplification)} exceeds"
        f" {format_approximately(applied.limit)} (HALFTRUTH_{applied.name.upper()})"
    )
    if survey.promise == "answer" and of_answer is None:
        reason += "; it promises by answer, for which HALFTRUTH_MAX_ANSWER_GAMMA is not set"
    return reason


def _why_total_refuses(
    survey: Survey, max_total_gamma: str | None, terms: Terms | None
) -> str | None:
    """Return the reason why the limit of all reports of a browser refuses every report."""
    if max_total_gamma is None:
        return None
    spent = survey.perturbation.spent_amplification
    total = parse_rational(max_total_gamma, "max_total_gamma")
    if spent > total:
        return (
            f"its amplification {format_approximately(spent)} exceeds"
            f" {format_approximately(total)} (HALFTRUTH_MAX_TOTAL_GAMMA)"
        )
    if terms is not None and terms.shared_devices:
        return (
            "shared_devices: HALFTRUTH_MAX_TOTAL_GAMMA is the total of one person; expected false"
        )
    return None
