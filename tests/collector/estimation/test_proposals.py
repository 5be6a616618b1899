"""Designs proposed for differences to detect, against plans and surveys of what they propose."""

import json
import operator
import os
import re
import tomllib
from dataclasses import replace
from functools import reduce
from html import unescape

import click
import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import AnalysisContext
from halftruth_collector.analyses.answering import answer
from halftruth_collector.analyses.comparison import ANALYSIS, ComparisonQuery
from halftruth_collector.cli import main
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.estimation.planning.proposals import best_design
from halftruth_collector.web.pages.session import COOKIE
from halftruth_shared import ParameterError, Schema, SchemaError, SplitQuestionnaire, Survey
from halftruth_shared.analyses.plan import PlanQuery

SIZES = {"sex": 2, "age": 6, "drugs": 2, "voted": 2, "trust": 5, "pets": 2, "mood": 4, "town": 3}

MECHANISM = '[mechanism]\nkind = "split-questionnaire"\ngamma = "19"\nmax_length = 2\n'


def file_of(mechanism=MECHANISM, collapsed=""):
    text = f'id = "s"\ntitle = "S"\n{mechanism}'
    for name, size in SIZES.items():
        text += f'[[attributes]]\nname = "{name}"\ncategories = {[f"a{k}" for k in range(size)]}\n'
        text += collapsed if name == "age" else ""
    return text


SURVEY = Survey.from_toml(file_of())

#: A survey whose plan takes little time.
SMALL = f'id = "s"\ntitle = "S"\n{MECHANISM}' + "".join(
    f'[[attributes]]\nname = "{name}"\ncategories = {[f"a{k}" for k in range(size)]}\n'
    for name, size in (("drugs", 2), ("town", 3), ("trust", 3), ("mood", 3))
)
DETECT = ["drugs by sex: 10 points", "voted by age: 20 points"]


def query_of(detect, respondents=3_000):
    """Return a query whose other margins are few."""
    return PlanQuery(
        respondents=respondents, detect=detect, alone=True, groups=["sex"], questions=["pets"]
    )


@pytest.fixture(scope="module")
def planned():
    return plan(SURVEY, query_of(DETECT, 4_000))


def changed(design):
    """Return the survey whose file has the lines of a design."""
    if design.design == "tables of groups":
        lines, collapsed = design.lines.split("# for the question age\n")
    else:
        lines, collapsed = design.lines, ""
    return Survey.from_toml(file_of(MECHANISM.replace("max_length = 2\n", lines), collapsed))


def test_designs_are_compared_for_the_goals(planned):
    assert [(g.outcome, g.group, g.difference) for g in planned.goals] == [
        ("drugs", "sex", 0.1),
        ("voted", "age", 0.2),
    ]
    names = [each.design for each in planned.designs]
    assert names == ["own", "all pairs", "tables", "tables of groups"]
    own, pairs, tables, groups = planned.designs
    # The survey's own views are those of all pairs.
    assert own.detectable == pairs.detectable
    assert (own.lines, pairs.lines) == ("", "max_length = 2\n")
    assert best_design(planned.goals, planned.designs) is groups
    # No difference of groups of age is detectable by all pairs of questions.
    assert own.detectable[1] is None
    assert groups.detectable[0] < tables.detectable[0] < own.detectable[0]
    assert groups.detectable[1] < tables.detectable[1]
    assert all(map(operator.ge, groups.rare, groups.detectable))
    assert 0 < groups.share <= groups.worst_share < 0.1


def test_the_lines_of_each_design_make_the_survey_that_was_planned(planned):
    for design in planned.designs[1:]:
        assert tomllib.loads(f"[mechanism]\n{design.lines.partition('# for')[0]}")
        other = changed(design)
        query = query_of(DETECT, 4_000)
        again = plan(other, query).designs[0]
        assert again.detectable == pytest.approx(design.detectable)
        assert again.share == pytest.approx(design.share)


def test_advice_says_what_is_detectable_and_what_would_do(planned):
    drugs, voted, *further = planned.advice
    assert drugs.startswith("drugs by sex, 10 points: ")
    assert voted.startswith("voted by age, 20 points: ")
    least = planned.designs[-1].detectable
    enough = [d <= g.difference for d, g in zip(least, planned.goals, strict=True)]
    assert bool(further) == (not all(enough))


