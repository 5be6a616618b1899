"""Assessment of additive noise for a file of numbers, by simulated noise and attacks on it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from halftruth_shared import ParameterError, RecordError
from halftruth_shared.analyses.base import Columns
from halftruth_shared.protocol.base import Message
from halftruth_shared.results.wording import number, percent, places

from .estimators import attack, error
from .noise import Array, correlated_noise, correlation_dissimilarity, independent_noise

#: With fewer records, errors of attacks are too uncertain and disclose too much about the people.
FEWEST_RECORDS = 20

#: Limit that keeps squares of products within the range of floating-point numbers.
LARGEST = 1e50

_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)(sd)?", re.ASCII)

#: Label of each estimator.
ATTACKS = {
    "NDR": "the noisy number itself",
    "UDR": "each attribute by itself",
    "SF": "spectral filtering",
    "PCA-DR": "principal components",
    "BE-DR": "Bayes estimate",
}


class Remaining(Message, frozen=True, kw_only=True):
    """Root mean square error of one attack, and its standard error."""

    attack: str
    error: float
    standard_error: float


class NoisyAttribute(Message, frozen=True, kw_only=True):
    """Protection of one attribute by the noise, in the attribute's unit.

    `standard_deviation` is that of the attribute, the error of guessing the mean for all people.
    `removed` is the share of the noise's variance that the best attack removes.
    """

    attribute: str
    standard_deviation: float
    noise: float
    remaining: list[Remaining]
    best: str
    removed: float


class AttackResult(Message, frozen=True, kw_only=True):
    """Protection of the attributes of a file by noise, in one simulation.

    `dissimilarity` compares the correlations of data and noise (HDC Definition 8.1); null for a
    single attribute. `reading` explains the result.
    """

    noise: str
    correlated: bool
    seed: int
    records: int
    dissimilarity: float | None
    attributes: list[NoisyAttribute]
    reading: list[str]

    @property
    def columns(self) -> Columns:
        """Name and type of each column of `rows`."""
        return [
            ("attribute", str),
            ("standard_deviation", float),
            ("noise", float),
            ("attack", str),
            ("error", float),
            ("standard_error", float),
            ("best", bool),
            ("removed", float),
        ]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows, one for each attribute and attack; `removed` is of the best attack."""
        for attribute in self.attributes:
            for left in attribute.remaining:
                yield (
                    attribute.attribute,
                    attribute.standard_deviation,
                    attribute.noise,
                    left.attack,
                    left.error,
                    left.standard_error,
                    left.attack == attribute.best,
                    attribute.removed,
                )


def assess(
    names: Sequence[str], values: Array, noise: str, *, correlated: bool = False, seed: int = 1
) -> AttackResult:
    """Add simulated noise to true values, attack it, and measure the remaining errors.

    Parameters
    ----------
    names : sequence of str
        The attributes.
    values : array of shape (n, m)
        True values, which are not in the result.
    noise : str
        Standard deviation of the noise, such as "5", or "0.5sd" for half of that of each attribute.
    correlated : bool
        Whether the noise has the correlations of the data; otherwise it is independent.
    seed : int
        Seed of the simulation.

    Raises
    ------
    ParameterError
        If the noise is invalid.
    RecordError
        If there are too few records, or an attribute is constant.
    """
    size, relative = _size(noise)
    records, attributes = values.shape
    if records < max(FEWEST_RECORDS, attributes + 1):
        raise RecordError(
            f"records: expected at least {FEWEST_RECORDS}, and more than attributes",
            field="records",
        )
    for name, column in zip(names, values.T, strict=True):
        if np.ptp(column) <= 0:
            raise RecordError(f"attribute '{name}': expected numbers that differ", field=name)
    spread = values.std(axis=0)
    sd = size * (spread if relative else np.ones(attributes))
    covariance = np.atleast_2d(np.cov(values, rowvar=False))
    law = correlated_noise(sd, covariance) if correlated else independent_noise(sd)
    perturbed = values + law.simulate(records, np.random.default_rng(seed))
    if (perturbed == values).all(axis=0).any():
        raise ParameterError("noise: expected more than is lost in rounding", field="noise")
    errors = {name: error(guess, values) for name, guess in attack(perturbed, law).items()}
    found = []
    for j, name in enumerate(names):
        remaining = [
            Remaining(attack=by, error=float(e.value[j]), standard_error=float(e.standard_error[j]))
            for by, e in errors.items()
        ]
        best = min(remaining, key=lambda left: left.error)
        found.append(
            NoisyAttribute(
                attribute=name,
                standard_deviation=float(spread[j]),
                noise=float(sd[j]),
                remaining=remaining,
                best=best.attack,
                removed=1 - float(best.error / errors["NDR"].value[j]) ** 2,
            )
        )
    return AttackResult(
        noise=noise,
        correlated=correlated,
        seed=seed,
        records=records,
        dissimilarity=correlation_dissimilarity(covariance, law.covariance)
        if attributes > 1
        else None,
        attributes=found,
        reading=_reading(found, correlated),
    )


def _size(noise: str) -> tuple[float, bool]:
    """Parse a number, and whether it is in standard deviations of the data."""
    match = _SIZE.fullmatch(noise.strip())
    size = float(match[1]) if match else 0.0
    if not match or not 1 / LARGEST < size < LARGEST:
        raise ParameterError(
            "noise: expected a standard deviation above 0, such as 5, or 0.5sd for half of each"
            " attribute's own",
            field="noise",
        )
    return size, match[2] is not None


def _reading(found: Sequence[NoisyAttribute], correlated: bool) -> list[str]:
    weakest = max(found, key=lambda each: each.removed)
    left = min(each.error for each in weakest.remaining)
    digits = places([2 * left], 3)
    said = [
        f"Least is hidden of '{weakest.attribute}': the best attack ({weakest.best}) removes"
        f" {percent(weakest.removed, 0)} of the noise's variance. The noise has a standard"
        f" deviation of {number(weakest.noise, digits)}, but hides no more than one of"
        f" {number(left, digits)} would.",
        "Who guesses everybody's mean is off by the attribute's own standard deviation. The attacks"
        " use nothing but the noisy records and the law of the noise; whoever knows more of a"
        " person comes nearer.",
    ]
    if correlated:
        said.append(
            "Noise with the data's correlations leaves attributes little to tell of each other"
            " (nothing to linear attacks where its covariance is proportional to the data's, as"
            " with 0.5sd). Only somebody who holds all true records can make it; a person's own"
            " device cannot."
        )
    elif any(each.best in ("SF", "PCA-DR", "BE-DR") for each in found):
        said.append(
            "Independent noise is undone by what attributes tell of each other; compare"
            " --correlated."
        )
    return [*said, *NO_GAMMA]


#: Notes on the missing guarantee of additive noise, and the alternative.
NO_GAMMA = (
    "This noise has no γ: far enough out, a noisy number is as many times likelier for one true"
    " number than for another as you like, even where true numbers lie within bounds. Noise within"
    " bounds is worse: some noisy numbers prove that the true one is not below, or not above, some"
    " other number.",
    "What halftruth offers for numbers is a question whose categories are bins, such as 0–19,"
    " 20–39, 40 and more: its γ holds for every report and against every attack, these among them.",
)
