"""Pages of a survey with wanted tables, of which reports ask few pairs of questions together."""

import re
from html.parser import HTMLParser
from uuid import UUID

import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, identified
from halftruth_collector.analyses.base import named_by
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import Survey
from halftruth_shared.protocol.reports import Report

SIZES = (2, 6, 5, 2, 5, 2, 3, 2, 4, 2, 3, 2)

WANTED = """
id = "wanted"
title = "Wanted tables"

[mechanism]
kind = "split-questionnaire"
gamma = "19"

[[mechanism.tables]]
of = ["q5", "q7", "q9", "q11"]
by = ["q0", "q1", "q2"]
"""
QUESTION = '\n[[attributes]]\nname = "q{}"\ncategories = {}\n'


class Choices(HTMLParser):
    """The values that each control offers: of selects by their ids, and of boxes by fieldsets."""

    def __init__(self, html):
        super().__init__()
        self.selects, self.boxes = {}, {}
        self._select, self._legend, self._in_legend = "", "", False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "select":
            self._select = given["id"]
        elif tag == "option" and given["value"]:
            self.selects.setdefault(self._select, []).append(given["value"])
        elif tag == "legend":
            self._legend, self._in_legend = "", True
        elif tag == "input" and given.get("type") == "checkbox":
            self.boxes.setdefault((given["name"], self._legend), []).append(given["value"])

    def handle_endtag(self, tag):
        self._in_legend &= tag != "legend"

    def handle_data(self, data):
        if self._in_legend:
            self._legend += data


@pytest.fixture(scope="module")
def survey():
    return Survey.from_toml(text_of_survey())


def text_of_survey():
    questions = (QUESTION.format(j, [f"a{k}" for k in range(n)]) for j, n in enumerate(SIZES))
    return "".join([WANTED, *questions])


@pytest.fixture
def page(http, store, analyst, survey):
    """Return a page of the results of the survey, as a function of its path."""
    operations.publish_survey(store, survey)
    rng = np.random.default_rng(1)
    people = np.stack([rng.integers(0, size, 3_000) for size in SIZES], axis=1)
    values = survey.perturbation.reports(people, rng).tolist()
    reports = [Report(id=UUID(int=i), values=each) for i, each in enumerate(values)]
    store.reports.add(survey.id, survey.digest, reports)
    token = analyst["Authorization"].removeprefix("Bearer ")
    http.post("/sign-in", data={"token": token, "next": "/results/wanted"})
    return lambda path="": http.get(f"/results/wanted{path}")


def partners(survey, name):
    names = survey.schema.names
    return [
        each for each in names if each != name and reconstruction(survey).identified([name, each])
    ]


def test_every_page_without_a_query_shows_a_result(page, survey):
    offered = {each.name for each in identified(survey)}
    assert offered == set(ANALYSES) - {"waves"}
    for name in sorted(offered):
        answer = page(f"/{name}")
        assert (answer.status_code, 'role="alert"' in answer.text) == (200, False), name
    for path in ("", "/export"):
        assert page(path).status_code == 200


def test_the_start_page_shows_the_first_wanted_table_and_links_to_all(page, survey):
    start = re.sub(r"\s+", " ", page().text)
    assert '<h3 id="wanted">First wanted table: q5 by q0</h3>' in start
    wanted = start[start.index('id="wanted"') :]
    # Its finding is that of its own page.
    links = re.findall(r'<a href="([^"]*crosstab[^"]*)">(q\d+ by q\d+)</a>', wanted)
    names = [name for _, name in links]
    assert names[0] == "q5 by q0"
    assert sorted(names) == sorted(f"q{o} by q{g}" for o in (5, 7, 9, 11) for g in (0, 1, 2))
    address = links[0][0].removeprefix("/results/wanted").replace("&amp;", "&")
    own = re.sub(r"\s+", " ", page(address).text)
    [headline] = re.findall(r'<p class="answer">(.*?)</p>', own)
    assert f'<p class="answer">{headline}</p>' in wanted
    # The overview alone is not about tables.
    assert 'id="wanted"' not in page("/overview").text


def test_a_crosstab_of_a_question_with_several_answers_has_its_page(http, store, analyst):
    options = 'kind = "several"\noptions = [{ name = "flu" }, { name = "cough" }]\n'
    asked = Survey.from_toml(f'{text_of_survey()}\n[[attributes]]\nname = "had"\n{options}')
    operations.publish_survey(store, asked)
    people = np.zeros((3_000, len(asked.schema.names)), int)
    values = asked.perturbation.reports(people, np.random.default_rng(1)).tolist()
    reports = [Report(id=UUID(int=i), values=each) for i, each in enumerate(values)]
    store.reports.add(asked.id, asked.digest, reports)
    token = analyst["Authorization"].removeprefix("Bearer ")
    http.post("/sign-in", data={"token": token, "next": "/results/wanted"})
    # No report asks these together, and none asks an option beside its question.
    shown = http.get("/results/wanted/crosstab?attributes=had,q0")
    assert shown.status_code == 422
    assert "together" in shown.text
    assert not {"had.flu", "had.cough"} & {*Choices(shown.text).selects["attributes-2"]}


