"""Views of tickets have the probabilities of the design, and are the same in both languages."""

import hashlib
import json
import subprocess
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
import scipy
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.protocol.tickets import draw_view
from halftruth_shared.survey import Reporting

SCRIPT = Path(__file__).parent / "ticket_views.mjs"
SIZES = [2, 4, 3, 2, 5, 2, 3, 2, 4, 2, 3, 2, 2, 2]


def by_python(survey, count):
    """Return how often each view follows from tickets that the script makes, too."""
    views = Counter()
    for number in range(count):
        made = hashlib.sha384(f"ticket {number}".encode()).digest()
        views[draw_view(survey.perturbation, survey.digest, made[:16], made[16:])] += 1
    return [views[number] for number in range(len(survey.perturbation.views))]


@pytest.mark.parametrize(
    "count", [500, pytest.param(1_000_000, marks=pytest.mark.nightly)], ids=str
)
def test_views_of_tickets_have_the_probabilities_of_the_design(tmp_path, count):
    schema = Schema(
        [Attribute(f"q{j}", [f"a{code}" for code in range(d)]) for j, d in enumerate(SIZES)]
    )
    mechanism = SplitQuestionnaire.designed(schema, Fraction(19), (), {1: 1.0, 2: 1.0})
    survey = Survey("s", "S", schema, mechanism, reporting=Reporting(tickets="required"))
    file = tmp_path / "survey.json"
    file.write_bytes(survey.canonical_json)
    ran = subprocess.run(
        ["node", str(SCRIPT), str(file), str(count)], capture_output=True, check=True
    )
    counted = by_python(survey, count)
    assert json.loads(ran.stdout) == counted
    weights = [view.weight for view in survey.perturbation.views]
    expected = [count * weight / sum(weights) for weight in weights]
    found = scipy.stats.chisquare(counted, expected)
    print(
        f"{count} tickets, {len(weights)} views: χ² {found.statistic:.1f}, p = {found.pvalue:.3f}"
    )
    assert found.pvalue > 0.001
