"""Small surveys of every shape, and likelihood ratios of their reports, by enumeration.

Everything is computed from the definitions in docs/protocol.md with integers and fractions: the
feasible records, the likelihood of each report under each of them, and the largest ratio of two of
these. Questions are choices, scales and numbers, with conditions, missing answers or multiple
responses; they are sent unperturbed, perturbed though they are not sensitive, or have an answer
that a report can prove. Reports are drawn by a device or by the respondents.
"""

import itertools
import json
import math
from fractions import Fraction
from itertools import product
from types import MappingProxyType

import numpy as np
from halftruth_shared import HalftruthError, Survey

from tests.support import dense_split
from tests.support.dependent import document

NOT_ASKED = "not asked"

#: Largest number of records of a survey.
MOST_RECORDS = 100

#: P(report yes | yes) and P(report yes | no) of each design, and values of its parameters.
DESIGNS = {
    "warner": (lambda p: (p, 1 - p), {"p": ["1/4", "2/3", "9/10"]}),
    "forced-response": (
        lambda yes, no: (1 - no, yes),
        {"yes": ["1/6", "1/4"], "no": ["1/6", "1/12"]},
    ),
    "unrelated-question": (
        lambda p, prevalence: (p + (1 - p) * prevalence, (1 - p) * prevalence),
        {"p": ["7/10", "1/2"], "prevalence": ["1/4", "17/100"]},
    ),
    "kuk": (
        lambda theta1, theta2: (theta1, theta2),
        {"theta1": ["4/5", "7/10"], "theta2": ["1/5", "2/5"]},
    ),
    "crosswise": (lambda prevalence: (prevalence, 1 - prevalence), {"prevalence": ["1/4", "2/3"]}),
    "triangular": (lambda prevalence: (Fraction(1), prevalence), {"prevalence": ["1/4", "1/2"]}),
    "mangat": (lambda p: (Fraction(1), 1 - p), {"p": ["2/3", "1/2"]}),
}
PROVING = ("triangular", "mangat")


def small_surveys(rng, count, most=4):
    """Yield survey cases with random shapes, conditions and mechanisms."""
    for _ in range(count):
        yield _survey(rng, most)


def collapsed_surveys(rng, count, most=3):
    """Yield split questionnaires with collapsed answers, random otherwise."""
    while count:
        case = _survey(rng, most, largest=5, makers=[_collapsed])
        if any("collapsed" in each for each in case.survey["attributes"]):
            count -= 1
            yield case


def wanted_surveys(rng, count):
    """Yield split questionnaires whose views follow from wanted tables, most with groups."""
    for _ in range(count):
        yield _survey(rng, 3, largest=5, makers=[_wanted])


def set_surveys(rng, count):
    """Yield split questionnaires with a question that is perturbed as one set."""
    for _ in range(count):
        yield _set_survey(rng, _sets)


def wanted_set_surveys(rng, count):
    """Yield the same kind of surveys, whose views follow from wanted tables of the set."""
    for _ in range(count):
        yield _set_survey(rng, _wanted_sets)


def answer_surveys(rng, count, most=4):
    """Yield surveys that promise by answer, random otherwise; some of them have no such γ."""
    makers = [_kept, _kept, _matrices, _field]
    for _ in range(count):
        case = _survey(rng, most, makers=makers)
        case.survey["promise"] = "answer"
        yield case


def gamma_surveys(rng, count):
    """Yield surveys that promise γ = 5 by answer; an enumeration needs their probabilities."""
    for _ in range(count):
        case = _survey(rng, 3, makers=[_by_gamma])
        case.survey["promise"] = "answer"
        yield case


