"""Statements about the protection by a relay, and its assumptions."""

import math
from dataclasses import dataclass
from fractions import Fraction

from .errors import ParameterError
from .privacy import amplification_for_breach, worst_case_posterior
from .protocol.relay import Relay
from .shuffling import Shuffled, shuffled
from .texts import group_digits

#: Prior probability in these statements.
_PRIOR = Fraction(1, 20)

#: Smallest batch for which the statements use the smaller δ.
_LARGE = 2_000

#: Largest amplification that is proposed.
_MOST_GAMMA = 10**6


def delta_of(batch: int) -> float:
    """Return the δ of the guarantee for a batch: 10⁻⁸ from 2 000 reports on, else 10⁻⁶."""
    return 1e-8 if batch >= _LARGE else 1e-6


def of_hundred(loss: float) -> int:
    """Return the posterior probability, in percent, after a loss from a prior of 5 %, rounded up.

    >>> of_hundred(0.53), of_hundred(0.0)
    (9, 5)
    """
    odds = _PRIOR / (1 - _PRIOR) * Fraction(math.exp(loss))
    # Only a loss of 0 has an exact result.
    return math.ceil(100 * odds / (1 + odds)) if loss > 0 else 5


@dataclass(frozen=True)
class Relayed:
    """Bounds of what the reports of one batch can reveal about a person.

    `gamma` is the amplification of one report, the bound if relay and collector collude; `losses`
    are those of the smallest batch, if all of its reports are honest.

    Attributes
    ----------
    apart : int
        Largest posterior probability in percent of a property with a prior of 5 %, except with a
        probability of δ, if relay and collector do not collude, the relay passes on all reports
        that it received and no others, and these are honest and can be opened. It does not include
        what the other reports say about everybody.
    together : int
        The same in any other case.
    """

    relay: Relay
    gamma: Fraction
    losses: Shuffled
    apart: int
    together: int

    @classmethod
    def of(cls, relay: Relay, gamma: Fraction) -> "Relayed":
        """Compute the bounds for batches of reports with an amplification.

        Examples
        --------
        >>> keys = {"key": "1" * 64, "sealing_key": "2" * 64}
        >>> relay = Relay(url="https://relay.example.edu", batch=40_000, **keys)
        >>> found = Relayed.of(relay, Fraction(100))
        >>> found.apart, found.together
        (9, 85)
        """
        return cls(relay, gamma, *_of_batch(gamma, relay.batch))

    @property
    def hides(self) -> bool:
        """True if the bound of a batch is smaller than that of a single report."""
        return self.apart < self.together

    def sentences(self) -> list[str]:
        """Return the guarantee in plain sentences."""
        least = group_digits(self.relay.batch)
        if not self.hides:
            return [
                f"Reports go through a relay, but batches of {least} are too small to protect more"
                f" than a single report does: at most {self.together} of 100 people."
            ]
        return [
            f"Reports go through a relay, in batches of at least {least}. Suppose someone thinks"
            " something true of 5 of 100 people. If the relay does not cooperate with the people"
            " who run the survey, passes on all reports and adds none, and the other reports are"
            f" honest and can be decrypted: at most {self.apart} of 100 people, except with a"
            f" probability of 1 in {self.chance}. In any other case: at most {self.together}. The"
            " first figure does not include what the other reports reveal about people in general."
        ]

    @property
    def chance(self) -> str:
        """1/δ, the number of batches of which one is expected to exceed `apart`."""
        return group_digits(round(1 / self.losses.delta))

    def sees(self) -> list[str]:
        """Return sentences about the data that each party sees, and must not store."""
        found = [
            "The relay sees network addresses, the time at which each report arrives, and"
            " ciphertexts of one length. It does not see a report, its inner id or a result. It"
            " must not store addresses, times, the order of arrival, or a report that the collector"
            " has acknowledged.",
        ]
        known = "an id that the relay knows"
        if self.relay.tickets_key is not None:
            known = "which address a ticket was issued to"
            found.append(
                "The relay issues the ticket from which the questions of a report follow. It knows"
                " the id of each ticket and the address that it was issued to, and neither the"
                " questions that follow nor the report that it comes with. It must not store ids or"
                " addresses."
            )
        found.append(
            "The collector sees every report of a batch, in random order, and the time at which the"
            " relay passes the batch on. It does not see network addresses, the time of a report or"
            f" {known}, and must not store or request any of these."
        )
        return found

    def rests_on(self, *, waves: bool = False, timed: bool = False) -> list[str]:
        """Return the assumptions of the guarantee, and its limits.

        `waves` says whether the survey belongs to a series, `timed` whether questions are asked
        after certain answers.
        """
        batch = self.relay.batch
        half = self._with(batch // 2)
        each = "The smallest batch" if self.relay.release == "batches" else "The batch"
        found = [
            f"{each} has at least {group_digits(batch)} honest reports that can be decrypted, each"
            " drawn as the survey says. The figure comes from the tail of the privacy loss, rounded"
            f" up, and holds except with a probability of 1 in {self.chance} (δ).",
            "Reports that the people who run the survey send themselves, or whose random draws they"
            " know, count towards a batch and hide no one. The same is true of random bytes: anyone"
            " can send them, they do not change results, and the relay cannot distinguish them from"
            f" reports. If half of a batch consists of these, at most {half} of 100 people; if all"
            f" other reports do, at most {self.together}.",
            "The relay passes on all reports that it received, and adds none. A relay that passes"
            " on fewer, or fills a batch with its own reports, and then sees results or counts can"
            " subtract what it knows, and learns what a single report reveals: at most"
            f" {self.together} of 100 people.",
            "The relay and the collector are run by different parties that do not cooperate. If"
            " they do, or someone forces both, a report reveals as much as without a relay: at most"
            f" {self.together} of 100 people. Clients compare their limits with this bound.",
            "Whoever serves the page and its script is trusted with the answers, as without a"
            " relay. The relay sees who takes part and when.",
        ]
        if waves:
            found.append(self.two_waves())
        if timed:
            found.append(
                "Some questions are asked only after certain answers. A relay that also knows when"
                " the page was loaded can conclude from the time between whether they were asked;"
                " no bound covers that."
            )
        return found

    def two_waves(self) -> str:
        """Say that the losses of waves add up, with the bound after two waves."""
        both = min(of_hundred(2 * self.losses.tail), self._together(2))
        return (
            "The ε and δ of several waves add up. After two waves through the relay: at most"
            f" {both} of 100 people, except with twice that probability."
        )

    def _with(self, honest: int) -> int:
        return _of_batch(self.gamma, honest, self.losses.delta)[1]

    def _together(self, reports: int) -> int:
        return math.ceil(100 * worst_case_posterior(_PRIOR, self.gamma**reports))


def largest_gamma(at_most: int, batch: int) -> int:
    """Return the largest integer γ, up to a million, for which a batch satisfies a bound.

    The posterior probability of a property with a prior of 5 % is at most `at_most` percent, 6 to
    99, after a batch of honest reports.

    Examples
    --------
    >>> largest_gamma(9, 40_000), largest_gamma(50, 40)
    (113, 19)
    """
    # A bound that a single report satisfies holds for every batch, and a report is not hidden by
    # fewer than γ others.
    low = math.floor(amplification_for_breach(_PRIOR, Fraction(at_most, 100)))
    high = max(low, min(batch, _MOST_GAMMA)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        apart, _ = bounds_of_batch(Fraction(middle), batch)
        low, high = (middle, high) if apart <= at_most else (low, middle)
    return low


def bounds_of_batch(gamma: Fraction, batch: int) -> tuple[int, int]:
    """Return the posterior probabilities in percent without and with collusion."""
    return _of_batch(gamma, batch)[1:]


def _of_batch(gamma: Fraction, batch: int, delta: float | None = None) -> tuple[Shuffled, int, int]:
    """Return the losses of a batch, and the posterior probabilities of `bounds_of_batch`."""
    losses = shuffled(gamma, batch, delta or delta_of(batch))
    if losses is None:
        raise ParameterError("gamma: expected a finite amplification", field="gamma")
    together = math.ceil(100 * worst_case_posterior(_PRIOR, gamma))
    return losses, min(of_hundred(losses.tail), together), together