def test_analyses_are_offered_of_groups_of_answers_where_no_pair_is_asked_in_detail():
    """All wanted tables are of collapsed questions, and the first query is the first of them."""
    groups = 'collapsed = { low = ["a0", "a1"], high = ["a2", "a3", "a4"] }\n'
    asked = [QUESTION.format(0, ["a0", "a1"])]
    asked += [QUESTION.format(j, [f"a{k}" for k in range(5)]) + groups for j in (1, 2)]
    tables = WANTED.replace('"q5", "q7", "q9", "q11"', '"q0"').replace('"q0", "q1"', '"q1"')
    survey = Survey.from_toml("".join([tables, *asked]))
    assert partners(survey, "q0") == []
    assert {each.name for each in identified(survey)} == set(ANALYSES) - {"waves"}
    for name in ("comparison", "crosstab", "regression", "risk", "table"):
        assert named_by(ANALYSES[name].start(survey), survey) == {"q0", "q1"}, name


def test_a_comparison_offers_the_groups_that_are_asked_with_its_answer(page, survey):
    offered = Choices(page("/comparison").text).selects
    assert offered["groups"] == partners(survey, "q5")
    # q4 is asked alone.
    answers = {text.partition("=")[0] for text in offered["answer"]}
    assert answers == set(survey.schema.names) - {"q4"}
    # Another answer is chosen first; the page then says which groups are asked with it.
    other = page("/comparison?answer=q3%3Da1&groups=q0")
    assert other.status_code == 422
    said = "no report is about 'q0' and 'q3' together; expected others: 'q0' is asked with q5, q7,"
    assert said in other.text.replace("&#39;", "'")
    # The group that was given stays among them.
    assert set(Choices(other.text).selects["groups"]) == {*partners(survey, "q3"), "q0"}
    [group, *_] = partners(survey, "q3")
    assert page(f"/comparison?answer=q3%3Da1&groups={group}").status_code == 200


def test_a_crosstab_offers_columns_and_layers_that_are_asked_with_its_rows(page, survey):
    offered = Choices(page("/crosstab?attributes=q0%2Cq5").text).selects
    assert offered["attributes-1"] == [name for name in survey.schema.names if name != "q4"]
    assert offered["attributes-2"] == partners(survey, "q0")
    source = reconstruction(survey)
    third = [name for name in survey.schema.names if name not in ("q0", "q5")]
    third = [name for name in third if source.identified(["q0", "q5", name])]
    assert offered["attributes-3"] == third == ["q7", "q9", "q11"]


def test_a_regression_offers_the_predictors_that_are_asked_with_its_outcome(page, survey):
    offered = Choices(page("/regression?outcome=q7&predictors=q0").text)
    assert offered.selects["outcome"] == [name for name in survey.schema.names if name != "q4"]
    [predictors] = [names for key, names in offered.boxes.items() if key[0] == "predictors"]
    assert predictors == partners(survey, "q7")


def test_a_table_tells_apart_the_questions_that_are_asked_with_the_chosen_ones(page, survey):
    offered = Choices(page("/table?attributes=q0%2Cq5").text).boxes
    together = offered["attributes", "Asked together with these"]
    assert together == ["q0", "q5", "q7", "q9", "q11"]
    others = offered["attributes", "Not asked together with these"]
    assert sorted([*together, *others]) == sorted(survey.schema.names)
    # A model has a table of three questions of which some pairs are asked together.
    by_model = page("/table?attributes=q0%2Cq1%2Cq5")
    assert by_model.status_code == 200
    said = re.sub(r"\s+", " ", by_model.text)
    assert "and independence of q0 and q1 given the other answers" in said
    assert "No report asks q0 and q1 together." in said
    assert page("/table?attributes=q0%2Cq1&estimate=model").status_code == 422


def test_weighted_records_of_all_questions_name_those_that_a_model_can_be_about(page):
    answer = page("/microdata?max_rows=1000")
    assert answer.status_code == 422
    assert "so fewer attributes, such as q0, q1, q2, q5, q7, q9, q11" in answer.text
    # Files of all questions are not offered.
    export = page("/export").text
    assert "since no model holds all questions" in export
    assert "microdata?format" not in export
    form = Choices(page("/microdata").text).boxes
    [modelled] = [names for key, names in form.items() if key[0] == "modelled"]
    assert len(modelled) == len(SIZES)