def _survey(rng, most, largest=None, makers=None):
    largest = largest or rng.choice([2, 3, 3])
    sizes = [rng.randint(2, largest) for _ in range(rng.randint(1, most))]
    questions, conditions, shape = [], [], []
    several = rng.randrange(len(sizes) - 1) if len(sizes) > 2 and rng.random() < 0.3 else None
    for j, size in enumerate(sizes):
        is_option = several is not None and j in (several, several + 1)
        wanted = {}
        if is_option and j > several:
            # Two options of one multiple-response question.
            wanted = conditions[several]
        else:
            for i in range(j):
                if rng.random() < (0.2 if is_option else 0.45):
                    codes = range(shape[i])
                    wanted[i] = tuple(sorted(rng.sample(codes, rng.randint(1, shape[i] - 1))))
        if is_option:
            categories, missing = ["no", "yes"], []
            written = {"name": f"several.o{j}", "sensitive": True}
        else:
            # With “not asked”, one category is enough.
            size = rng.choice([1, size]) if wanted else size
            categories, missing, more = _answers(rng, size, math.prod(shape))
            written = {"name": f"a{j}", "sensitive": rng.random() < 0.7} | more
        missing = missing + [NOT_ASKED] * bool(wanted)
        written["categories"] = categories + missing
        if missing and not is_option:
            written["missing"] = missing
        if wanted:
            written["ask_if"] = {
                questions[i]["name"]: [questions[i]["categories"][c] for c in codes]
                for i, codes in wanted.items()
            }
        questions.append(written)
        conditions.append(wanted)
        shape.append(len(written["categories"]))
    if makers is None:
        makers = [_diagonal, _diagonal, _kept, _kept, _matrices, _matrices, _matrices]
        makers += [_field, _field, _split, _split]
    return Case(questions, conditions, tuple(shape), *rng.choice(makers)(rng, questions, shape))


def _set_survey(rng, maker):
    """Return a survey with a set of two or three options, between one or two questions."""
    first = {"name": "a0", "categories": ["c0", "c1", "c2"][: rng.choice([2, 2, 3])]}
    public = rng.random() < 0.4
    questions, conditions = [first | {"sensitive": not public}], [{}]
    count = rng.choice([2, 2, 3])
    at_most = rng.randint(1, count)
    wanted = {0: (1,)} if rng.random() < 0.4 else {}
    optional = rng.random() < 0.4 and (count < 3 or not wanted)
    missing = ["no answer"] * optional + [NOT_ASKED] * bool(wanted)
    for j in range(count):
        option = {"name": f"several.o{j}", "categories": ["no", "yes", *missing], "sensitive": True}
        option |= {"missing": missing, "optional": optional, "at_most": at_most}
        option |= {"ask_if": {"a0": ["c1"]}} if wanted else {}
        questions.append(option)
        conditions.append(wanted)
    if rng.random() < 0.7:
        last = {"name": "z", "categories": ["c0", "c1", "c2"][: rng.choice([2, 3])]}
        wanted = {}
        if rng.random() < 0.4:
            wanted = {1: (1,)}
            last |= {"ask_if": {"several.o0": ["yes"]}, "missing": [NOT_ASKED]}
            last["categories"] = [*last["categories"], NOT_ASKED]
        if len(last["categories"]) > 3 and rng.random() < 0.5:
            last["collapsed"] = {"low": ["c0", "c1"], "high": ["c2"], NOT_ASKED: [NOT_ASKED]}
        questions.append(last | {"sensitive": True})
        conditions.append(wanted)
    shape = tuple(len(each["categories"]) for each in questions)
    return Case(questions, conditions, shape, *maker(rng, questions, shape, public))


