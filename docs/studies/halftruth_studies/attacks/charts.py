"""Chart of an attack: remaining error of each attribute."""

from halftruth_collector.estimation.bounds import normal_quantile
from halftruth_shared.results.charts import Axis, EstimateChart, Mark, Panel
from halftruth_shared.results.wording import number, percent

from .assessment import ATTACKS, AttackResult, NoisyAttribute

_DOUBT = 0.05


def attack_chart(result: AttackResult) -> EstimateChart:
    """Draw the error of each attack on each attribute, with its simulation error."""
    return EstimateChart(
        title="What is left of the noise",
        notes=(
            "Root mean square error of each attack, in percent of the noise's standard deviation;"
            f" {percent(1 - _DOUBT)} intervals over {number(result.records)} records.",
        ),
        panels=tuple(_bars(attribute) for attribute in result.attributes),
        bars=True,
    )


def _bars(attribute: NoisyAttribute) -> Panel:
    bars, sd = [], attribute.noise
    for left in attribute.remaining:
        value, half = left.error / sd, normal_quantile(_DOUBT) * left.standard_error / sd
        label = f"{ATTACKS[left.attack]} ({left.attack})"
        bars.append(Mark(label, value, value - half, value + half))
    noise, spread = (number(float(f"{x:.3g}")) for x in (sd, attribute.standard_deviation))
    heading = f"{attribute.attribute} (noise of {noise}, spread of {spread})"
    return Panel(Axis("error, in percent of the noise", shares=True), tuple(bars), heading)