@pytest.mark.nightly
def test_the_number_of_respondents_that_is_named_is_enough():
    detect = ["drugs by age: 10 points"]
    result = plan(SURVEY, query_of(detect))
    [said] = [line for line in result.advice if " respondents would be enough" in line]
    needed = int("".join(filter(str.isdigit, said)))
    more = plan(SURVEY, query_of(detect, needed))
    best = best_design(more.goals, more.designs)
    assert best.detectable[0] == pytest.approx(0.1, rel=0.05)
    [gamma] = [line for line in result.advice if line.startswith("Or a larger γ: ")]
    value, own = re.findall(r"\(γ = (\d+)\)", gamma)
    assert own == "19"
    larger = Survey.from_toml(file_of(MECHANISM.replace('"19"', f'"{value}"')))
    again = plan(larger, query_of(detect))
    assert best_design(again.goals, again.designs).detectable[0] <= 0.1


@pytest.mark.nightly
def test_fewer_outcomes_are_named_if_they_are_enough():
    detect = [f"{name} by sex: 12 points" for name in ("drugs", "voted", "mood")]
    result = plan(SURVEY, query_of(detect))
    [said] = [line for line in result.advice if line.startswith("Or fewer outcomes")]
    assert "drugs" in said
    assert "mood" not in said


def test_sentences_state_the_difference_for_even_answers_and_for_a_small_group(planned):
    own, best = planned.designs[0], planned.designs[-1]
    drugs, voted = planned.advice[:2]
    for design in (own, best):
        even, rare = (f"{100 * each[0]:.2g}" for each in (design.detectable, design.rare))
        assert f"{even} points or more (at 20\u202f%: {rare} points)" in drugs
    # Without the groups of ages no difference is detected, so only the best design has numbers.
    assert voted.endswith(" and none as the survey is.")
    assert f"{100 * best.detectable[1]:.2g} points or more (at 20\u202f%:" in voted


def test_goals_that_no_design_detects_still_have_a_best_design_and_a_number_of_respondents():
    detect = ["drugs by age: 10 points"]
    result = plan(SURVEY, query_of(detect, 100))
    assert [each.detectable for each in result.designs] == [[None]] * 4
    assert [each.rare for each in result.designs] == [[None]] * 4
    [said] = [line for line in result.advice if line.startswith("About ")]
    assert said.endswith(" respondents would be enough with wanted tables and groups of answers.")
    needed = int("".join(filter(str.isdigit, said)))
    again = plan(SURVEY, query_of(detect, needed))
    best = best_design(again.goals, again.designs)
    assert best.design == "tables of groups"
    assert best.detectable[0] == pytest.approx(0.1, rel=0.1)


@pytest.mark.nightly
def test_a_survey_that_has_the_best_design_still_gets_a_number_of_respondents():
    detect = ["drugs by age: 10 points"]
    needed = [
        line.partition(" with ")[0]
        for survey in (SURVEY, changed(plan(SURVEY, query_of(detect)).designs[-1]))
        for line in plan(survey, query_of(detect)).advice
        if line.startswith("About ")
    ]
    assert len({*needed}) == 1
    assert len(needed) == 2


def test_groups_of_answers_are_named_by_their_order_if_they_have_one():
    schema = SURVEY.schema.attributes
    ordered = replace(schema[1], ordered=True)
    [by_order] = collapsed_of(ordered)
    assert list(by_order) == ["a0 to a1", "a2 to a3", "a4 to a5"]
    [without] = collapsed_of(schema[1])
    assert list(without) == ["a0 or a1", "a2 or a3", "a4 or a5"]


def test_ordered_answers_are_in_groups_of_similar_size_with_a_pilot():
    by_name = {"age": np.array([2, 3, 5, 30, 35, 25]), "drugs": np.array([90, 10])}

    def pilot(names):
        shares = [by_name[name] / by_name[name].sum() for name in names]
        return 1_000 * reduce(np.multiply.outer, shares)

    ordered = replace(SURVEY.schema.attributes[1], ordered=True)
    [by_order] = collapsed_of(ordered, pilot)
    # 40, 35 and 25 % of the people; six answers by two have 5, 35 and 60 %.
    assert list(by_order) == ["a0 to a3", "a4", "a5"]
    [without] = collapsed_of(SURVEY.schema.attributes[1], pilot)
    assert list(without) == ["a0 or a1", "a2 or a3", "a4 or a5"]


def collapsed_of(attribute, people=None):
    """Yield the groups of answers to a question that are proposed."""
    schema = Schema([attribute, SURVEY.schema.attributes[2]])
    survey = Survey("s", "S", schema, SplitQuestionnaire.for_amplification(schema, 19, (), 2))
    detect = [f"drugs by {attribute.name}: 10 points"]
    result = plan(survey, PlanQuery(respondents=10**6, detect=detect, alone=True), people=people)
    yield tomllib.loads(result.designs[-1].lines.partition("# for the question age\n")[2])[
        "collapsed"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "drugs",
        "drugs by sex",
        "drugs by sex: 0 points",
        "drugs by sex: 100 points",
        "by: 10 points",
    ],
)
def test_other_goals_are_refused(text):
    with pytest.raises(ParameterError, match="detect: expected an outcome by a group"):
        plan(SURVEY, PlanQuery(detect=[text]))