def _sets(rng, questions, shape, public):
    """Return a mechanism with views of a set, the weights of reports, and the reports."""
    gamma = Fraction(rng.choice(["3", "19", "19/2", "3/2"]))
    options = [j for j, each in enumerate(questions) if each["name"].startswith("several.")]
    at_most = questions[options[0]]["at_most"]
    others = [j for j in range(len(shape)) if j not in options and not (public and j == 0)]
    # Views by their questions: options, pairs of options, or neither.
    drawn = [("options", ()), *(("", (j,)) for j in others)]
    drawn += [("options", tuple(others))] * (bool(others) and rng.random() < 0.6)
    if at_most > 1 and rng.random() < 0.7:
        drawn.append(("pairs", tuple(others) if drawn[-1] == ("options", tuple(others)) else ()))
    rng.shuffle(drawn)
    weights = [rng.randint(1, 4) for _ in drawn]
    views = [
        {
            "attributes": [
                [*(questions[j]["name"] for j in about), *(["several"] if kind else [])]
            ],
            "weight": weight,
        }
        | ({"pairs": True} if kind == "pairs" else {})
        for (kind, about), weight in zip(drawn, weights, strict=True)
    ]
    mechanism = {"kind": "split-questionnaire", "gamma": str(gamma), "prime": 2, "direct": 64}
    mechanism |= {"views": views, "public": ["a0"]} if public else {"views": views}
    return mechanism, *_of_set_views(questions, shape, mechanism)


def _wanted_sets(rng, questions, shape, public):
    """Return the same for tables of the set, alone or by groups, and perhaps of other questions."""
    options = [j for j, each in enumerate(questions) if each["name"].startswith("several.")]
    others = [each["name"] for j, each in enumerate(questions) if j not in options]
    by = rng.sample(others, rng.randint(0, len(others)))
    by = [by] if len(by) > 1 and rng.random() < 0.5 else by
    table = {"of": ["several"], "importance": rng.choice([1, 1, 0.6])} | ({"by": by} if by else {})
    if questions[options[0]]["at_most"] > 1 and rng.random() < 0.6:
        table["pairs"] = True
    tables = [table, *([{"of": others}] if len(others) > 1 and rng.random() < 0.5 else [])]
    mechanism = {"kind": "split-questionnaire", "gamma": rng.choice(["3", "19", "19/2"])}
    mechanism |= {"tables": tables} | ({"public": ["a0"]} if public else {})
    survey = document(mechanism, *_as_asked(questions))
    mechanism = json.loads(Survey.from_json(json.dumps(survey)).canonical_json)["mechanism"]
    return mechanism, *_of_set_views(questions, shape, mechanism)


def _of_set_views(questions, shape, mechanism):
    """Return the weights of the reports of a mechanism with views of a set, and the reports."""
    gamma, public = Fraction(mechanism["gamma"]), "public" in mechanism
    options = [j for j, each in enumerate(questions) if each["name"].startswith("several.")]
    at_most, missing = questions[options[0]]["at_most"], questions[options[0]]["missing"]
    groups = {
        j: [int(category not in ("c0", "c1")) + (category == NOT_ASKED) for category in own]
        for j, each in enumerate(questions)
        if "collapsed" in each
        for own in [each["categories"]]
    }
    place = {each["name"]: j for j, each in enumerate(questions)}
    records = list(product(*map(range, shape)))
    rows, first = {}, 0
    for view in mechanism["views"]:
        # Few questions: each class is one view, or one of each of some questions.
        [names] = view["attributes"]
        for asked in itertools.combinations(names, view.get("choose", [len(names)])[0]):
            about = tuple(sorted(place[name] for name in asked if name != "several"))
            if "several" in asked:
                of_set = options, at_most, len(missing), view.get("pairs", False)
                part = dense_split.set_matrix(shape, about, gamma, *of_set, groups)
            else:
                answered = mechanism["prime"], mechanism["direct"], groups
                part = dense_split.view_matrix(shape, about, gamma, *answered)
            for y, row in enumerate(part):
                for known in range(shape[0]) if public else [None]:
                    report = (first + y,) if known is None else (known, first + y)
                    rows[report] = [
                        p * view["weight"] if known in (None, record[0]) else Fraction(0)
                        for record, p in zip(records, row, strict=True)
                    ]
            first += len(part)
    return lambda: _whole_numbers(rows.values()), list(rows)


