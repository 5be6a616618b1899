"""The schemes to compare, and their comparison on the same records."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.likelihood import CONSTRAINED_CELLS
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import (
    GammaDiagonal,
    Mechanism,
    ParameterError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.channels.axes import Array
from halftruth_shared.rational import as_float

from .baskets import BasketScheme, BasketSupports
from .cut_and_paste import CUTOFF, CutAndPaste
from .experiment import Records, Scheme, Support, errors_of
from .mask import Mask
from .results import RandomizedErrors, RivalsResult

#: Prior of the property for posteriors under RAN-GD.
PRIOR = Fraction(1, 20)

_RANDOMIZED = "randomized gamma-diagonal"


def try_schemes(
    records: Records,
    gamma: Fraction,
    surveys: int,
    *,
    others: Mapping[str, Scheme] | None = None,
    surveys_of_alpha: int | None = None,
    steps: int = 4,
) -> RivalsResult:
    """Compare all schemes of one amplification.

    Parameters
    ----------
    gamma : Fraction
        Amplification of every candidate, above 1.
    surveys : int
        Number of simulated surveys of each scheme.
    others : mapping, optional
        Further schemes by name.
    surveys_of_alpha, steps : int, optional
        Number of simulated surveys with RAN-GD for each α, `surveys` by default, and number of
        steps to the largest α.

    Raises
    ------
    ParameterError
        If γ is not above 1.
    """
    if gamma <= 1:
        raise ParameterError("gamma: expected an amplification above 1", field="gamma")
    tried, left_out = candidates(records, gamma)
    schemes = [
        errors
        for name, scheme in (tried | dict(others or {})).items()
        for errors in errors_of(name, scheme, records, surveys)
    ]
    randomized = []
    if _RANDOMIZED in tried:
        times = surveys if surveys_of_alpha is None else surveys_of_alpha
        randomized = randomized_errors(records, gamma, times, steps)
    return RivalsResult(
        records=records.truth.reports,
        gamma=as_float(gamma),
        min_support=records.min_support,
        surveys=surveys,
        schemes=schemes,
        left_out=left_out,
        randomized=randomized,
    )


def candidates(records: Records, gamma: Fraction) -> tuple[dict[str, Scheme], list[str]]:
    """Return the schemes of an amplification, and the reasons why others are omitted.

    Cut-and-paste is used with FRAPP's cutoff and with the best one for the longest itemsets, whose
    supports FRAPP's cutoff may not identify.
    """
    schema, lengths = records.schema, records.lengths
    best = CutAndPaste.best(schema, gamma, lengths[-1])
    cutoffs = {CUTOFF} if best is None else {CUTOFF, best.cutoff}
    makers: dict[str, Callable[[], Scheme]] = {
        "gamma-diagonal": lambda: make_mechanism_scheme(records, GammaDiagonal(gamma)),
        _RANDOMIZED: lambda: make_mechanism_scheme(
            records, RandomizedGammaDiagonal.for_amplification(schema, gamma)
        ),
        "MASK": lambda: make_basket_scheme(records, Mask.for_amplification(schema, gamma)),
        "EMASK": lambda: make_basket_scheme(records, Mask.extended(schema, gamma)),
        **{
            f"cut-and-paste, K = {cutoff}": partial(_cut_and_paste, records, gamma, cutoff)
            for cutoff in sorted(cutoffs)
        },
        "randomized response": lambda: make_mechanism_scheme(
            records, RandomizedResponse.for_amplification(schema, gamma)
        ),
        "split questionnaire": lambda: make_mechanism_scheme(
            records,
            SplitQuestionnaire.designed(schema, gamma, (), dict.fromkeys(lengths, 1.0)),
            guess=schema.size <= CONSTRAINED_CELLS,
        ),
    }
    schemes, left_out = {}, []
    for name, make in makers.items():
        try:
            schemes[name] = make()
        except ParameterError as error:
            left_out.append(f"{name}: {error}")
    return schemes, left_out


def make_mechanism_scheme(records: Records, mechanism: Mechanism, guess: bool = False) -> Scheme:
    """Make a scheme from one of halftruth's mechanisms, with unbiased estimates.

    Parameters
    ----------
    guess : bool
        Whether to add the best guess.

    Raises
    ------
    ParameterError
        If the mechanism is not suitable for the records.
    """
    schema, codes = records.schema, records.codes
    survey = Survey("rivals", "Rivals", schema, mechanism)
    source = reconstruction(survey)

    def simulate(rng: np.random.Generator) -> dict[str, Support]:
        reports = survey.perturbation.reports(codes, rng)
        estimator = Estimator(survey, Counts.from_reports(survey, reports))

        def support(names: Sequence[str]) -> Array | None:
            return estimator.table(names).value if source.identified(names) else None

        guesses = {"best guess": estimator.best_guess.table} if guess else {}
        return {"": support, **guesses}

    def condition_number(names: Sequence[str]) -> float | None:
        channel = survey.perturbation.channel(names)
        return None if channel is None else channel.condition_number

    return Scheme(survey.perturbation.amplification(), condition_number, simulate)


def make_basket_scheme(records: Records, scheme: BasketScheme) -> Scheme:
    """Make a scheme from a basket scheme of the literature, for the baskets of the records."""
    schema, codes = records.schema, records.codes
    attributes = len(schema.shape)
    return Scheme(
        scheme.amplification(schema),
        lambda names: scheme.condition_number(attributes, len(names)),
        lambda rng: {
            "": BasketSupports(scheme, schema, scheme.simulate(schema, codes, rng)).support
        },
    )


def randomized_errors(
    records: Records, gamma: Fraction, surveys: int, steps: int = 4
) -> list[RandomizedErrors]:
    """Compute errors of RAN-GD for α from 0 to γx, or the largest without negative probabilities.

    Parameters
    ----------
    surveys : int
        Number of simulated surveys for each α.
    steps : int
        Number of steps from the smallest to the largest α.

    Raises
    ------
    ParameterError
        If gamma-diagonal matrices are not suitable for the records.
    """
    most = min(Fraction(1), Fraction(records.schema.size - 1) / gamma)
    mechanisms = [RandomizedGammaDiagonal(gamma, most * step / steps) for step in range(steps + 1)]
    # Different surveys for each α, so that errors of two α are independent.
    seeds = range(0, surveys * len(mechanisms), surveys)
    found = []
    for mechanism, seed in zip(mechanisms, seeds, strict=True):
        lower, upper = posterior_range(mechanism, records.schema.size)
        scheme = make_mechanism_scheme(records, mechanism)
        [errors] = errors_of(_RANDOMIZED, scheme, records, surveys, seed)
        found.append(
            RandomizedErrors(
                alpha=float(mechanism.alpha),
                prior=float(PRIOR),
                lower=float(lower),
                upper=float(upper),
                errors=errors,
            )
        )
    return found


def _cut_and_paste(records: Records, gamma: Fraction, cutoff: int) -> Scheme:
    return make_basket_scheme(records, CutAndPaste.for_amplification(records.schema, gamma, cutoff))


def posterior_range(
    mechanism: RandomizedGammaDiagonal, cells: int, prior: Fraction = PRIOR
) -> tuple[Fraction, Fraction]:
    """Return posteriors of a property of the reported record for r = −α and r = α (FRAPP eq. 31).

    They hold for an attacker who knows a client's r, which is never sent. If α is so large that the
    reported record is the least likely one, this is not the worst case: other records have larger
    posteriors.

    Examples
    --------
    >>> low, high = posterior_range(RandomizedGammaDiagonal("19", "0.5"), 2000)
    >>> f"{float(low):.0%} {float(high):.0%}"
    '33% 60%'
    """

    def posterior(sign: int) -> Fraction:
        same = mechanism.gamma * (1 + sign * mechanism.alpha)
        other = 1 - sign * mechanism.gamma * mechanism.alpha / (cells - 1)
        return prior * same / (prior * same + (1 - prior) * other)

    return posterior(-1), posterior(1)
