"""Small surveys of every shape, and likelihood ratios of their reports, by enumeration.

Everything is computed from the definitions with integers: the feasible records, the likelihood of
each report under each of them, and the largest ratio of two of these. Questions may have
conditions or multiple responses, be unperturbed, or be perturbed though they are not sensitive.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from tests.support import dense_split
from tests.support.dependent import document

NOT_ASKED = "not asked"


def small_surveys(rng, count, most=4):
    """Yield survey cases with random shapes, conditions and mechanisms."""
    for _ in range(count):
        yield _survey(rng, most)


def _survey(rng, most):
    sizes = [rng.randint(2, 3) for _ in range(rng.randint(1, most))]
    questions, conditions, shape = [], [], []
    several = rng.randrange(len(sizes) - 1) if len(sizes) > 2 and rng.random() < 0.3 else None
    for j, size in enumerate(sizes):
        wanted = {}
        if several is not None and j in (several, several + 1):
            # Two options of one multiple-response question.
            name = f"several.o{j}"
            questions.append({"name": name, "categories": ["no", "yes"], "sensitive": True})
            conditions.append({})
            shape.append(2)
            continue
        for i in range(j):
            if rng.random() < 0.45:
                codes = range(shape[i])
                wanted[i] = tuple(sorted(rng.sample(codes, rng.randint(1, shape[i] - 1))))
        conditional = bool(wanted)
        # With “not asked”, one category is enough.
        size = rng.choice([1, size]) if conditional else size
        categories = [f"c{code}" for code in range(size)] + [NOT_ASKED] * conditional
        sensitive = rng.random() < 0.7
        written = {"name": f"a{j}", "categories": categories, "sensitive": sensitive}
        if wanted:
            written["ask_if"] = {
                questions[i]["name"]: [questions[i]["categories"][c] for c in codes]
                for i, codes in wanted.items()
            }
        questions.append(written)
        conditions.append(wanted)
        shape.append(len(categories))
    makers = [_diagonal, _diagonal, _kept, _matrices, _matrices, _split]
    return Case(questions, conditions, tuple(shape), *rng.choice(makers)(rng, questions, shape))


class Case:
    """A survey, its feasible records and the weight of each report under each record."""

    def __init__(self, questions, conditions, shape, mechanism, weights):
        self.survey = document(mechanism, *_as_asked(questions))
        self.conditions, self.shape = conditions, shape
        self.names = [each["name"] for each in questions]
        options = [j for j, each in enumerate(questions) if each["name"].startswith("several.")]
        #: Positions of the attributes of each question.
        self.questions = [[j] for j in range(len(shape)) if j not in options]
        self.questions += [options] if options else []
        self._weights = weights

    def feasible(self):
        return [u for u in product(*map(range, self.shape)) if self._can_be(u)]

    def _can_be(self, record):
        for j, wanted in enumerate(self.conditions):
            asked = all(record[i] in codes for i, codes in wanted.items())
            if wanted and asked == (record[j] == self.shape[j] - 1):
                return False
        return True

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


def _as_asked(questions):
    """Convert questions to those of a survey file, where options are part of one question."""
    options = [each for each in questions if each["name"].startswith("several.")]
    if not options:
        return questions
    sensitive = all(option["sensitive"] for option in options)
    names = [{"name": option["name"].removeprefix("several.")} for option in options]
    one = {"name": "several", "kind": "several", "options": names, "sensitive": sensitive}
    first = questions.index(options[0])
    return [*questions[:first], one, *questions[first + len(options) :]]


def _diagonal(rng, questions, shape):
    gamma = Fraction(rng.choice(["3", "19", "19/2", "3/2"]))
    cells = math.prod(shape)
    mechanism = {"kind": "gamma-diagonal", "gamma": str(gamma)}
    if rng.random() < 0.3:
        alpha = min(Fraction(1, 2), (cells - 1) / gamma)
        mechanism = {"kind": "randomized-gamma-diagonal", "gamma": str(gamma)}
        mechanism |= {"alpha": str(alpha), "steps": 8}
    same, other = gamma.as_integer_ratio()
    return (
        mechanism,
        lambda: np.full((cells, cells), other) + np.eye(cells, dtype=int) * (same - other),
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


def _matrices(rng, questions, shape):
    written, designs, matrices = {}, {}, []
    for question, size in zip(questions, shape, strict=True):
        kind = rng.choice(["any", "any", "any", "zeros", "same", "proves"])
        columns = [[rng.randint(1, 6) for _ in range(size)] for _ in range(size)]
        for u, column in enumerate(columns):
            column[u] += 8
            if kind == "zeros" and u:
                column[u - 1] = 0
            if kind == "same":
                columns[u] = [int(v == u) for v in range(size)]
        columns = [[Fraction(entry, sum(column)) for entry in column] for column in columns]
        if kind != "any":
            question["sensitive"] = kind == "proves"
        if kind == "proves" and size == 2:
            yes, no = rng.sample(question["categories"], 2)
            chance = Fraction(rng.randint(1, 3), 4)
            designs[question["name"]] = {"design": "triangular", "prevalence": str(chance)}
            designs[question["name"]] |= {"answer": yes, "not_sensitive": no}
            at = question["categories"].index(yes)
            columns[at] = [Fraction(v == at) for v in range(2)]
            columns[1 - at] = [chance if v == at else 1 - chance for v in range(2)]
        rows = [list(row) for row in zip(*columns, strict=True)]
        if question["name"] not in designs:
            written[question["name"]] = [[str(entry) for entry in row] for row in rows]
        scale = math.lcm(*(entry.denominator for row in rows for entry in row))
        matrices.append([[int(entry * scale) for entry in row] for row in rows])
    mechanism = {"kind": "distortion-matrices"}
    mechanism |= {"matrices": written} if written else {}
    mechanism |= {"designs": designs} if designs else {}
    return mechanism, lambda: _together(matrices)


def _split(rng, questions, shape):
    public = [j for j in range(len(shape)) if rng.random() < 0.25]
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

    def weights():
        rows = dense_split.matrix(shape, public, gamma, prime, direct, classes).values()
        # Divide each row by its common divisor, which cancels in ratios.
        scaled = []
        for row in rows:
            scale = math.lcm(*(p.denominator for p in row))
            scaled.append([int(p * scale) for p in row])
        return np.array(scaled, dtype=object)

    return mechanism, weights


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
