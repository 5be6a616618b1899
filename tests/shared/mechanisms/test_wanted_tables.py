"""Views for wanted tables, against errors computed per component, and against a lower bound.

Errors and bound are those of `test_design`: weak duality over all sets of questions.
"""

import itertools
import json
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.mechanisms import WantedTables
from halftruth_shared.mechanisms.split_questionnaire.design import EXPONENT
from halftruth_shared.subset_responses import (
    choose_direct,
    choose_prime,
    response,
)

GAMMA = Fraction(19)
PARAMETERS = choose_prime(GAMMA), choose_direct(GAMMA, choose_prime(GAMMA))

#: Questions by number of answers: groups, outcomes, others.
SIZES = {"sex": 2, "age": 3, "drugs": 2, "voted": 2, "trust": 4, "mood": 3, "pets": 2}

#: What is wanted, with the questions that are public, and for each table the factor of its error.
WANTED = {
    "outcomes by groups": (
        [WantedTables(of=("drugs", "voted"), by=("sex", "age"))],
        (),
        {"sex drugs": 2, "sex voted": 2, "age drugs": 3, "age voted": 3},
    ),
    "three questions": (
        [WantedTables(of=("drugs",), by=("sex", ("sex", "age")))],
        (),
        {"sex drugs": 2, "sex age drugs": 6},
    ),
    "pairs and weights": (
        [
            WantedTables(of=("trust", "mood", "pets"), importance=0.5),
            WantedTables(of=("drugs",), by=("sex",), importance=2.0),
            WantedTables(of=("voted",), importance=3.0),
        ],
        (),
        {"trust mood": 2, "trust pets": 2, "mood pets": 1.5, "sex drugs": 4, "voted": 3 * 1.4},
    ),
    "a public group": (
        [WantedTables(of=("drugs", "sex"), by=("age",)), WantedTables(of=("voted",), by=("sex",))],
        ("sex",),
        # A public question divides the reports: it costs √2 in the error of a share within.
        {"age drugs": 3, "age": 3 / math.sqrt(2), "voted": math.sqrt(2)},  # above 1.4
    ),
}


def schema_of(public=()):
    return Schema(
        [
            Attribute(name, [f"{name} {k}" for k in range(size)], sensitive=name not in public)
            for name, size in SIZES.items()
        ]
    )


def factors(wanted, public):
    """Return the factor of the error of each table, and of each question alone."""
    alone = {frozenset([name]): 1.4 for name in SIZES if name not in public}
    return alone | {frozenset(table.split()): factor for table, factor in wanted.items()}


def subsets(names):
    names = sorted(names)
    for length in range(1, len(names) + 1):
        yield from map(frozenset, itertools.combinations(names, length))


def weighted_errors(information, demanded):
    """Return the weighted error of one report of each table, from the information by component."""
    return np.array(
        [
            factor
            * math.sqrt(
                math.fsum(
                    math.prod(SIZES[name] - 1 for name in part) / information[part]
                    for part in subsets(table)
                )
            )
            / math.prod(SIZES[name] for name in table)
            for table, factor in demanded.items()
        ]
    )


def largest(errors):
    return float((errors**EXPONENT).sum() ** (1 / EXPONENT))


def told(mechanism, schema):
    information = defaultdict(float)
    views = mechanism.bind(schema).views
    total = sum(view.weight for view in views)
    for view in views:
        each = view.weight / total * float(view.channel.information) / view.channel.cells
        for part in subsets(schema.names[j] for j in view.positions):
            information[part] += each
    return information