def _answers(rng, size, records):
    """Return categories, missing categories and further members of a question."""
    kind = rng.choice(["choice", "choice", "scale", "number", "optional", "refused"])
    if kind == "number" and size > 1:
        range_ = {"kind": "number", "minimum": 0, "maximum": size - 1, "step": 1}
        return list(map(str, range(size))), [], range_
    categories = [f"c{code}" for code in range(size)]
    if kind == "scale":
        return categories, [], {"kind": "scale"}
    if kind in ("optional", "refused") and records * (size + 2) <= MOST_RECORDS:
        optional = kind == "optional"
        return categories, ["no answer" if optional else "refused"], {"optional": optional}
    return categories, [], {}


class Case:
    """A survey, its feasible records and the weight of each report under each record.

    `reports` are the values of the reports, in the order of the rows of the weights.
    """

    def __init__(self, questions, conditions, shape, mechanism, weights, reports=None):
        self.survey = document(mechanism, *_as_asked(questions))
        self.conditions, self.shape = conditions, shape
        self.names = [each["name"] for each in questions]
        #: Names in texts.
        self.labels = [name.replace("several.", "several – ") for name in self.names]
        options = [j for j, each in enumerate(questions) if each["name"].startswith("several.")]
        #: Positions of the attributes of each question.
        self.questions = [[j] for j in range(len(shape)) if j not in options]
        self.questions += [options] if options else []
        #: Positions of the options of a question that is perturbed as one set, and the largest
        #: number of those that are chosen.
        self.set_of = options if options and "at_most" in questions[options[0]] else []
        self.at_most = questions[options[0]].get("at_most") if options else None
        self.sensitive = [each["sensitive"] for each in questions]
        if options:
            for j in options:
                self.sensitive[j] = all(self.sensitive[i] for i in options)
        #: By position of an attribute with a design that proves an answer, the code of the other.
        self.others = {
            j: each["categories"].index(design["answer"])
            for j, each in enumerate(questions)
            if (design := mechanism.get("designs", {}).get(each["name"]))
            and design["design"] in PROVING
        }
        #: By position, codes of missing answers that respondents do not randomize.
        self.unrandomized = {
            j: _unrandomized(each) if mechanism.get("randomized_by") else set()
            for j, each in enumerate(questions)
        }
        self._weights = weights
        self.reports = list(product(*map(range, shape))) if reports is None else reports

    def feasible(self):
        return [u for u in product(*map(range, self.shape)) if self._can_be(u)]

    def _can_be(self, record):
        for j, wanted in enumerate(self.conditions):
            asked = all(record[i] in codes for i, codes in wanted.items())
            if wanted and asked == (record[j] == self.shape[j] - 1):
                return False
        own = [record[j] for j in self.set_of]
        mixed = bool(own) and max(own) > 1 and min(own) < max(own)
        return not mixed and not (own and own.count(1) > self.at_most)

    def all_weights(self):
        """Return the same weights for all records, feasible or not."""
        return self._weights()

    def weights(self):
        """Return integers proportional to P(report | record), shape (reports, feasible records)."""
        places = [int(np.ravel_multi_index(u, self.shape)) for u in self.feasible()]
        return self._weights()[:, places]

    def ancestors(self, j):
        direct = set(self.conditions[j])
        return direct.union(*map(self.ancestors, direct))

    def dependents(self, j):
        found = {j}
        for i, wanted in enumerate(self.conditions):
            if found & wanted.keys():
                found.add(i)
        return found


def _unrandomized(question):
    """Return the codes of missing answers, which respondents report unchanged."""
    names = [name for name in question.get("missing", []) if name != NOT_ASKED]
    codes = {question["categories"].index(name) for name in names}
    # A single answer is randomized with them.
    return codes if len(question["categories"]) - len(codes) > 1 else set()


def _as_asked(questions):
    """Convert questions to those of a survey file, where options are part of one question."""
    written = [
        {key: value for key, value in each.items() if key != "categories"}
        if each.get("kind") == "number"
        else each
        for each in questions
    ]
    options = [each for each in questions if each["name"].startswith("several.")]
    if not options:
        return written
    sensitive = all(option["sensitive"] for option in options)
    names = [{"name": option["name"].removeprefix("several.")} for option in options]
    one = {"name": "several", "kind": "several", "options": names, "sensitive": sensitive}
    kept = ("ask_if", "at_most", "optional")
    one |= {member: options[0][member] for member in kept if member in options[0]}
    first = questions.index(options[0])
    return [*written[:first], one, *written[first + len(options) :]]


