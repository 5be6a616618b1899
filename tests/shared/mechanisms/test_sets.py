"""Questions with several answers that are perturbed as one set: validation, draws and views."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    HalftruthError,
    ParameterError,
    RecordError,
    Schema,
    SchemaError,
    SplitQuestionnaire,
    Survey,
    ViewClass,
)
from halftruth_shared.attribute import MultipleResponse
from halftruth_shared.set_responses import SetResponse
from scipy import stats

FILE = """
id = "s"
title = "S"

[mechanism]
kind = "split-questionnaire"
gamma = "19"
{mechanism}

[[attributes]]
name = "brands"
kind = "several"
{at_most}
options = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "c" }}, {{ name = "d" }}]
optional = true

[[attributes]]
name = "sex"
categories = ["m", "f"]
sensitive = false

[[attributes]]
name = "films"
kind = "several"
at_most = 1
options = [{{ name = "a" }}, {{ name = "b" }}]
"""


def read(mechanism="max_length = 2", at_most="at_most = 3"):
    return Survey.from_toml(FILE.format(mechanism=mechanism, at_most=at_most))


def views(*written):
    return "views = [" + ", ".join(written) + "]"


BRANDS = '{ attributes = [["brands"]], weight = 1 }'
FILMS = '{ attributes = [["films"]], weight = 1 }'
SEX = '{ attributes = [["sex"]], weight = 1 }'
PAIRS = '{ attributes = [["brands"]], weight = 1, pairs = true }'


def test_the_largest_number_is_part_of_the_survey():
    survey = read()
    assert b'"at_most":3' in survey.canonical_json
    again = Survey.from_json(survey.canonical_json)
    assert again.digest == survey.digest
    assert [question.at_most for question in again.schema.questions] == [3, None, 1]
    assert again.schema.sets == {"brands": (0, 1, 2, 3), "films": (5, 6)}
    without = read("max_length = 1", at_most="")
    assert b'{"kind":"several","missing"' in without.canonical_json


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"at_most": "at_most = 0"}, "attribute 'brands': at_most: expected an integer from 1"),
        ({"at_most": 'at_most = "3"'}, "at_most: expected a whole number, got text"),
        ({"at_most": "at_most = 5"}, "attribute 'brands': at_most: expected from 1 to 4, the"),
        ({"mechanism": views(FILMS, SEX)}, "views: 'brands' is in none"),
        (
            {"mechanism": views(FILMS, SEX, PAIRS)},
            "views: pairs of the options of brands without the options themselves",
        ),
        (
            {"mechanism": views(BRANDS, FILMS, SEX, FILMS.replace("1 }", "1, pairs = true }"))},
            "views: pairs: 'films' has at_most = 1; expected 2 or more",
        ),
        (
            {"mechanism": views(BRANDS, FILMS, SEX.replace("1 }", "1, pairs = true }"))},
            "views: pairs: expected with a question that is perturbed as one set",
        ),
        (
            {"mechanism": views(BRANDS.replace('"brands"', '"brands.a"'), FILMS, SEX)},
            "views: 'brands.a' is an option of 'brands'",
        ),
        (
            {"mechanism": views('{ attributes = [["brands", "films"]], weight = 1 }', SEX)},
            "views: brands, films are perturbed as one set each (at_most); expected one",
        ),
        (
            {"mechanism": '[[mechanism.tables]]\nof = ["brands"]\nby = ["films"]'},
            "tables: brands, films are perturbed as one set each",
        ),
        (
            {"mechanism": '[[mechanism.tables]]\nof = ["sex"]\npairs = true'},
            "tables: pairs: expected with a question that is perturbed as one set",
        ),
        (
            {
                "mechanism": views(BRANDS, FILMS, SEX)
                + '\n[[mechanism.tables]]\nof = ["brands"]\nby = ["sex"]'
            },
            "tables: no view asks brands.a, sex together",
        ),
        (
            {
                "mechanism": views(BRANDS, FILMS, SEX)
                + '\n[[mechanism.tables]]\nof = ["brands"]\npairs = true'
            },
            "tables: no view asks brands.a, brands.b together",
        ),
    ],
)
def test_what_a_set_cannot_be_is_refused_in_one_line(changed, said):
    with pytest.raises(HalftruthError) as refused:
        read(**changed)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_only_a_split_questionnaire_perturbs_sets():
    question = MultipleResponse("b", at_most=1)
    schema = Schema([Attribute("b.x", ("no", "yes"), ("yes",), question=question)])
    with pytest.raises(ParameterError, match='at_most: expected with kind = "split-questionnaire"'):
        GammaDiagonal("19").bind(schema)
    open_options = Attribute("b.x", ("no", "yes"), ("yes",), sensitive=False, question=question)
    schema = Schema([open_options, Attribute("sex", ("m", "f"))])
    classes = [ViewClass(attributes=(("sex",),), weight=1)]
    with pytest.raises(ParameterError, match="public: options of 'b', which is perturbed as one"):
        SplitQuestionnaire("19", classes, ["b.x"]).bind(schema)
    with pytest.raises(SchemaError, match="at_most"):
        MultipleResponse("b", at_most=True)


def test_records_have_no_more_options_and_are_missing_as_a_whole():
    schema = read().schema
    record = {"brands": ["a", "c", "d"], "sex": "m", "films": []}
    assert schema.encode(record) == (1, 0, 1, 1, 0, 0, 0)
    skipped = {"sex": "m", "films": ["a"]}
    assert schema.encode(skipped)[:4] == (2, 2, 2, 2)
    for changed, said in (
        ({"brands": ["a", "b", "c", "d"]}, "attribute 'brands': expected at most 3 chosen"),
        ({"films": ["a", "b"]}, "attribute 'films': expected at most 1 chosen"),
    ):
        with pytest.raises(RecordError, match=said) as refused:
            schema.encode(record | changed)
        assert refused.value.field in changed
    partly = {name: answer for name, answer in record.items() if name != "brands"}
    with pytest.raises(RecordError, match="expected an answer to every option, or the same"):
        schema.encode(partly | {"brands.a": "yes"})
    perturbation = read().perturbation
    for codes in ((1, 1, 1, 1, 0, 0, 0), (2, 1, 0, 0, 0, 0, 0)):
        with pytest.raises(RecordError, match="attribute 'brands'"):
            perturbation.report(codes)
        with pytest.raises(RecordError, match="attribute 'brands'"):
            perturbation.reports([codes])


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("gamma", ["3", "19/2"])
def test_every_outcome_of_a_draw_is_counted(gamma, pairs):
    response = SetResponse(Fraction(gamma), 4, 3, missing=2, groups=2, pairs=pairs)
    answers = [codes for codes in product((0, 1), repeat=4) if sum(codes) <= 3]
    answers += [(code,) * 4 for code in (2, 3)]
    for cell, codes in product(range(2), answers):
        drawn = [
            response.draw((cell, *codes), lambda _, k=k: k)[0] for k in range(response.outcomes)
        ]
        counts = np.bincount(drawn, minlength=response.symbols)
        chosen = [option for option, code in enumerate(codes) if code == 1]
        units = comb(len(chosen), 2) if pairs else len(chosen) or int(codes[0] > 1)
        own = np.flatnonzero(counts > response.gamma.denominator)
        # Each is γ times as likely as any other, whatever was chosen.
        assert set(counts[own]) == {response.gamma.numerator}
        assert set(np.delete(counts, own)) == {response.gamma.denominator}
        assert len(own) == response.most == 3
        dummies = own[own % response.block >= response.units]
        assert len(dummies) == 3 - units
        assert (own // response.block == cell).all()


def test_reports_of_many_records_have_the_same_distribution():
    perturbation = read("max_length = 2").perturbation
    schema, count = perturbation.schema, 60_000
    record = schema.encode({"brands": ["a", "c"], "sex": "f", "films": ["b"]})
    expected = np.zeros(perturbation.space.size)
    for view in perturbation.views:
        codes = view.codes(record, schema.attributes)
        share = view.weight / perturbation.cumulative_weights[-1] / view.response.outcomes
        for k in range(view.response.outcomes):
            expected[view.first + view.response.draw(codes, lambda _, k=k: k)[0]] += share
    rng = np.random.default_rng(4)
    reports = perturbation.reports(np.tile(record, (count, 1)), rng)
    observed = np.bincount(reports[:, -1], minlength=len(expected))
    assert stats.chisquare(observed, count * expected).pvalue > 0.001


def test_chosen_views_balance_the_errors_of_all_wanted_tables():
    mechanism = """