def lowest(demanded, public, start):
    """Return a lower bound of the largest error, from prices found by multiplicative steps.

    They start near the probabilities of the views whose optimality is to be shown; every price
    gives a bound.
    """
    views = [view for view in subsets(SIZES) if not view & set(public)]
    parts = sorted({part for table in demanded for part in subsets(table)}, key=sorted)
    adds = np.zeros((len(parts), len(views)))
    for column, view in enumerate(views):
        cells = math.prod(SIZES[name] for name in view)
        each = float(response(GAMMA, cells, *PARAMETERS).information) / cells
        adds[[row for row, part in enumerate(parts) if part <= view], column] = each
    wanted = np.zeros((len(demanded), len(parts)))
    for row, (table, factor) in enumerate(demanded.items()):
        for part in subsets(table):
            dimensions = math.prod(SIZES[name] - 1 for name in part)
            cells = math.prod(SIZES[name] for name in table)
            wanted[row, parts.index(part)] = dimensions * (factor / cells) ** 2
    chances = np.array([start.get(view, 0.0) for view in views]) + 1e-5 / len(views)
    chances, best = chances / chances.sum(), 0.0
    for _ in range(8_000):
        information = adds @ chances
        errors = np.sqrt(wanted @ (1 / information))
        prices = (errors / largest(errors)) ** (EXPONENT - 2)
        saved = (prices @ wanted / information**2) @ adds
        here = float(prices @ errors**2)
        best = max(best, here**2 / saved.max())
        # No view is lost, whose benefit could grow again.
        chances = chances * (saved / here) ** 0.03 + 1e-9
        chances /= chances.sum()
    return math.sqrt(best)


@pytest.mark.parametrize("wish", WANTED)
def test_views_minimize_the_largest_error_of_what_is_wanted(wish):
    tables, public, wanted = WANTED[wish]
    schema, demanded = schema_of(public), factors(wanted, public)
    mechanism = SplitQuestionnaire.designed(schema, GAMMA, public, tables)
    found = largest(weighted_errors(told(mechanism, schema), demanded))
    # Views are unions of wanted tables; no sets of questions are better.
    perturbation = mechanism.bind(schema)
    total, drawn = sum(view.weight for view in perturbation.views), defaultdict(float)
    for view in perturbation.views:
        drawn[frozenset(schema.names[j] for j in view.positions)] += view.weight / total
    assert found <= 1.01 * lowest(demanded, public, drawn)
    assert perturbation.amplification(public=public) == GAMMA
    asked = [{schema.names[j] for j in view.positions} for view in perturbation.views]
    assert all(any(table <= view for view in asked) for table in demanded)


def test_wanted_tables_are_more_precise_than_all_pairs():
    """Twelve questions, four yes/no outcomes by three groups: the errors of the tables within."""
    names = [f"q{j}" for j in range(12)]
    sizes = dict(zip(names, [2, 3, 3, 2, 5, 2, 3, 2, 4, 2, 3, 2], strict=True))
    schema = Schema([Attribute(name, [str(k) for k in range(d)]) for name, d in sizes.items()])
    tables = [WantedTables(of=("q5", "q7", "q9", "q11"), by=("q0", "q1", "q2"))]
    every = SplitQuestionnaire.designed(schema, GAMMA, (), {1: 1.0, 2: 1.0})
    few = SplitQuestionnaire.designed(schema, GAMMA, (), tables)

    def error(mechanism, table):
        information = told(mechanism, schema)
        spread = math.fsum(
            math.prod(sizes[name] - 1 for name in part) / information[part]
            for part in subsets(table)
        )
        return math.sqrt(spread) / math.prod(sizes[name] for name in table)

    assert list(every.wanted(schema)) == list(GammaDiagonal(GAMMA).wanted(schema)) == []
    assert set(few.wanted(schema)) == set(
        itertools.product(("q5", "q7", "q9", "q11"), ("q0", "q1", "q2"))
    )
    for table in itertools.product(("q0", "q1", "q2"), ("q5", "q7", "q9", "q11")):
        assert error(few, table) < 0.7 * error(every, table)
    # The others pay.
    assert 1 < error(few, ["q4"]) / error(every, ["q4"]) < 2.1
    assert len(few.bind(schema).views) < 60


def test_attributes_that_tables_use_alike_have_equal_weights():
    schema = schema_of()
    tables = [WantedTables(of=("drugs", "voted"), by=("sex", "age"))]
    views = SplitQuestionnaire.designed(schema, GAMMA, (), tables).bind(schema).views
    weights = defaultdict(int)
    for view in views:
        names = frozenset(schema.names[j] for j in view.positions)
        weights[names] += view.weight
    other = {"drugs": "voted", "voted": "drugs"}
    for names, weight in weights.items():
        assert weights[frozenset(other.get(name, name) for name in names)] == weight


