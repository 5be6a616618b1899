"""Analyses of a group equal those of a survey of the group's people alone."""

import html
import json
from urllib.parse import urlencode

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, EstimateError, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.columns import encode
from sources import source_of

PEOPLE = 20_000
FILTERED = [name for name, analysis in ANALYSES.items() if "where" in analysis.fields]

#: Fields about the origin of a result, and its sentences.
BESIDE = {"survey", "digest", "reports", "as_of", "group", "query", "verdict", "headline"}


def survey_of(names):
    """A survey without perturbation."""
    schema = Schema([Attribute(name, ["c0", "c1"], sensitive=False) for name in names])
    return Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(names, 1)))


@pytest.fixture(scope="module")
def counted():
    """A survey of all people, and one of the two fifths who give one answer."""
    rng = np.random.default_rng(7)
    shares = rng.dirichlet(np.full(8, 3.0), size=2)
    group = (rng.random(PEOPLE) < 0.4).astype(int)
    others = np.where(group, *(rng.choice(8, PEOPLE, p=p) for p in shares))
    records = np.stack([group, *np.unravel_index(others, (2, 2, 2))], axis=1)
    return [
        source_of(survey, rows)
        for survey, rows in (
            (survey_of("wabc"), records),
            (survey_of("abc"), records[group == 1][:, 1:]),
        )
    ]


def numbers(answer, path=""):
    """Yield all numbers and words of a result with their paths."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name not in BESIDE:
                yield from numbers(value, f"{path}.{name}")
    elif isinstance(answer, list):
        for place, value in enumerate(answer):
            yield from numbers(value, f"{path}[{place}]")
    else:
        yield path, answer


@pytest.mark.parametrize("name", FILTERED)
def test_a_group_has_the_numbers_of_a_survey_of_its_people(counted, name):
    analysis, (everybody, alone) = ANALYSES[name], counted
    query = analysis.start(alone.survey)
    if "estimate" in analysis.fields:
        query = msgspec.structs.replace(query, estimate="moment")
    expected = answer(analysis, alone, query)
    found = answer(analysis, everybody, msgspec.structs.replace(query, where={"w": "c1"}))
    assert (found.reports, expected.reports) == (PEOPLE, found.group.people)
    assert (found.group.items, expected.group) == ({"w": "c1"}, None)
    one, other = (dict(numbers(json.loads(encode(result)))) for result in (expected, found))
    assert one.keys() == other.keys()
    for place, value in one.items():
        if "undone_by" in place and value is not None:
            # Whole reports.
            assert other[place] == pytest.approx(value, rel=2e-3, abs=1), place
        elif isinstance(value, float) and other[place] is not None:
            # Errors are divided by N − 1 reports in one survey, and by n − 1 in the other.
            assert other[place] == pytest.approx(value, rel=5e-4, abs=1e-6), place
        else:
            assert other[place] == value, place


def test_an_empty_group_is_refused(counted):
    everybody = counted[0]
    counts = Counts.from_cells(everybody.survey, [[0, 0, 0, 1]], [500])
    query = OverviewQuery(where={"w": "c1"})
    with pytest.raises(EstimateError, match="which is less than five standard errors above zero"):
        answer(ANALYSES["overview"], source_of(everybody.survey, counts), query)


def test_bases_of_a_crosstab_count_the_people_of_the_group(study, get):
    """Their intervals include the error of the group's size."""
    where, confidence = {"smoker": "yes"}, 0.9
    asked = {"attributes": ["age", "vote"], "where": where, "confidence": confidence}
    crossed, everybody = with_people(get("crosstab", {**asked, "percentages": "joint"}))
    assert everybody["value"] == pytest.approx([crossed["group"]["people"]])
    ends = everybody["lower"] + everybody["upper"]
    assert ends == pytest.approx(crossed["group"]["people_interval"])
    query = TableQuery(attributes=["age", "smoker"], confidence=confidence, target="respondents")
    table = answer(ANALYSES["table"], study.counted["study"], query)
    smokers = [row for row in table.rows if row["smoker"] == "yes"]
    _, bases = with_people(get("crosstab", {**asked, "percentages": "row"}))
    assert bases["age"] == [cell["age"] for cell in smokers]
    assert bases["value"] == pytest.approx([3000 * cell.value for cell in smokers])
    for place, end in enumerate(("lower", "upper")):
        assert bases[end] == pytest.approx([3000 * cell.interval[place] for cell in smokers])


def with_people(answered):
    """Return an answer, and the columns of its rows with numbers of people."""
    answer = answered[1]
    columns = {key["name"]: key["values"] for key in answer["keys"]} | answer["estimates"]
    places = [i for i, name in enumerate(columns["quantity"]) if name == "people"]
    return answer, {name: [column[i] for i in places] for name, column in columns.items()}


def test_a_filter_with_several_answers_is_written_alike_in_every_interface(study, get, halftruth):
    either = {"age": ["young", "old"], "smoker": "yes"}
    where = [("where", "age=young"), ("where", "smoker=yes"), ("where", "age=old")]
    address = urlencode([("attributes", "vote"), *where])
    headers = {"Authorization": f"Bearer {study.token}"}
    answer = study.http.get(f"/v1/surveys/study/table?{address}", headers=headers).get_json()
    assert answer["query"]["where"] == answer["group"]["items"] == either
    estimator = study.counted["study"].estimator.where(either)
    supports = estimator.table(["vote"]).value
    assert answer["estimates"]["value"] == pytest.approx(supports)
    q = study.analyst.survey("study").questions
    chosen = [q.age.young, q.age.old, q.smoker.yes]
    words = [word for name, text in where for word in (f"--{name}", text)]
    status, printed, _ = halftruth(
        "analyse", "table", "study", "--attributes", "vote", *words, "--json"
    )
    assert status == 0
    found = study.analyst.table("study", ["vote"], where=either)
    assert [*found.rows] == [*study.analyst.table("study", ["vote"], where=chosen).rows]
    assert found.estimates.value == pytest.approx(supports)
    assert json.loads(printed)["estimates"] == answer["estimates"]
    assert "Only people with age=young or old, smoker=yes" in repr(found)
    page = html.unescape(study.browser.get(f"/results/study/table?{address}").text)
    assert "Only people with age=young or old, smoker=yes" in page
    for text in ("age=young", "age=old", "smoker=yes"):
        assert f'value="{text}" checked>' in page
    file = study.http.get(f"/v1/surveys/study/table?{address}&format=csv", headers=headers).text
    assert file.splitlines()[1].count('"age=young or old, smoker=yes"') == 1


def test_two_answers_to_a_single_choice_are_refused(study, get):
    asked = [("answer", "smoker=yes"), ("answer", "smoker=no"), ("groups", "age")]
    headers = {"Authorization": f"Bearer {study.token}"}
    address = f"/v1/surveys/study/comparison?{urlencode(asked)}"
    answer = study.http.get(address, headers=headers).get_json()
    assert answer["detail"] == "answer: 'smoker' is given twice; expected once"
