"""Chart of an attack: what is left of the noise, attribute by attribute."""

from halftruth_collector.estimation.bounds import normal_quantile
from halftruth_shared.results.charts import Axis, EstimateChart, Mark, Panel
from halftruth_shared.results.wording import number, percent

from .assessment import ATTACKS, AttackResult, NoisyAttribute

_DOUBT = 0.05


def attack_chart(result: AttackResult) -> EstimateChart:
    """What each attack leaves of the noise of each attribute, with its simulation error."""
    return EstimateChart(
        title="What is left of the noise",
        notes=(
            "Root mean square error of each attack, in percent of the noise's standard deviation;"
            f" {percent(1 - _DOUBT)} intervals over {number(result.records)} records.",
        ),
        panels=tuple(_bars(found) for found in result.attributes),
        bars=True,
    )


def _bars(found: NoisyAttribute) -> Panel:
    bars = []
    for left in found.remaining:
        value, half = left.error / found.noise, normal_quantile(_DOUBT) * left.standard_error
        ends = value - half / found.noise, value + half / found.noise
        bars.append(Mark(f"{ATTACKS[left.attack]} ({left.attack})", value, *ends))
    noise, spread = (number(float(f"{sd:.3g}")) for sd in (found.noise, found.standard_deviation))
    heading = f"{found.attribute} (noise of {noise}, spread of {spread})"
    return Panel(Axis("error, in percent of the noise", shares=True), tuple(bars), heading)
