"""Results in a notebook or a shell: completion, tables, charts, data frames."""

import html.parser
import inspect
import rlcompleter
import sys
from uuid import uuid4

import matplotlib as mpl
import msgspec
import numpy as np
import pytest
from halftruth_client import Analyst, RequestRefused
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation import Counts
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.protocol.reports import Report
from matplotlib.text import Text
from sources import source_of

from .conftest import SURVEYS

GAP = "\N{NARROW NO-BREAK SPACE}"

#: Analyses without a chart.
WITHOUT = {"counts", "microdata"}


@pytest.fixture
def health(study):
    return study.analyst.survey("study")


@pytest.fixture(autouse=True)
def without_a_screen(monkeypatch):
    monkeypatch.setitem(mpl.rcParams, "backend", "Agg")


class Cells(html.parser.HTMLParser):
    """The tags of a document, and the texts of its cells by row."""

    def __init__(self, document):
        super().__init__()
        self.tags, self.rows, self.texts = [], [], []
        self.feed(document)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.texts.append(data)
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def completions(text, **names):
    completer, found = rlcompleter.Completer(names), []
    while (word := completer.complete(text, len(found))) is not None:
        found.append(word.removesuffix("()").removesuffix("("))
    return found


def test_surveys_are_listed(study):
    found = study.analyst.surveys()
    assert {survey.id for survey in found} == {"empty", "study", "whole"}
    assert list(found.to_pandas().loc["whole"][["title", "status"]]) == ["Whole records", "open"]
    assert "whole  Whole records  open" in repr(found)
    assert ["whole", "Whole records", "open"] in Cells(found._repr_html_()).rows


def test_names_of_questions_and_answers_are_completed(health):
    assert completions("q.", q=health.questions) == ["q.age", "q.coughs", "q.smoker", "q.vote"]
    # A category that is no identifier is reached by subscription.
    assert completions("v.", v=health.questions.vote) == ["v.label", "v.left", "v.name", "v.right"]
    assert health.questions.vote._ipython_key_completions_() == ["left", "right", "none, a=b"]
    assert str(health.questions["vote"]["none, a=b"]) == "vote=none, a=b"
    expected = sorted(f"h.{name.replace('-', '_')}" for name in ANALYSES)
    assert completions("h.", h=health) == sorted(
        [*expected, "h.ask", "h.definition", "h.questions"]
    )
    assert ["smoker", "smoker", "no, yes"] in Cells(health.questions._repr_html_()).rows
    assert repr(health).startswith("study: Study\nsmoker: no, yes\n")


def test_an_unknown_name_is_refused_with_similar_names(health):
    with pytest.raises(AttributeError, match=r"^question 'smoke': expected one of: smoker$"):
        _ = health.questions.smoke
    with pytest.raises(AttributeError, match="answer to 'age' 'x': expected one of: young, mid"):
        _ = health.questions.age.x
    with pytest.raises(KeyError, match="question 'sex': expected one of: smoker, coughs"):
        health.questions["sex"]
    with pytest.raises(RequestRefused, match="no survey 'helth'"):
        health._analyst.survey("helth")


def test_questions_and_answers_can_be_passed_in_place_of_names(health, study):
    q, by_name = health.questions, study.analyst
    for found, expected in (
        (
            health.comparison(
                q.smoker.yes, q.age, among=[q.age.young, q.age.old], reference=q.age.old
            ),
            by_name.comparison(
                "study", {"smoker": "yes"}, "age", among=["young", "old"], reference="old"
            ),
        ),
        (
            health.table([q.smoker, "coughs"], where=[q.age.old, q.vote["none, a=b"]]),
            by_name.table("study", ["smoker", "coughs"], where={"age": "old", "vote": "none, a=b"}),
        ),
        (
            health.weighted({q.smoker.no: 0.5, q.smoker.yes: 0.5}, attributes=(q.age,)),
            by_name.weighted("study", {"smoker": {"no": 0.5, "yes": 0.5}}, attributes=["age"]),
        ),
        (
            by_name.rules(
                "study", antecedent=[q.smoker.yes, q.age.old], consequent={q.coughs: q.coughs.yes}
            ),
            by_name.rules(
                "study", antecedent={"smoker": "yes", "age": "old"}, consequent={"coughs": "yes"}
            ),
        ),
    ):
        assert msgspec.structs.replace(found, as_of=expected.as_of) == expected


def test_questions_and_answers_in_the_wrong_place_are_refused(health):
    q = health.questions
    with pytest.raises(ParameterError, match="answer: 'age' is given twice"):
        health.comparison([q.age.old, q.age.young], q.smoker)
    with pytest.raises(ParameterError, match="answer: expected one attribute=category"):
        health.comparison(q.smoker, q.age)
    with pytest.raises(ParameterError, match="attributes: expected two to four names"):
        health.crosstab(q.smoker)


def test_a_survey_has_the_methods_of_an_analyst_without_its_id(health):
    for name in ANALYSES:
        of_all = inspect.signature(getattr(health._analyst, name.replace("-", "_")))
        of_one = inspect.signature(getattr(health, name.replace("-", "_")))
        assert list(of_all.parameters) == ["survey", *of_one.parameters]
    assert "survey : str" not in health.comparison.__doc__
    assert "\nanswer : dict[str, str]\n    Answer whose share" in health.comparison.__doc__


