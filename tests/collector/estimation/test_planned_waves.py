"""Planned waves: margins against simulated series, and what each split of a total spends."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from halftruth_collector.cli import main
from halftruth_collector.estimation.planning.planner import plan
from halftruth_shared import (
    DistortionMatrices,
    GammaDiagonal,
    ParameterError,
    Series,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.sampling import simulated_randbelow
from sources import estimator_of

from .definitions import Z, schema_of

#: Who answers.
PEOPLE = 600


def survey(shape=(2,) * 6, gamma="19", total=None):
    schema = schema_of(shape)
    mechanism = SplitQuestionnaire.for_amplification(schema, gamma, (), 1)
    series = total and Series(id="panel", wave=1, total_gamma=total)
    return Survey("s", "S", schema, mechanism, series=series)


def planned(made, **query):
    return plan(made, PlanQuery(respondents=PEOPLE, alone=True, lengths=[1], **query))


def test_each_split_spends_the_total_and_no_more():
    plans = planned(survey(), waves=4, total_gamma=30).waves
    assert [(p.answered, p.reports, p.total_of) for p in plans] == [
        (1, PEOPLE // 4, "record"),
        (2, PEOPLE // 2, "record"),
        (4, PEOPLE, "record"),
        (4, PEOPLE, "question"),
    ]
    for p in plans:
        spent = p.record if p.total_of == "record" else p.question
        assert spent == pytest.approx(30, rel=1e-6)
        assert spent <= 30
        assert p.record == pytest.approx(p.gamma**p.answered)
        for margin in p.margins:
            assert margin.change == pytest.approx(margin.level * math.sqrt(2))
            # Σ(i − 2.5)² = 5 over four waves.
            assert margin.trend == pytest.approx(margin.level / math.sqrt(5))
    # Two views of three of six questions in two waves out of four: a question may be in both.
    assert [p.question for p in plans[:3]] == pytest.approx([30, 30, 30**0.25], rel=1e-6)


def errors_of(made, mechanism, draw, surveys):
    """Root mean squares of errors of level, change and slope of all shares, in simulated series.

    Of three waves in which nobody's answers change; `draw` gives the reports of each.
    """
    rng, squares = np.random.default_rng(11), []
    schema = made.schema
    wave_of = Survey("w", "W", schema, mechanism)
    for _ in range(surveys):
        records = np.stack([rng.integers(0, d, PEOPLE) for d in schema.shape], axis=1)
        reports = draw(schema, mechanism, records, rng)
        tables = np.array(
            [
                [estimator_of(wave_of, of).table([name]).support[1] for name in schema.names]
                for of in reports
            ]
        )
        level = tables[0] - 1 / 2
        change, trend = tables[1] - tables[0], (tables[2] - tables[0]) / 2
        squares.append([np.mean(each**2) for each in (level, change, trend)])
    return np.sqrt(np.mean(squares, axis=0))


def in_one_wave_each(schema, mechanism, records, rng):
    """Each person answers one of the waves."""
    for part in np.array_split(rng.permutation(records), 3):
        yield mechanism.perturb_many(schema, part, rng)


def rotating(schema, mechanism, records, rng):
    """Each person answers all waves, by a rotation of their own."""
    below, rotation = simulated_randbelow(rng), mechanism.rotation(schema)
    drawn = [rotation.draw(below) for _ in records]
    for wave in (1, 2, 3):
        yield np.array(
            [
                mechanism.perturb(schema, record, below, view=rotation.view(own, wave))
                for record, own in zip(records.tolist(), drawn, strict=True)
            ]
        )


def test_planned_errors_of_waves_are_those_of_simulated_series():
    """Each root mean square is of 180 shares: its error is 5 %, twice that is allowed."""
    made = survey((2,) * 6)
    [alone, *_] = planned(made, waves=3, total_gamma=9).waves
    mechanism = made.mechanism.for_amplification(made.schema, Fraction(9), (), 1)
    errors = errors_of(made, mechanism, in_one_wave_each, 30)
    [margin] = alone.margins
    planned_errors = np.array([margin.level, margin.change, margin.trend]) / Z
    np.testing.assert_allclose(errors, planned_errors, rtol=0.12)


@pytest.mark.nightly
def test_planned_errors_of_rotating_waves_are_those_of_simulated_series():
    """Nobody is asked a question twice here, so that waves are as good as independent."""
    made = survey()
    *_, every = planned(made, waves=3, total_gamma=9).waves
    assert (every.total_of, every.gamma, every.question) == ("question", 9, 9)
    mechanism = made.mechanism.for_amplification(made.schema, Fraction(9), (), 1)
    errors = errors_of(made, mechanism, rotating, 50)
    [margin] = every.margins
    planned_errors = np.array([margin.level, margin.change, margin.trend]) / Z
    np.testing.assert_allclose(errors, planned_errors, rtol=0.12)


def test_the_total_is_by_default_that_of_the_series_or_of_the_survey():
    for made, total in ((survey(total="30"), 30), (survey(), 19)):
        assert planned(made, waves=2).waves[0].gamma == total
    assert planned(survey()).waves == []


def test_where_no_views_rotate_every_question_costs_what_a_record_does():
    made = Survey("s", "S", schema_of((2, 2)), GammaDiagonal("19"))
    plans = planned(made, waves=2).waves
    assert [p.total_of for p in plans] == ["record"] * 2
    assert all(p.question == p.record for p in plans)


def test_a_total_that_cannot_be_split_is_refused():
    kept = DistortionMatrices(dict.fromkeys("ab", (("4/5", "1/5"), ("1/5", "4/5"))))
    with pytest.raises(ParameterError, match="waves: no distortion-matrices is designed"):
        planned(Survey("s", "S", schema_of((2, 2)), kept), waves=2)
    one_sided = {"design": "triangular", "prevalence": "1/4", "answer": "c1", "not_sensitive": "c0"}
    proving = DistortionMatrices({}, {"a": one_sided})
    with pytest.raises(ParameterError, match="total_gamma: expected an amplification"):
        planned(Survey("s", "S", schema_of((2,)), proving), waves=2)


def test_the_command_says_which_split_is_best(tmp_path, capsys):
    file = tmp_path / "s.toml"
    file.write_text(
        'id = "s"\ntitle = "S"\n[mechanism]\nkind = "split-questionnaire"\ngamma = "19"\n'
        + "".join(f'[[attributes]]\nname = "{n}"\ncategories = ["no", "yes"]\n' for n in "abcdef"),
        encoding="utf-8",
    )
    asked = ["plan", str(file), "--respondents", "1200", "--waves", "4", "--alone"]
    main([*asked, "--lengths", "1"], standalone_mode=False)
    said = capsys.readouterr().out
    assert "1 of 4" in said
    assert "4 of 4 rotating" in said
    assert "Series: changes of shares are known best where each person answers 1 of 4 waves" in said
    main([*asked, "--json"], standalone_mode=False)
    assert len(json.loads(capsys.readouterr().out)["waves"]) == 3