def _diagonal(rng, questions, shape):
    gamma = Fraction(rng.choice(["3", "19", "19/2", "3/2"]))
    cells = math.prod(shape)
    mechanism = {"kind": "gamma-diagonal", "gamma": str(gamma)}
    drawn = [gamma]
    if rng.random() < 0.3:
        alpha, steps = min(Fraction(1, 2), (cells - 1) / gamma), 8
        mechanism = {"kind": "randomized-gamma-diagonal", "gamma": str(gamma)}
        mechanism |= {"alpha": str(alpha), "steps": steps}
        # The diagonal element of each client, in units of the mean of the others.
        drawn = [gamma * (1 + alpha * i / steps) for i in range(-steps, steps + 1)]
    total = gamma + cells - 1
    same = sum(own / total for own in drawn) / len(drawn)
    other = sum((total - own) / (cells - 1) / total for own in drawn) / len(drawn)
    scale = math.lcm(same.denominator, other.denominator)
    own, rest = int(same * scale), int(other * scale)
    return (
        mechanism,
        lambda: np.full((cells, cells), rest) + np.eye(cells, dtype=int) * (own - rest),
    )


def _together(matrices):
    """Return the matrix of independent draws per attribute; rows are reports, columns records."""
    whole = np.ones((1, 1), dtype=object)
    for matrix in matrices:
        whole = np.kron(whole, np.array(matrix, dtype=object))
    return whole


def _kept(rng, questions, shape):
    keep, matrices = {}, []
    for question, size in zip(questions, shape, strict=True):
        p = Fraction(rng.choice(["1", "3/4", "4/5", "11/20", "9/10"]))
        question["sensitive"] = p < 1 and rng.random() < 0.8
        keep[question["name"]] = str(p)
        own, other = p.numerator * (size - 1), p.denominator - p.numerator
        matrices.append([[own if u == v else other for u in range(size)] for v in range(size)])
    return {"kind": "randomized-response", "keep": keep}, lambda: _together(matrices)


def _by_gamma(rng, questions, shape):
    for each in questions:
        each["sensitive"] = True
    return {"kind": "randomized-response", "gamma": "5"}, None


def _matrices(rng, questions, shape):
    written, designs, matrices = {}, {}, []
    for question, size in zip(questions, shape, strict=True):
        kind = rng.choice(["any", "zeros", "same", "any or design"])
        if size == 2 and (kind == "any or design" or rng.random() < 0.4):
            designs[question["name"]], matrix = _design(rng, question["categories"])
            matrices.append(_whole(matrix))
            continue
        columns = _random_columns(rng, size)
        for u, column in enumerate(columns):
            if kind == "zeros" and u:
                column[u - 1] = 0
            if kind == "same":
                columns[u] = [int(v == u) for v in range(size)]
        if kind in ("zeros", "same"):
            question["sensitive"] = False
        rows = _rows(columns)
        written[question["name"]] = [[str(entry) for entry in row] for row in rows]
        matrices.append(_whole(rows))
    return _as_mechanism(written, designs), lambda: _together(matrices)


def _field(rng, questions, shape):
    """Return a mechanism by which respondents randomize the answers that they give."""
    written, designs, matrices = {}, {}, []
    for question, size in zip(questions, shape, strict=True):
        answered = [code for code in range(size) if code not in _unrandomized(question)]
        kind = rng.choice(["direct", "die", "design"])
        rows = [[Fraction(u == v) for u in range(size)] for v in range(size)]
        part = None
        if kind == "direct":
            question["sensitive"] = False
        elif kind == "design" and len(answered) == 2:
            names = [question["categories"][code] for code in answered]
            designs[question["name"]], part = _design(rng, names)
        else:
            part = _rows(_random_columns(rng, len(answered)))
        if part is not None:
            for v, row in zip(answered, part, strict=True):
                for u, entry in zip(answered, row, strict=True):
                    rows[v][u] = entry
        if question["name"] not in designs:
            written[question["name"]] = [[str(entry) for entry in row] for row in rows]
        matrices.append(_whole(rows))
    mechanism = _as_mechanism(written, designs) | {"randomized_by": "respondent"}
    return mechanism, lambda: _together(matrices)


