"""Samples of one question: what they assume, and whether they are any."""

from collections.abc import Sequence

import numpy as np
from halftruth_shared import ParameterError, Schema
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.two_samples import SampleEstimate
from halftruth_shared.errors import listing

from ..estimation.answers import answer_codes, answers_of
from ..estimation.bounds import normal_quantile
from ..estimation.estimates import estimates
from ..estimation.regression import Regression
from ..estimation.two_samples import SHARES
from .base import Counted

#: What each design assumes, besides that everybody is in a sample by chance.
ASSUMED = {
    "strata": "All are assumed to follow the instructions, and people to be drawn by chance from"
    " each stratum.",
    "anchor": "Who does not follow the instructions is assumed to answer yes or no with the same"
    " chance, to both questions, and to have the prevalence of all others; and nobody’s answer to"
    " the anchor to be yes.",
    "compliance": "All are assumed to follow the instructions. Who answers at random is not found"
    " out where one sample’s probabilities are those of the other with yes and no exchanged.",
    "cheater-detection": "Who does not follow the instructions is assumed to answer no, and what is"
    " true of these is not known: prevalence is from “honest yes” to “honest yes” and “cheaters”"
    " together.",
    "lie-detector": "Everybody whose answer is no is assumed to follow the instructions, and"
    " whoever does not to answer no.",
    "unrelated-question": "All are assumed to follow the instructions, and the harmless question to"
    " have one prevalence in both samples.",
}


#: What each design of several samples assumes besides.
SAMPLES_ASSUME = {
    "compliance": ASSUMED["compliance"],
    "cheater-detection": "Who does not follow the instructions is assumed to answer no. The"
    " equation is of all others, whose share is assumed to be the same whatever the predictors.",
    "lie-detector": f"{ASSUMED['lie-detector']} How many do not is assumed to be the same share of"
    " those with the answer whatever the predictors.",
    "unrelated-question": f"{ASSUMED['unrelated-question']} It is assumed to be the same whatever"
    " the predictors.",
}


def no_samples(
    counted: Counted,
    names: Sequence[str],
    reports: Sequence[float | None],
    *,
    same_people: bool = False,
) -> str | None:
    """Why these are no samples of a question that was randomized by itself, if so.

    `reports` are the numbers of their reports, None where reports do not tell a question by itself.
    Of two questions of the same people somebody answered both.
    """
    if None in reports:
        return "reports do not tell each of these questions by itself, and directly who is meant"
    if not all(reports):
        return "nobody answered one of the questions"
    schema, counts = counted.survey.schema, counted.counts
    answered = [
        np.isin(counts.cells[:, position], answer_codes(schema.attributes[position]))
        for position in schema.positions(names)
    ]
    several = counts.counts[np.sum(answered, axis=0) > 1].any()
    if same_people:
        return None if several else "nobody answered both questions; expected the same people"
    if several:
        return "somebody answered two of the questions; expected samples of different people"
    return None


def check_samples(schema: Schema, query: RegressionQuery) -> None:
    """Check that samples were asked the outcome, and that there are some if the design has them.

    Raises
    ------
    SchemaError, ParameterError
    """
    if not query.samples and query.design != "compliance":
        raise ParameterError("design: expected samples besides the outcome", field="design")
    if not query.samples:
        return
    answers = answers_of(schema.attributes[schema.position(query.outcome, "outcome")])
    for place in schema.positions(query.samples, "samples"):
        asked = schema.attributes[place]
        if asked.name in (query.outcome, *query.predictors) or answers_of(asked) != answers:
            raise ParameterError(
                f"samples: '{asked.name}'; expected a question other than outcome and predictors,"
                f" with the answers of '{query.outcome}': {listing(answers)}",
                field="samples",
            )


def share_of(query: RegressionQuery, fit: Regression) -> SampleEstimate | None:
    """Further share that a design of samples identifies, with a normal interval."""
    if fit.share is None:
        return None
    value, error = fit.share[0], float(np.sqrt(fit.share[1][-1]))
    half_width = normal_quantile(1 - query.confidence) * error
    ends = value - half_width, value + half_width
    quantity = [SHARES[query.design]]
    return next(estimates(SampleEstimate, value, error, ends, quantity=quantity, moment=[value]))