@pytest.mark.parametrize("name", ANALYSES)
def test_every_result_has_a_table_and_a_chart_if_it_has_intervals(study, name):
    found = study.analyst.ask("study", ANALYSES[name].start(SURVEYS[0]))
    text, document = repr(found), Cells(found._repr_html_())
    for said in (text, "\n".join(document.texts)):
        assert f"3{GAP}000 reports" in said
        assert f"{found.as_of:%Y-%m-%d}" in said
    if name in WITHOUT:
        with pytest.raises(ParameterError, match=f"^plot: {name} has no estimates with intervals"):
            found.plot()
        return
    assert found.plot()._repr_png_()


def test_long_results_are_truncated_with_the_number_of_omitted_rows(study):
    found = study.analyst.itemsets("study", min_support=0.0001, max_length=4)
    many = len(found.rows)
    assert many > 60
    assert f"… and {many - 60} more" in repr(found)
    assert len(Cells(found._repr_html_()).rows) == 61
    # A single row of many numbers is printed as a column.
    rule = repr(
        study.analyst.rules("study", antecedent={"smoker": "yes"}, consequent={"coughs": "yes"})
    )
    assert max(map(len, rule.partition("----")[2].splitlines())) < 100


def test_an_empty_result_says_that_nothing_was_found(study):
    found = study.analyst.itemsets("study", min_support=1)
    for said in (repr(found), found._repr_html_()):
        assert "No itemset has an estimated support of" in said
        assert "No matching rows." in said


def test_texts_of_a_survey_are_escaped_in_html_and_charts(store, live):
    hostile = ("<b>&amp;</b>", "$x^2$ and $")
    schema = Schema([Attribute("a", hostile, label="<script>alert(1)</script>")])
    survey = Survey("hostile", "<img src=x>", schema, GammaDiagonal("19"))
    operations.publish_survey(store, survey)
    reports = [Report(id=uuid4(), values=[n % 2]) for n in range(60)]
    store.reports.add("hostile", survey.digest, reports)
    analyst = Analyst(live.url, operations.create_token(store, "analyst"), retries=0)
    found = analyst.overview("hostile")
    for document in (
        found._repr_html_(),
        analyst.surveys()._repr_html_(),
        analyst.survey("hostile").questions._repr_html_(),
    ):
        shown = Cells(document)
        assert set(shown.tags) <= {
            *("p", "table", "caption", "b", "br", "thead", "tbody", "tr", "th", "td"),
        }
    assert [row[1] for row in Cells(found._repr_html_()).rows[1:3]] == list(hostile)
    figure = found.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert {*hostile} <= {text.get_text() for text in figure.findobj(Text)}


@pytest.mark.parametrize(
    ("method", "module", "said"),
    [
        ("to_pandas", "pandas", "to_pandas: expected pandas, .*'halftruth-client\\[pandas\\]'"),
        ("plot", "matplotlib", "plot: expected Matplotlib, .*'halftruth-client\\[plot\\]'"),
    ],
)
def test_a_missing_extra_is_named(study, monkeypatch, method, module, said):
    found = study.analyst.overview("study")
    monkeypatch.delitem(sys.modules, "halftruth_shared.results.charts.drawing", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=said):
        getattr(found, method)()


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("table", {"attributes": ["smoker", "vote"]}),
        ("regression", {"outcome": "coughs", "predictors": ["smoker", "age"]}),
        (
            "weighted",
            {"margins": {"smoker": {"no": 0.6, "yes": 0.4}}, "attributes": ["age", "vote"]},
        ),
        ("crosstab", {"attributes": ["smoker", "vote"]}),
        *(
            ("comparison", {"answer": {"vote": "left"}, "groups": "age", "effect": effect, **trend})
            for effect, trend in (("difference", {"trend": True}), ("odds_ratio", {}))
        ),
    ],
)
def test_covariances_are_labelled_like_the_rows(study, name, asked):
    ask = getattr(study.analyst, name)
    found = ask("study", **asked, covariance=True)
    frame, rows = found.covariance_to_pandas(), found.to_pandas()
    assert frame.index.equals(rows.index)
    assert frame.columns.equals(rows.index)
    errors = np.sqrt(np.diag(frame.to_numpy()))
    own = rows["standard_error"].fillna(rows["standard_error_log"])
    np.testing.assert_allclose(errors, own, rtol=1e-9)
    # Covariances between differently weighted questions, of numbers of people, and of marginal
    # effects are unknown.
    unknown = name in ("weighted", "comparison", "crosstab", "regression")
    assert frame.isna().to_numpy().any() == unknown
    with pytest.raises(ParameterError, match="expected a query with covariance=True"):
        ask("study", **asked).covariance_to_pandas()


def test_effective_reports_of_unperturbed_answers_are_n_minus_1():
    schema = Schema([Attribute(name, ("no", "yes"), sensitive=False) for name in "ab"])
    survey = Survey("open", "Open", schema, RandomizedResponse({"a": "1", "b": "1"}))
    counts = Counts.from_cells(survey, [[0, 0], [0, 1], [1, 1]], [300, 500, 201])
    counted = source_of(survey, counts)
    table = answer(ANALYSES["table"], counted, ANALYSES["table"].query(attributes=["a", "b"]))
    [effective] = [each for each in table.caveats if each.code == "effective reports"]
    assert effective.values["reports"] == pytest.approx(1_000)
    assert "1\u202f000 answers without perturbation" in effective.sentence
    overview = answer(ANALYSES["overview"], counted, ANALYSES["overview"].query())
    effective = [overview.find("effective_reports", question=name).value for name in "ab"]
    assert effective == pytest.approx([1_000, 1_000])
