"""Audit of a wave of a series: the total amplification, and the part that a wave spends."""

from dataclasses import dataclass

from halftruth_shared import Series, Survey
from halftruth_shared.protection import PRIOR, Guarantee, Protection
from halftruth_shared.protection import percent as rounded_up
from halftruth_shared.results.wording import number
from halftruth_shared.series import MOST_WAVES

from .sections import Section


@dataclass(frozen=True)
class SeriesAudit:
    """Total amplification of a series, and the part that one wave spends.

    `total` is of all reports of one person, and `cost` of one report in this wave, as the ledger of
    a device counts it. `whole` says what the total covers, as in :class:`.Protection`. `waves` like
    this one are within the total; None if the wave costs nothing.
    """

    series: Series
    whole: str
    total: Guarantee
    cost: Guarantee
    waves: int | None


def audit_series(survey: Survey, protection: Protection) -> SeriesAudit | None:
    """Audit the series of a survey; None if no device keeps a total."""
    if survey.series is None or protection.series is None:
        return None
    cost = survey.perturbation.spent_amplification
    total = protection.series.gamma
    waves = None
    if cost > 1:
        waves = 0
        while waves < MOST_WAVES and cost ** (waves + 1) <= total:
            waves += 1
    return SeriesAudit(survey.series, protection.whole, protection.series, Guarantee(cost), waves)


def series_sections(audit: SeriesAudit) -> tuple[Section, ...]:
    """Return the sections on the total of a series; bounds are rounded up."""
    promise = (
        f"{audit.whole}: what someone thinks {rounded_up(PRIOR)} likely before is at most"
        f" {rounded_up(audit.total.posterior)} likely after all reports of one person in the series"
        f" {audit.series.id} (γ = {audit.total.written}), whoever they are and whatever else they"
        " know, however many waves there are, if no wave leaves other answers unprotected. The"
        " person's browser multiplies the amplifications of the waves that it answers at the web"
        f" address {audit.series.origin}, and refuses a wave that would exceed this total."
    )
    if audit.waves is not None:
        promise += (
            f" This wave has γ = {audit.cost.written}. A browser takes part in at most"
            f" {number(audit.waves)} such wave{'' if audit.waves == 1 else 's'}."
        )
    return Section("What all waves together promise", (promise,)), _RESTS_ON


_RESTS_ON = Section(
    "Assumptions of the total",
    (
        "Each person's own browser keeps the ledger of the amplification spent at this web address,"
        " whoever signed the waves; the collector does not have it. A new ledger begins if the"
        " browser's data are cleared, in a private window, in another browser, on another device"
        " and at another web address. With k ledgers the bound is the kth power of the total.",
        "Browsers refuse the waves of the series at every other web address. This prevents"
        " accidents: an operator who publishes a second series for another address gets a second"
        " total from everyone who answers there too.",
        "A program that asks people with the Python client has no web address. It keeps the ledgers"
        " in one file for all processes of its machine, by the keys that it gives to people.",
        "A wave counts as soon as its report may have left the device. Answering the same survey"
        " again in one browser at this web address sends the same report and costs nothing more."
        " Several people cannot answer a wave in one browser.",
        "Invitations for each wave ensure that no one is counted twice in it, whichever device is"
        " used. They do not bound the total.",
        "Another series has its own total, and a survey outside any series has none. A limit that a"
        " person sets in the client covers all of them at this web address.",
    ),
    listed=True,
)
