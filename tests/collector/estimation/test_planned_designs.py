"""Planned designs: margins of the model against those of simulated surveys, and what is advised."""

import json
import math
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.cli import main
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_collector.estimation.planning.planner import plan
from halftruth_shared import (
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery
from sources import counts_of

from .definitions import Z, schema_of

#: Sizes of attributes, mechanism by schema, and number of respondents.
DESIGNS = {
    "pairs of yes and no": ((2,) * 5, lambda s: split(s, "19", 2), 3_000),
    "triples": ((4, 3, 2), lambda s: split(s, "19", 3), 8_000),
    "pairs of several answers": ((2, 3, 4, 2), lambda s: split(s, "9", 2), 10_000),
    "whole records": ((2, 3, 2), lambda s: GammaDiagonal("19"), 5_000),
    "answers by themselves": (
        (2, 2, 3),
        lambda s: RandomizedResponse({"a": "0.8", "b": "0.85", "c": "0.75"}),
        4_000,
    ),
    "low amplification": ((2,) * 4, lambda s: split(s, "5", 2), 6_000),
}


def split(schema, gamma, max_length):
    return SplitQuestionnaire.for_amplification(schema, gamma, (), max_length)


def planned(survey, respondents):
    """Planned standard errors of the survey's own design, by length and then of odds ratios."""
    query = PlanQuery(respondents=respondents, alone=True, designs=True)
    [design] = [d for d in plan(survey, query).designs if d.own]
    assert [margin.length for margin in design.model] == [1, 2, 3]
    for margin in (*design.model, *design.unbiased):
        assert margin.half_width == pytest.approx(Z * margin.standard_error)
    return [m.standard_error for m in design.model] + [math.log(design.odds_ratio) / Z]


def simulated(survey, respondents, surveys):
    """Root mean squares of what fitted models say of their errors, and of their true errors."""
    rng, schema = np.random.default_rng(7), survey.schema
    said, real = [], []
    for _ in range(surveys):
        people = np.stack([rng.integers(0, size, respondents) for size in schema.shape], axis=1)
        model = fit_model(survey, counts_of(survey, people, rng))
        variances, squares = [], []
        for length in (1, 2, 3):
            tables = [shares(model, names) for names in combinations(schema.names, length)]
            variances.append(np.mean(np.concatenate([t.variance().ravel() for t in tables])))
            off = [(t.support - 1 / t.support.size).ravel() for t in tables]
            squares.append(np.mean(np.concatenate(off) ** 2))
        # Logarithms of odds ratios given all others, which are 0, by the fitted table alone.
        level = np.log(model.table)
        ratios, errors = [], []
        for i, j in combinations(range(len(schema.names)), 2):
            corner = np.moveaxis(level, (i, j), (0, 1))[..., *([0] * (level.ndim - 2))]
            ratios.append((corner[1:, 1:] - corner[1:, :1] - corner[:1, 1:] + corner[0, 0]).ravel())
        about = (model.design.codes > 0).sum(axis=1) == 2
        coding = model.design.corner[about]
        errors = np.diag(coding @ model.covariance @ coding.T)
        said.append([*variances, errors.mean()])
        real.append([*squares, np.mean(np.concatenate(ratios) ** 2)])
    return np.sqrt(np.mean(said, axis=0)), np.sqrt(np.mean(real, axis=0))


def survey_of_design(name):
    shape, mechanism, respondents = DESIGNS[name]
    schema = schema_of(shape)
    return Survey("s", "S", schema, mechanism(schema)), respondents


@pytest.mark.parametrize("name", DESIGNS)
def test_planned_errors_are_those_that_fitted_models_say(name):
    survey, respondents = survey_of_design(name)
    said, _ = simulated(survey, respondents, 8)
    np.testing.assert_allclose(said, planned(survey, respondents), rtol=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("name", DESIGNS)
def test_planned_errors_are_those_of_fitted_models(name):
    """A root mean square of 600 surveys of two free cells or more has an error below 2 %."""
    survey, respondents = survey_of_design(name)
    said, real = simulated(survey, respondents, 600)
    np.testing.assert_allclose(said, planned(survey, respondents), rtol=0.05)
    np.testing.assert_allclose(real, planned(survey, respondents), rtol=0.05)


def test_short_tables_are_advised_for_shares_and_long_ones_for_itemsets():
    schema = schema_of((4, 3, 4, 3))
    survey = Survey("s", "S", schema, split(schema, "19", 3))
    result = plan(survey, PlanQuery(respondents=5_000, alone=True, designs=True))
    assert [design.max_length for design in result.designs] == [1, 2, 3]
    single, pairs, triples = result.designs
    # Nothing is known of two answers together.
    assert (single.model, single.odds_ratio) == ([], None)
    assert [margin.length for margin in pairs.unbiased] == [1, 2]
    assert [margin.length for margin in pairs.model] == [1, 2, 3]
    assert pairs.odds_ratio < triples.odds_ratio
    assert pairs.model[2].half_width < triples.unbiased[2].half_width
    shares_alone, together, regression, itemsets = result.advice
    assert shares_alone.startswith("Shares of single answers: max_length = 1, margin ±")
    assert together.startswith("Pairs of answers: max_length = 2, margin ±")
    assert regression.startswith("Regression: max_length = 2; odds ratios of one answer")
    assert itemsets.startswith("Itemsets of 3 answers: max_length = 3, margin ±")
    assert "unbiased; max_length = 2, margin ±" in itemsets


def test_a_mechanism_that_has_no_lengths_is_one_design_without_advice():
    survey = Survey("s", "S", schema_of((2, 3, 2)), GammaDiagonal("19"))
    result = plan(survey, PlanQuery(respondents=500, alone=True, designs=True))
    assert [design.max_length for design in result.designs] == [3]
    assert result.advice == []


def test_a_model_of_too_many_cells_is_left_out():
    schema = schema_of((4,) * 10)
    survey = Survey("s", "S", schema, split(schema, "19", 2))
    query = PlanQuery(respondents=500, lengths=[2], alone=True, designs=True)
    assert all(design.model == [] for design in plan(survey, query).designs)


def test_designs_are_about_the_population():
    survey = Survey("s", "S", schema_of((2, 2)), GammaDiagonal("19"))
    query = PlanQuery(respondents=500, designs=True, target="respondents")
    with pytest.raises(ParameterError, match="designs: the model is of the population") as caught:
        plan(survey, query)
    assert caught.value.field == "designs"


def test_the_command_shows_designs_and_what_is_advised(tmp_path, capsys):
    questions = "".join(
        f'[[attributes]]\nname = "{name}"\ncategories = ["a", "b", "c", "d"]\n' for name in "xyz"
    )
    file = tmp_path / "survey.toml"
    file.write_text(
        'id = "s"\ntitle = "S"\n[mechanism]\nkind = "split-questionnaire"\ngamma = "19"\n'
        f"max_length = 2\n{questions}",
        encoding="utf-8",
    )
    main(["plan", str(file), "--respondents", "5000", "--alone"], standalone_mode=False)
    assert "odds ratio" not in capsys.readouterr().out
    words = ["--respondents", "5000", "--alone", "--designs"]
    main(["plan", str(file), *words], standalone_mode=False)
    printed = capsys.readouterr().out
    for line in ("odds ratio within a factor", "2 (the survey)", "assumes no interaction of three"):
        assert line in printed
    for aim in ("Shares of single answers", "Pairs of answers", "Regression", "Itemsets of 3"):
        assert aim in printed
    main(["plan", str(file), *words, "--json"], standalone_mode=False)
    result = json.loads(capsys.readouterr().out)
    assert [design["max_length"] for design in result["designs"]] == [1, 2, 3]
    assert [design["own"] for design in result["designs"]] == [False, True, False]
    assert len(result["advice"]) == 4
