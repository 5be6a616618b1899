"""Surveys with too many questions for one model, which is about those that a query names."""

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_shared import Attribute, DomainTooLarge, Schema, SplitQuestionnaire, Survey
from sources import source_of

#: Numbers of answers, repeated: yes/no questions and others with up to 8 answers.
SIZES = (2, 7, 5, 2, 8, 6, 2, 2, 7, 2, 3, 8)


@pytest.fixture(scope="module", params=[12, 60])
def source(request):
    """Answers that depend on one latent variable, reported in pairs."""
    sizes = [SIZES[j % len(SIZES)] for j in range(request.param)]
    schema = Schema(
        [Attribute(f"q{j}", [f"c{code}" for code in range(size)]) for j, size in enumerate(sizes)]
    )
    mechanism = SplitQuestionnaire.for_amplification(schema, 19, max_length=2)
    rng = np.random.default_rng(0)
    people = 300 * request.param
    latent = rng.normal(size=people)
    places = (0.5 * latent[:, None] + rng.normal(size=(people, len(sizes))) + 2) / 4
    codes = np.clip(np.floor(places * sizes), 0, np.array(sizes) - 1).astype(int)
    return source_of(Survey("m", "M", schema, mechanism), codes, rng)


def asked(name, source, **fields):
    query = ANALYSES[name].query(**fields)
    ANALYSES[name].check_work(source.survey, query)
    return answer(ANALYSES[name], source, query)


THREE = ["q0", "q1", "q3"]
MARGINS = {"q0": {"c0": 0.4, "c1": 0.6}}


@pytest.mark.parametrize(
    ("name", "fields", "about"),
    [
        ("table", {"attributes": THREE}, THREE),
        ("table", {"attributes": THREE, "estimate": "model"}, THREE),
        ("overview", {"attributes": ["q0", "q3"], "estimate": "model"}, ["q0", "q3"]),
        ("comparison", {"answer": {"q0": "c1"}, "groups": "q1", "estimate": "model"}, THREE[:2]),
        (
            "comparison",
            {
                "answer": {"q0": "c1"},
                "groups": "q3",
                "where": {"q1": ["c0", "c1", "c2", "c3"]},
                "estimate": "model",
            },
            THREE,
        ),
        ("regression", {"outcome": "q0", "predictors": ["q1", "q3", "q6"]}, [*THREE, "q6"]),
        (
            "regression",
            {"outcome": "q0", "predictors": ["q1", "q3"], "estimate": "model"},
            THREE,
        ),
        ("microdata", {"attributes": THREE}, THREE),
        ("microdata", {"attributes": THREE, "margins": MARGINS}, THREE),
    ],
)
def test_a_model_is_about_the_questions_that_a_query_names(source, name, fields, about):
    result = asked(name, source, **fields)
    assert result.model_fit.attributes == about
    assert result.model_fit.converged
    if name == "microdata":
        assert np.isfinite(result.estimates.value).all()
        assert result.replicates
    else:
        assert np.isfinite(result.estimates.numbers("lower")).any()
    # The model of the names is that of `modelled`.
    if "modelled" in result.query.__struct_fields__:
        assert result.query.modelled == about


@pytest.mark.parametrize(
    ("name", "fields", "field"),
    [
        ("overview", {"estimate": "model"}, "attributes"),
        ("microdata", {}, "attributes"),
        ("itemsets", {"min_support": 0.1, "estimate": "model", "max_length": 2}, "modelled"),
        ("microdata", {"modelled": [f"q{j}" for j in range(12)]}, "modelled"),
    ],
)
def test_a_model_of_all_questions_is_refused_by_the_field_that_makes_it_smaller(
    source, name, fields, field
):
    with pytest.raises(DomainTooLarge, match="so fewer attributes") as caught:
        asked(name, source, **fields)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: a model of ")


def test_best_guesses_are_of_the_questions_that_a_query_names(source):
    table = asked("table", source, attributes=["q1", "q3"], estimate="likelihood")
    assert len(table.estimates) == 14
    assert table.estimates.value.sum() == pytest.approx(1)
    assert (table.estimates.value >= 0).all()
    some = [*source.survey.schema.names[:4], *source.survey.schema.names[-2:]]
    overview = asked("overview", source, estimate="likelihood", attributes=some)
    shares = overview.estimates.value[overview.places("share")]
    questions = [name for name in overview.key("question").values if name is not None]
    assert set(questions) == set(some)
    assert ((shares >= 0) & (shares <= 1)).all()
    within = {"where": {"q1": ["c0", "c1", "c2", "c3"]}}
    part = asked("table", source, attributes=["q3"], estimate="likelihood", **within)
    assert part.estimates.value.sum() == pytest.approx(1)
    with pytest.raises(DomainTooLarge, match=r"^estimate: a whole table of .* cells; expected"):
        asked("itemsets", source, min_support=0.3, estimate="likelihood", max_length=1)