@pytest.mark.parametrize("text", ["drugs by drugs: 10 points", "drugs by it: 10 points"])
def test_unknown_and_repeated_questions_are_refused(text):
    with pytest.raises(SchemaError, match="detect"):
        plan(SURVEY, PlanQuery(detect=[text]))


@pytest.mark.nightly
def test_detectable_differences_are_detected_with_the_stated_power(planned):
    """80 % of surveys in which groups differ as planned, among even answers."""
    survey, surveys = changed(planned.designs[-1]), 250
    difference = planned.designs[-1].detectable[1]
    rng, found = np.random.default_rng(8), 0
    # Two classes of age in the middle; even answers but for one class.
    query = ComparisonQuery(answer={"voted": "a1"}, groups="age", reference="a2 or a3")
    for _ in range(surveys):
        records = np.stack([rng.integers(size, size=4_000) for size in SIZES.values()], axis=1)
        of_class = records[:, 1] // 2
        yes = np.where(of_class == 0, 0.5 + difference, 0.5)
        records[:, 3] = rng.random(4_000) < yes
        counts = Counts.from_reports(survey, survey.perturbation.reports(records, rng))
        context = AnalysisContext(survey, counts, None, query, min_reports=10)
        result = answer(ANALYSIS, context, query)
        [row] = [
            row
            for row in result.rows
            if row["group"] == "a0 or a1" and row.quantity == "difference"
        ]
        found += row.p_value < 0.05
    assert found / surveys == pytest.approx(0.8, abs=3.5 * np.sqrt(0.16 / surveys))


def test_a_survey_of_wanted_tables_is_planned_for_these(planned):
    survey = changed(planned.designs[-1])
    result = plan(survey, PlanQuery(respondents=4_000))
    [within] = [each for each in result.margins if each.quantity == "share_within"]
    assert (within.examined, within.possible) == (2, 2)
    assert within.worst_of in (["sex", "drugs"], ["age", "voted"])
    # Advice on lengths would be about other views.
    assert not any("max_length" in sentence for sentence in result.advice)


def test_command_call_and_page_begin_with_what_is_detected(
    command, http, analyst, store, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    words = ("s.toml", "--respondents=4000", "--detect=drugs by town: 15 points")
    result = json.loads(command("plan", *words, "--json")[1])
    body = {"survey": json.loads(Survey.from_toml(SMALL).canonical_json)}
    body |= {"respondents": 4_000, "detect": ["drugs by town: 15 points"]}
    answered = http.post("/v1/plan", json=body, headers=analyst).get_json()
    assert (answered["designs"], answered["advice"]) == (result["designs"], result["advice"])
    said = command("plan", *words)[1]
    _, empty, first, *_ = said.splitlines()
    assert (empty, first) == ("", result["advice"][0])
    assert first.startswith("drugs by town, 15 points: detected with wanted tables")
    best = next(each for each in result["designs"] if each["lines"].startswith("\n[[mechanism"))
    assert best["lines"].strip() in said
    [undone] = best["undone_by"]
    of_it = "drugs by town, undone by false reports"
    [line] = [each for each in said.splitlines() if each.startswith(of_it)]
    assert str(undone) in line.removeprefix(of_it).split()
    assert said.index(first) < said.index(best["lines"].strip()) < said.index("Typical margins")
    http.set_cookie(COOKIE, operations.create_token(store, "operator"), path="/operate/")
    form = {"survey": SMALL, "do": "check", "respondents": "4000"}
    form |= {"detect": "drugs by town: 15 points"}
    page = unescape(http.post("/operate/design", data=form).get_data(as_text=True))
    assert first in page
    assert re.search(rf">{of_it}</th>.*<td[^>]*>{undone}</td>", page)
    assert best["lines"].strip() in page
    assert page.index(first) < page.index(best["lines"].strip()) < page.index("Typical margins")


@pytest.mark.parametrize(("given", "expected"), [(None, "1"), ("2", "2")])
def test_the_command_optimizes_designs_in_one_thread_unless_told_otherwise(
    given, expected, monkeypatch
):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    assert main.get_command(click.Context(main), "plan").name == "plan"
    assert os.environ["OPENBLAS_NUM_THREADS"] == expected