[[mechanism.tables]]
of = ["brands"]
pairs = true
importance = 2
[[mechanism.tables]]
of = ["brands"]
by = ["sex"]
"""
    survey = read(mechanism)
    total = survey.perturbation.cumulative_weights[-1]
    chance = {
        (view.positions, view.response.pairs): view.weight / total
        for view in survey.perturbation.views
        if view.options
    }
    brands, with_sex = (0, 1, 2, 3), (0, 1, 2, 3, 4)

    def variance(units, most, groups):
        return float((most * 18 + groups * (units + most)) / Fraction(18) ** 2)

    by_sex = chance[with_sex, False]
    squares = {
        # Pairs with twice the importance, of which each has the demand of a share.
        "pairs": 2**2 * variance(6, 3, 1) / chance[brands, True],
        # Shares within one of two groups.
        "by sex": 2**2 * variance(5, 3, 2) / by_sex,
    }
    assert squares["pairs"] == pytest.approx(squares["by sex"], rel=0.02)
    # What reports by sex tell of the options alone is enough, or other views tell the rest.
    alone = chance.get((brands, False), 0.0) / variance(5, 3, 1) + by_sex / (2 * variance(5, 3, 2))
    assert 1.4**2 / alone <= 1.02 * squares["pairs"]
    films = 1.4**2 * variance(2, 1, 1) / chance[(5, 6), False]
    assert films == pytest.approx(squares["pairs"], rel=0.02)


def test_pairs_of_options_by_groups_are_wanted():
    """With the error of a share within a group, as options by groups have."""
    written = '\n[[mechanism.tables]]\nof = ["brands"]\nby = ["sex"]\npairs = true'
    survey = read(written)
    total = survey.perturbation.cumulative_weights[-1]
    chance = {
        view.response.pairs: view.weight / total
        for view in survey.perturbation.views
        if view.positions == (0, 1, 2, 3, 4)
    }
    of_sets = [view for view in survey.perturbation.views if view.options]
    assert not any(view.response.pairs for view in of_sets if view.positions == (0, 1, 2, 3))

    def variance(units, most):
        return float((most * 18 + 2 * (units + most)) / Fraction(18) ** 2)

    pairs, options = (
        variance(units, 3) / chance[is_pair] for units, is_pair in ((6, True), (5, False))
    )
    assert pairs == pytest.approx(options, rel=0.02)
    without = read(written.replace("\npairs = true", ""))
    assert not any(view.response.pairs for view in without.perturbation.views if view.options)
    # A public question divides the reports, so that pairs need no groups of their own.
    public = read('public = ["sex"]\n' + written)
    shown = [(view.positions, view.response.pairs) for view in public.perturbation.views]
    assert ((0, 1, 2, 3), True) in shown


def test_a_survey_of_a_set_alone_needs_no_other_views():
    text = FILE.format(mechanism="max_length = 2", at_most="at_most = 3")
    alone = Survey.from_toml(text[: text.index('[[attributes]]\nname = "sex"')])
    shown = [(each.attributes, each.pairs) for each in alone.mechanism.classes]
    assert shown == [((("brands",),), False), ((("brands",),), True)]
    single = Survey.from_toml(
        text[: text.index('[[attributes]]\nname = "sex"')].replace(
            "max_length = 2", "max_length = 1"
        )
    )
    assert [each.pairs for each in single.mechanism.classes] == [False]