def survey(mechanism):
    questions = "".join(
        f'[[attributes]]\nname = "{name}"\ncategories = {[str(k) for k in range(size)]}\n'
        f"sensitive = {str(name != 'sex').lower()}\n"
        for name, size in SIZES.items()
    )
    questions += '[[attributes]]\nname = "news"\nkind = "several"\n'
    questions += 'options = [{name = "paper"}, {name = "radio"}]\n'
    return Survey.from_toml(f'id = "s"\ntitle = "S"\n[mechanism]\n{mechanism}\n{questions}')


SPLIT = 'kind = "split-questionnaire"\ngamma = "19"\n'
EVERY = json.dumps([*SIZES, "news.paper", "news.radio"])
TABLES = '[[mechanism.tables]]\nof = ["drugs", "news"]\nby = ["age", ["age", "trust"]]\n'


def test_a_published_survey_has_its_views_and_its_tables():
    made = survey(f"{SPLIT}{TABLES}")
    document = json.loads(made.canonical_json)
    assert document["mechanism"]["tables"] == [
        {"of": ["drugs", "news"], "by": ["age", ["age", "trust"]]}
    ]
    assert document["mechanism"]["views"]
    again = Survey.from_json(made.canonical_json)
    assert again.digest == made.digest
    assert again.mechanism == made.mechanism
    # They are part of the digest, since queries start with them.
    del document["mechanism"]["tables"]
    assert Survey.from_json(json.dumps(document)).digest != made.digest


def test_a_question_with_several_answers_stands_for_its_options():
    made = survey(f"{SPLIT}{TABLES}")
    schema = made.schema
    asked = [{schema.names[j] for j in view.positions} for view in made.perturbation.views]
    for option in schema.options["news"]:
        assert any({option.name, "age", "trust"} <= view for view in asked)


@pytest.mark.parametrize(
    ("mechanism", "field", "words"),
    [
        (f'{SPLIT}[[mechanism.tables]]\nof = ["nothing"]', "tables.of", "unknown question"),
        (f'{SPLIT}[[mechanism.tables]]\nof = ["drugs", "drugs"]', "tables.of", "once"),
        (f'{SPLIT}[[mechanism.tables]]\nof = ["drugs"]\nby = ["drugs"]', "tables.by", "other"),
        (f'{SPLIT}[[mechanism.tables]]\nof = ["drugs"]\nby = ["it"]', "tables.by", "unknown"),
        (f'{SPLIT}[[mechanism.tables]]\nof = ["drugs"]\nby = [[]]', "tables.by", "questions"),
        (
            f'{SPLIT}[[mechanism.tables]]\nof = ["drugs"]\nby = [["age", "age"]]',
            "tables.by",
            "different",
        ),
        (
            f'{SPLIT}[[mechanism.tables]]\nof = ["drugs"]\nby = ["age"]\nimportance = 0',
            "tables.importance",
            "above 0",
        ),
        (f"{SPLIT}max_length = 2\n{TABLES}", "max_length", "either tables"),
        (f"{SPLIT}lengths = {{2 = 2.0}}\n{TABLES}", "lengths", "either tables"),
        (
            f"{SPLIT}views = [{{attributes = [{EVERY}], choose = [1], weight = 1}}]\n{TABLES}",
            "tables",
            "no view asks age, drugs together",
        ),
    ],
)
def test_other_tables_are_refused(mechanism, field, words):
    with pytest.raises(ParameterError, match=words) as caught:
        survey(mechanism)
    assert field in str(caught.value.field)
    assert "\n" not in str(caught.value)


def test_too_many_tables_are_refused():
    schema = Schema([Attribute(f"q{j}", ["no", "yes"]) for j in range(70)])
    tables = [WantedTables(of=tuple(schema.names))]
    with pytest.raises(ParameterError, match="at most 2000 tables"):
        SplitQuestionnaire.designed(schema, GAMMA, (), tables)


def test_tables_that_no_view_can_have_are_refused():
    schema = Schema([Attribute(name, [str(k) for k in range(2_000)]) for name in "ab"])
    tables = [WantedTables(of=("a",), by=("b",))]
    with pytest.raises(ParameterError, match="smaller tables") as caught:
        SplitQuestionnaire.designed(schema, GAMMA, (), tables)
    assert caught.value.field == "tables"