def _as_mechanism(matrices, designs):
    mechanism = {"kind": "distortion-matrices"}
    mechanism |= {"matrices": matrices} if matrices else {}
    return mechanism | ({"designs": designs} if designs else {})


def _random_columns(rng, size):
    columns = [[rng.randint(1, 6) for _ in range(size)] for _ in range(size)]
    for u, column in enumerate(columns):
        column[u] += 8
    return columns


def _rows(columns):
    """Return the rows of a matrix of probabilities, from columns of weights."""
    columns = [[Fraction(entry, sum(column)) for entry in column] for column in columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _whole(rows):
    """Return a matrix scaled to integers."""
    scale = math.lcm(*(entry.denominator for row in rows for entry in row))
    return [[int(entry * scale) for entry in row] for row in rows]


def _design(rng, categories):
    """Return a design of a question with two answers, and its matrix."""
    name = rng.choice([*DESIGNS, *PROVING])
    reported, values = DESIGNS[name]
    yes = rng.randrange(2)
    chosen = {parameter: rng.choice(choices) for parameter, choices in values.items()}
    by_yes, by_no = reported(**{each: Fraction(value) for each, value in chosen.items()})
    written = {"design": name, "answer": categories[yes]} | chosen
    if name in PROVING:
        written["not_sensitive"] = categories[1 - yes]
    rows = [[by_yes, by_no], [1 - by_yes, 1 - by_no]]
    return written, [row[::-1] for row in rows[::-1]] if yes else rows


def _collapsed(rng, questions, shape):
    return _split(rng, questions, shape, _groups(rng, questions))


def _groups(rng, questions):
    """Collapse some answers at random, those of ordered questions at random places.

    Returns the group of each answer by position of the question.
    """
    groups = {}
    for j, question in enumerate(questions):
        missing = question.get("missing", [])
        if question["name"].startswith("several."):
            continue
        valid = [category for category in question["categories"] if category not in missing]
        if len(valid) < 3 or rng.random() < 0.25:
            continue
        count = rng.randint(2, len(valid) - 1)
        of = sorted([*range(count), *rng.choices(range(count), k=len(valid) - count)])
        if question.get("kind") is None and rng.random() < 0.5:
            rng.shuffle(of)
        question["collapsed"] = {}
        for category, k in zip(valid, of, strict=True):
            question["collapsed"].setdefault(f"g{k}", []).append(category)
        # In published surveys, missing answers are groups that are listed, too.
        question["collapsed"] |= {category: [category] for category in missing}
        order = {k: place for place, k in enumerate(dict.fromkeys(of))}
        codes = [order[k] for k in of] + [count + k for k in range(len(missing))]
        groups[j] = codes
    return groups


def _wanted(rng, questions, shape):
    """Name tables at random; the views are those of the published survey."""
    groups, places = _groups(rng, questions), list(range(len(shape)))
    hidden = [j for j in places if j in groups or rng.random() < 0.75] or places
    public = [j for j in places if j not in hidden]
    for j in public:
        questions[j]["sensitive"] = False
    # A question with several answers stands for its options.
    asked = {j: questions[j]["name"].split(".")[0] for j in places}
    tables = []
    for _ in range(rng.randint(1, 2)):
        names = list(dict.fromkeys(asked[j] for j in rng.sample(places, min(3, len(places)))))
        of = rng.randint(1, len(names))
        by = [names[of:]] if rng.random() < 0.3 and len(names) > of + 1 else names[of:]
        tables.append({"of": names[:of], "by": by, "importance": rng.choice([1, 1, 0.6])})
    mechanism = {"kind": "split-questionnaire", "gamma": rng.choice(["3", "19/2"])}
    mechanism |= {"tables": tables}
    mechanism |= {"public": [questions[j]["name"] for j in public]} if public else {}
    mechanism |= {"pairs": rng.choice([True, 20])} if rng.random() < 0.3 else {}
    try:
        written = Survey.from_json(json.dumps(document(mechanism, *_as_asked(questions))))
    except HalftruthError:
        return _split(rng, questions, shape, groups)
    mechanism = json.loads(written.canonical_json)["mechanism"]
    place = {question["name"]: j for j, question in enumerate(questions)}
    classes = [
        ([[place[name] for name in group] for group in each["attributes"]], choose, each["weight"])
        for each in mechanism["views"]
        for choose in [each.get("choose") or [len(group) for group in each["attributes"]]]
    ]
    response = Fraction(mechanism["gamma"]), mechanism["prime"], mechanism["direct"]
    return mechanism, *_of_views(
        shape, public, response, classes, groups, mechanism.get("pairs", 0)
    )


def _split(rng, questions, shape, collapsed=MappingProxyType({})):
    public = [j for j in range(len(shape)) if rng.random() < 0.25 and j not in collapsed]
    hidden = [j for j in range(len(shape)) if j not in public] or [public.pop(0)]
    for j in public:
        questions[j]["sensitive"] = False
    gamma, prime = Fraction(rng.choice(["3", "19/2"])), rng.choice([2, 3])
    direct = rng.choice([2, 8, 45])
    groups = [([hidden], [rng.randint(1, len(hidden))])]
    if rng.random() < 0.5:
        groups.append(([rng.sample(hidden, rng.randint(1, len(hidden)))], None))
    classes = [
        (g, [len(g[0])] if c is None else c, w) for (g, c), w in zip(groups, (2, 1), strict=False)
    ]
    views = [
        {
            "attributes": [[questions[j]["name"] for j in sorted(group)] for group in g],
            "choose": list(choose),
            "weight": weight,
        }
        for g, choose, weight in classes
    ]
    mechanism = {"kind": "split-questionnaire", "gamma": str(gamma), "prime": prime}
    mechanism |= {"direct": direct, "views": views}
    mechanism |= {"public": [questions[j]["name"] for j in public]} if public else {}

    response = gamma, prime, direct
    return mechanism, *_of_views(shape, public, response, classes, collapsed)


def _of_views(shape, public, response, classes, groups, pairs=0):
    """Return the weights of reports, and the reports; `response` is γ, the prime, the limit."""
    matrix = dense_split.matrix(shape, public, *response, classes, groups, pairs)

    return lambda: _whole_numbers(matrix.values()), list(matrix)


def _whole_numbers(rows):
    """Return an array of integers whose rows are proportional to rows of fractions."""
    scaled = []
    for row in rows:
        # The common denominator cancels in ratios.
        scale = math.lcm(*(p.denominator for p in row))
        scaled.append([int(p * scale) for p in row])
    return np.array(scaled, dtype=object)


def largest_ratio(groups, sizes=None):
    """Return the largest ratio of two columns over all rows; infinite where only one is 0.

    Columns are those of an array of integers; each is divided by its size.
    """
    if groups.shape[1] < 2:
        return Fraction(1)
    sizes = [1] * groups.shape[1] if sizes is None else sizes
    found = Fraction(1)
    for row in {tuple(row) for row in groups.tolist()}:
        shares = [Fraction(value, size) for value, size in zip(row, sizes, strict=True)]
        if max(shares) == 0:
            continue
        if min(shares) == 0:
            return math.inf
        found = max(found, max(shares) / min(shares))
    return found


def by_agreement(records, agree):
    """Return positions of records, grouped by their values of some attributes."""
    found = {}
    for place, record in enumerate(records):
        found.setdefault(tuple(record[j] for j in sorted(agree)), []).append(place)
    return list(found.values())
