"""Conformance vectors, computed from docs/protocol.md alone, without the packages.

``python -m tests.vectors.generate`` rewrites the JSON files beside it.
"""

import base64
import hashlib
import hmac
import itertools
import json
import math
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
import scipy
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tests.support import dense, dense_split, hpke

HERE = Path(__file__).parent

#: Members of a design that are not numbers.
DESIGN_WORDS = {"design", "answer", "not_sensitive"}


class Stream:
    """Known bytes, and the uniform integers that the protocol draws from them."""

    def __init__(self, data):
        self.data, self.position = data, 0

    def below(self, k):
        bits = 0
        while 2**bits <= k:
            bits += 1
        size = -(-bits // 8)
        while True:
            taken = self.data[self.position : self.position + size]
            assert len(taken) == size, "the stream is too short"
            self.position += size
            number = 0
            for byte in taken:
                number = 256 * number + byte
            number //= 2 ** (8 * size - bits)
            if number < k:
                return number


def known_bytes(seed, count):
    """Return reproducible pseudorandom bytes: SHA-256 of the seed and a counter."""
    blocks = (hashlib.sha256(f"{seed}/{i}".encode()).digest() for i in range(count // 32 + 1))
    return b"".join(blocks)[:count]


# -- samplers --------------------------------------------------------------------------------------


def among_others(position, value):
    """Return the value at a position among all values but one, in ascending order."""
    return position if position < value else position + 1


def whole_record(codes, sizes, own, other, stream):
    """Draw a report with weight `own` for the record and weight `other` for each different one."""
    n = math.prod(sizes)
    t = stream.below(own + other * (n - 1))
    for j in range(len(sizes)):
        later = math.prod(sizes[j + 1 :])
        bound = own + other * (later - 1)
        if t < bound:
            continue
        quotient, remainder = divmod((t - bound) // other, later)
        report = list(codes)
        report[j] = among_others(quotient, codes[j])
        for i in reversed(range(j + 1, len(sizes))):
            report[i] = remainder % sizes[i]
            remainder //= sizes[i]
        return report
    return list(codes)


def gamma_diagonal(mechanism, names, sizes, codes, stream):
    gamma = Fraction(mechanism["gamma"])
    return whole_record(codes, sizes, gamma.numerator, gamma.denominator, stream)


def randomized_gamma_diagonal(mechanism, names, sizes, codes, stream):
    gamma, alpha = Fraction(mechanism["gamma"]), Fraction(mechanism["alpha"])
    steps, n = mechanism["steps"], math.prod(sizes)
    i = stream.below(2 * steps + 1) - steps
    scale = math.lcm(gamma.denominator, (gamma * alpha / (steps * (n - 1))).denominator)
    own = scale * gamma * (1 + alpha * i / steps)
    other = scale * (1 - gamma * alpha * i / (steps * (n - 1)))
    assert own.denominator == other.denominator == 1
    assert own >= 0
    assert other >= 0
    return whole_record(codes, sizes, int(own), int(other), stream)


def randomized_response(mechanism, names, sizes, codes, stream):
    weights = []
    for name, d in zip(names, sizes, strict=True):
        p = Fraction(mechanism["keep"][name])
        a, b = p.numerator, p.denominator
        g = math.gcd(a * (d - 1), b - a)
        kept, other = a * (d - 1) // g, (b - a) // g
        weights.append((kept, other, kept + other * (d - 1)))
    t = stream.below(math.prod(total for _, _, total in weights))
    report = []
    for j in reversed(range(len(sizes))):
        kept, other, total = weights[j]
        digit, t = t % total, t // total
        stays = digit < kept
        report.append(codes[j] if stays else among_others((digit - kept) // other, codes[j]))
    return report[::-1]


def distortion_matrices(mechanism, names, sizes, codes, stream):
    report = []
    for name, d, u in zip(names, sizes, codes, strict=True):
        matrix = [[Fraction(entry) for entry in row] for row in mechanism["matrices"][name]]
        least = math.lcm(*(entry.denominator for row in matrix for entry in row))
        t = stream.below(least)
        running = Fraction(0)
        for v in range(d):
            running += matrix[v][u]
            if running * least > t:
                report.append(v)
                break
    return report


#: P(report yes | yes) and P(report yes | no), from the parameters of each design.
REPORTED_YES = {
    "warner": lambda p: (p, 1 - p),
    "forced-response": lambda yes, no: (1 - no, yes),
    "unrelated-question": lambda p, prevalence: (
        p + (1 - p) * prevalence,
        (1 - p) * prevalence,
    ),
    "kuk": lambda theta1, theta2: (theta1, theta2),
    "crosswise": lambda prevalence: (prevalence, 1 - prevalence),
    "triangular": lambda prevalence: (Fraction(1), prevalence),
    "mangat": lambda p: (Fraction(1), 1 - p),
}


def by_matrices(made):
    """Return the mechanism with all designs converted to matrices, in the order of attributes."""
    mechanism, found = made["mechanism"], {}
    if "designs" not in mechanism:
        return mechanism
    for attribute in made["attributes"]:
        name = attribute["name"]
        if name not in mechanism["designs"]:
            found[name] = mechanism["matrices"][name]
            continue
        design = mechanism["designs"][name]
        yes = attribute["categories"].index(design.get("answer", "yes"))
        given = {k: Fraction(v) for k, v in design.items() if k not in DESIGN_WORDS}
        by_yes, by_no = REPORTED_YES[design["design"]](**given)
        rows = [[by_yes, by_no], [1 - by_yes, 1 - by_no]]
        found[name] = [row[::-1] for row in rows[::-1]] if yes else rows
    return {"kind": mechanism["kind"], "matrices": found}


def points_of(q, length):
    """Return K, the number of points of that length."""
    return sum(q**i for i in range(length))


def point_of(index, q, length):
    """Return the point with that number."""
    for place in range(length):
        after = length - 1 - place
        if index < q**after:
            return [0] * place + [1] + digits_of(index, q, after)
        index -= q**after
    raise AssertionError("there is no such point")


def digits_of(number, base, count):
    return [number // base**i % base for i in reversed(range(count))]


def index_of(vector, q):
    """Return the number of a vector's point."""
    place = next(i for i, entry in enumerate(vector) if entry)
    [scale] = (s for s in range(1, q) if s * vector[place] % q == 1)
    after = [entry * scale % q for entry in vector[place + 1 :]]
    before = sum(q ** (len(vector) - 1 - i) for i in range(place))
    return before + sum(entry * q**i for i, entry in enumerate(reversed(after)))


def prime_two_modulo_three(least):
    found = max(5, least)
    while found % 3 != 2 or any(found % d == 0 for d in range(2, math.isqrt(found) + 1)):
        found += 1
    return found


def dimension_of(q, n):
    """Return e, the length of the points for n cells."""
    return next(e for e in itertools.count(3) if points_of(q, e) >= n)


def placed(u, m, symbols):
    """Return the number of the point of a cell."""
    while True:
        u = (u + m // 3) ** 3 % m
        if u < symbols:
            return u


def classes_of(mechanism, names):
    """Yield the groups of positions, the numbers to choose, and the weight of each class."""
    for group in mechanism["views"]:
        members = [list(map(names.index, of)) for of in group["attributes"]]
        yield members, group.get("choose", list(map(len, members))), group["weight"]


def split_questionnaire(mechanism, names, sizes, codes, stream):
    """Draw a view, and then a symbol for the record's cell in its table."""
    if mechanism["sets"]:
        return by_sets(mechanism, names, sizes, codes, stream)
    gamma, q = Fraction(mechanism["gamma"]), mechanism["prime"]
    a, b = gamma.numerator, gamma.denominator
    views = dense_split.views(sizes, classes_of(mechanism, names))
    groups = mechanism["groups"]
    s, before = stream.below(sum(weight for weight, _ in views)), 0
    public = [codes[j] for j in sorted(map(names.index, mechanism.get("public", [])))]
    for weight, positions in views:
        u, n = 0, 1
        for j in positions:
            code, d = codes[j], sizes[j]
            if len(positions) > 1 and j in groups:
                code, d = groups[j][code], len(set(groups[j]))
            u, n = u * d + code, n * d
        own, paired = n <= mechanism["direct"], n <= mechanism.get("pairs", 0)
        e = None if own or paired else dimension_of(q, n)
        symbols = n if own else n * (n - 1) // 2 if paired else points_of(q, e)
        s -= weight
        if s < 0:
            break
        before += symbols
    if own:
        t = stream.below(a + b * (n - 1))
        return [*public, before + (u if t < a else among_others((t - a) // b, u))]
    if paired:
        t = stream.below(a * (n - 1) + b * (n - 1) * (n - 2) // 2)
        if t < a * (n - 1):
            x, z = sorted((u, among_others(t // a, u)))
        else:
            every = [(x, z) for z in range(n - 1) for x in range(z)]
            x, z = (among_others(i, u) for i in every[(t - a * (n - 1)) // b])
        return [*public, before + z * (z - 1) // 2 + x]
    x = point_of(placed(u, prime_two_modulo_three(symbols), symbols), q, e)
    p, inside = x.index(1), a * points_of(q, e - 1)
    t = stream.below(inside + b * q ** (e - 1))
    if t < inside:
        y, product = point_of(t // a, q, e - 1), 0
    else:
        y, product = digits_of((t - inside) // b, q, e - 1), 1
    y.insert(p, 0)
    y[p] = (product - sum(map(int.__mul__, x, y))) % q
    return [*public, before + index_of(y, q)]


def by_sets(mechanism, names, sizes, codes, stream):
    """Draw a view, and then a symbol, if a question of the survey is perturbed as one set."""
    gamma, sets = Fraction(mechanism["gamma"]), mechanism["sets"]
    a, b = gamma.numerator, gamma.denominator
    s, before = stream.below(sum(each["weight"] for each in mechanism["views"])), 0
    for each in mechanism["views"]:
        [asked] = each["attributes"]
        others = sorted(names.index(name) for name in asked if name not in sets)
        u, n = 0, 1
        for j in others:
            u, n = u * sizes[j] + codes[j], n * sizes[j]
        [name] = [name for name in asked if name in sets] or [None]
        symbols, own = n, [u]
        if name is not None:
            options, most = sets[name]
            chosen = [i for i, j in enumerate(options) if codes[j] == 1]
            units = [[i] for i in range(len(options))]
            units += list(range(2, sizes[options[0]]))
            have = [[i] for i in chosen] if codes[options[0]] < 2 else [codes[options[0]]]
            if each.get("pairs"):
                units = [[i, k] for k in range(len(options)) for i in range(k)]
                have = [[i, k] for k in chosen for i in chosen if i < k]
                most = most * (most - 1) // 2
            symbols = n * (len(units) + most)
            dummies = range(len(units), len(units) + most - len(have))
            own = [*(units.index(unit) for unit in have), *dummies]
            own = [u * (len(units) + most) + unit for unit in own]
        s -= each["weight"]
        if s < 0:
            break
        before += symbols
    public = [codes[j] for j in sorted(map(names.index, mechanism.get("public", [])))]
    m = len(own)
    t = stream.below(a * m + b * (symbols - m))
    if t < a * m:
        return [*public, before + sorted(own)[t // a]]
    others = [y for y in range(symbols) if y not in own]
    return [*public, before + others[(t - a * m) // b]]


def sets_of(made):
    """Return by question the positions of its options, and the largest number that is chosen."""
    names = [name for name, _ in asked_of(made)]
    return {
        each["name"]: (
            [names.index(f"{each['name']}.{option['name']}") for option in each["options"]],
            each["at_most"],
        )
        for each in made["attributes"]
        if "at_most" in each
    }


def asked_of(made):
    """Return the names of all attributes with their categories."""
    found = []
    for each in made["attributes"]:
        if each.get("kind") == "several":
            categories = ["no", "yes", *each.get("missing", [])]
            found += [(f"{each['name']}.{o['name']}", categories) for o in each["options"]]
        else:
            found.append((each["name"], each["categories"]))
    return found


def can_be(codes, sets):
    """Return whether a record, or the beginning of one, has answers that sets can have."""
    for options, most in sets.values():
        own = [codes[j] for j in options if j < len(codes)]
        if own.count(1) > most or (own and max(own) > 1 and len(set(own)) > 1):
            return False
    return True


def next_record(cell, sizes, sets):
    """Return the codes of the first record from a cell on that there can be."""
    while True:
        rest, codes = cell, []
        for size in reversed(sizes):
            codes.insert(0, rest % size)
            rest //= size
        wrong = (end for end in range(1, len(codes) + 1) if not can_be(codes[:end], sets))
        end = next(wrong, None)
        if end is None:
            return codes
        # No record with this beginning can be.
        same = math.prod(sizes[end:])
        cell = (cell // same + 1) * same % math.prod(sizes)


def groups_of(made):
    """Return by position of a collapsed attribute the group of each answer.

    Groups are numbered in the order of their first answers.
    """
    found = {}
    for j, attribute in enumerate(made["attributes"]):
        if "collapsed" in attribute:
            place, groups = attribute["categories"].index, attribute["collapsed"].values()
            ordered = sorted(groups, key=lambda answers: min(map(place, answers)))
            found[j] = [
                next(k for k, answers in enumerate(ordered) if category in answers)
                for category in attribute["categories"]
            ]
    return found


SAMPLERS = {
    "gamma-diagonal": gamma_diagonal,
    "randomized-gamma-diagonal": randomized_gamma_diagonal,
    "randomized-response": randomized_response,
    "distortion-matrices": distortion_matrices,
    "split-questionnaire": split_questionnaire,
}


# -- canonical form --------------------------------------------------------------------------------


def canonical(value):
    """Return JSON without whitespace, with sorted keys and minimal escaping."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def digest(survey):
    return hashlib.sha256(canonical(survey).encode()).hexdigest()


# -- surveys ---------------------------------------------------------------------------------------


def survey(name, sizes, mechanism, public=()):
    """Return a survey with attributes a0, a1, … and categories c0, c1, …"""
    attributes = [
        {"name": f"a{j}", "categories": [f"c{code}" for code in range(size)]}
        | ({"sensitive": False} if j in public else {})
        for j, size in enumerate(sizes)
    ]
    return {"id": name, "title": name, "attributes": attributes, "mechanism": mechanism}


def collapsed(name, mechanism, *groups):
    """Return a survey whose questions have as many answers as their groups, or two."""
    sizes = [sum(map(len, of.values())) or 2 for of in groups]
    made = survey(name, sizes, mechanism)
    for attribute, of in zip(made["attributes"], groups, strict=True):
        if of:
            attribute["collapsed"] = {
                group: [f"c{code}" for code in codes] for group, codes in of.items()
            }
    return made


def with_set(name, mechanism, options, at_most, sizes=(), missing=()):
    """Return a survey of other questions, and then a question that is perturbed as one set."""
    made = survey(name, sizes, mechanism)
    one = {"name": "set", "kind": "several", "at_most": at_most}
    one["options"] = [{"name": f"o{j}"} for j in range(options)]
    made["attributes"].append(one | ({"missing": list(missing)} if missing else {}))
    return made


def view_of_set(*others, weight=1, pairs=False):
    """Return a view of a set and other questions, by number."""
    made = {"attributes": [["set", *(f"a{j}" for j in others)]], "weight": weight}
    return made | ({"pairs": True} if pairs else {})


def by_name(values):
    return {f"a{j}": value for j, value in enumerate(values)}


def keep(*values):
    return {"kind": "randomized-response", "keep": by_name(values)}


def matrices(*values):
    return {"kind": "distortion-matrices", "matrices": by_name(values)}


def designs(name, *given, **matrices_of):
    """Return attributes a0, a1, … with designs and the answers no and yes; others with matrices."""
    made = survey(name, [2] * len(given) + [len(P) for P in matrices_of.values()], {})
    for attribute, (order, _) in zip(made["attributes"], given, strict=False):
        attribute["categories"] = order.split()
    made["mechanism"] = {"kind": "distortion-matrices"}
    made["mechanism"]["designs"] = by_name([design for _, design in given])
    return made | (
        {"mechanism": made["mechanism"] | {"matrices": matrices_of}} if matrices_of else {}
    )


def design(name, order="no yes", **parameters):
    return order, {"design": name} | parameters


def gamma(value):
    return {"kind": "gamma-diagonal", "gamma": value}


def view(*groups, choose=None, weight=1):
    """Return a class of views, with attributes by number."""
    attributes = [[f"a{j}" for j in group] for group in groups]
    return {"attributes": attributes, "weight": weight} | ({"choose": choose} if choose else {})


def split(value, prime, direct, *views, public=()):
    mechanism = {"kind": "split-questionnaire", "gamma": value, "prime": prime, "direct": direct}
    mechanism["views"] = list(views)
    return mechanism | ({"public": [f"a{j}" for j in public]} if public else {})


def randomized(value, alpha, steps):
    made = {"kind": "randomized-gamma-diagonal", "gamma": value, "alpha": alpha}
    return made | {"steps": steps}


WARNER = [["3/4", "1/4"], ["1/4", "3/4"]]
SKEW = [["9/10", "1/3"], ["1/10", "2/3"]]
ZEROS = [["1/2", "1/7", "0"], ["1/2", "0", "5/12"], ["0", "6/7", "7/12"]]
TURN = [["0", "0", "1"], ["1", "0", "0"], ["0", "1", "0"]]
FOUR = [
    ["7/10", "1/5", "1/30", "0"],
    ["1/10", "3/5", "1/15", "1/97"],
    ["1/10", "1/10", "4/5", "0"],
    ["1/10", "1/10", "1/10", "96/97"],
]

LARGE = [[f"{2**70}/{2**71 - 1}", "0"], [f"{2**70 - 1}/{2**71 - 1}", "1"]]
LONG = [f"{9 + j}/{11 + j}" for j in range(40)]

#: Dice: a one is a forced no, a six a forced yes.
FORCED = design("forced-response", yes="1/6", no="1/6")
TRIANGULAR = design("triangular", "yes no", prevalence="1/4", not_sensitive="no")
WARNER_DESIGN = design("warner", p="3/4")
SAME = [["1", "0"], ["0", "1"]]
DESIGNS = [
    design("warner", p="3/10"),
    design("forced-response", "yes no", yes="1/6", no="1/12"),
    design("unrelated-question", p="7/10", prevalence="0.17"),
    design("kuk", "ja nein", theta1="0.8", theta2="0.2", answer="ja"),
    design("crosswise", prevalence="1/4"),
    TRIANGULAR,
    design("mangat", "nein ja", p="2/3", answer="ja", not_sensitive="nein"),
]

GROUPS = split(
    *("19", 5, 4),
    view([5, 2], [4, 1], choose=[1, 2], weight=3),
    view([3], [2, 1, 5, 4], choose=[1, 3]),
    view([2, 3], weight=4294967295),
    public=[6, 0],
)
#: Views of several sizes, and two of the same questions.
REPEATED = split(
    *("3", 3, 6),
    view([0, 1, 2, 5], [3, 4], choose=[2, 1], weight=7),
    view([3, 1], [4], weight=2),
    view([5], [1, 0, 2], choose=[1, 1], weight=11),
    view([0, 5], weight=5),
)
#: Views of 3 cells, of 4 and 5, of 12 to 20, and of 60.
PAIRED = split(
    *("19/2", 7, 3),
    view([0, 1, 2], choose=[1]),
    view([0, 1, 2], choose=[2], weight=3),
    view([2, 1, 0]),
) | {"pairs": 30}
#: Views of single questions in detail, and of several in groups.
GROUPED = split(
    *("19/2", 3, 5),
    view([0, 1, 2], choose=[1]),
    view([0, 1, 2], choose=[2], weight=3),
    view([2, 0, 1]),
)
GROUPED_LARGE = split("19", 5, 4, view([0], weight=2), view([2, 0], [1], choose=[1, 1]))
#: The names of groups are in another order than their first answers.
LOW_AND_HIGH = {"low": [0, 1, 2], "high": [3, 4]}
APART = {"x": [1, 2], "z": [4], "y": [0, 3]}
LARGE_GROUPS = {str(first): list(range(first, first + 4)) for first in range(0, 80, 4)}
LARGE_VIEWS = split("19", 19, 45, view(range(6), choose=[5]), view(range(6), weight=2))

SETS = split(
    *("19/2", 7, 6),
    view_of_set(1, 0),
    view([1], weight=2),
    view_of_set(weight=5),
    view_of_set(1, weight=3, pairs=True),
    view([0, 1]),
)
#: By file: surveys with their numbers of draws.
SURVEYS = {
    "gamma-diagonal": [
        (survey("one-question", [2], gamma("3")), 4),
        (survey("whole-gamma", [2, 3], gamma("4")), 12),
        (survey("quotient", [2, 2, 3], gamma("19/2")), 12),
        # A bound of exactly 2^16, which takes 17 bits, so half of the draws are rejected.
        (survey("power-of-two", [4, 8, 2], gamma("1213/1021")), 4),
        (survey("just-above-one", [3, 2], gamma("10001/10000")), 4),
        # γ must grow with the number of cells, or reconstruction would be impossible.
        (survey("many-questions", [3, 2, 4, 5, 7] * 8, gamma(f"{10**23 + 1}/7")), 4),
        (survey("hundreds-of-categories", [300, 257, 2], gamma("2047/3")), 4),
    ],
    "randomized-gamma-diagonal": [
        (survey("one-step", [2, 3], randomized("5/2", "1/4", 1)), 12),
        (survey("no-range", [2, 3], randomized("2", "0", 7)), 6),
        # αγ = n − 1: at one end of the grid no other record is possible, at the other end the true
        # record is not.
        (survey("whole-range", [2, 2, 3], randomized("11", "1", 1)), 12),
        (survey("default-steps", [2, 2, 3], randomized("19", "1/2", 32768)), 6),
        (survey("most-steps", [3, 5, 7], randomized("19/3", "13/17", 1048576)), 6),
        (survey("large", [3, 2, 4, 5, 7] * 5, randomized(f"{10**14}/3", "1/2", 1000)), 4),
    ],
    "randomized-response": [
        (survey("one-question", [2], keep("3/4")), 4),
        (survey("different-shares", [2, 3, 4], keep("9/10", "1/2", "19/22")), 12),
        (survey("one-kept", [3, 2, 2], keep("1", "2/3", "3/4"), public=[0]), 6),
        (survey("all-kept", [2, 3], keep("1", "1"), public=[0, 1]), 4),
        (survey("many-questions", [2 + j % 5 for j in range(40)], keep(*LONG)), 4),
        (survey("long-number", [3, 2], keep(f"{10**40 + 1}/{10**40 + 3**50}", "0.7")), 4),
    ],
    "split-questionnaire": [
        (survey("one-question", [2], split("3", 3, 2, view([0]))), 4),
        (survey("apart", [2, 3], split("19/2", 7, 3, view([1], weight=5), view([0]))), 6),
        # As many cells as points: the 7 of the plane of order 2.
        (survey("whole-plane", [7], split("3/2", 2, 2, view([0]))), 9),
        (survey("few-numbers", [2, 3, 4], split("5/2", 2, 6, view([2, 0, 1]))), 12),
        (survey("pairs", [2, 3, 4], split("19/2", 3, 2, view([0, 1, 2], choose=[2]))), 12),
        (survey("groups", [2, 3, 2, 4, 3, 2, 2], GROUPS, public=[0, 6]), 12),
        (survey("repeated-view", [2, 2, 2, 3, 3, 2], REPEATED), 6),
        (survey("large-views", [4, 5, 5, 5, 2, 2], LARGE_VIEWS), 6),
        (survey("many-numbers", [30, 40], split("1000", 997, 2, view([0, 1]))), 6),
        # Numbers of points with 32 bits, whose squares and cubes are longer.
        (survey("most-numbers", [30, 40], split("70000", 65521, 2, view([0, 1]))), 6),
        (survey("many-questions", [4] * 40, split("19", 19, 10, view(range(40), choose=[2]))), 6),
        (
            survey("long-number", [3, 4, 5], split(f"{10**40 + 1}/{3**50}", 7, 9, view([2, 1, 0]))),
            6,
        ),
        (survey("pairs", [3, 5, 4], PAIRED), 24),
        (with_set("set", split("3", 2, 2, view_of_set()), 3, 2), 12),
        (with_set("sets", SETS, 4, 3, sizes=[2, 3], missing=["refused", "unknown"]), 24),
        (
            with_set("large-set", split("19", 2, 2, view_of_set(), view_of_set(pairs=True)), 30, 5),
            6,
        ),
        (collapsed("collapsed", GROUPED, LOW_AND_HIGH, {}, APART), 12),
        (collapsed("collapsed-geometry", GROUPED_LARGE, LARGE_GROUPS, APART, {}), 12),
    ],
    "distortion-matrices": [
        (survey("warner", [2], matrices(WARNER)), 4),
        (survey("asymmetric", [2, 2, 3], matrices(SKEW, WARNER, ZEROS)), 12),
        (survey("turned", [3, 2], matrices(TURN, SKEW), public=[0]), 4),
        (survey("common-denominator", [4, 3], matrices(FOUR, ZEROS)), 12),
        (survey("large-denominator", [2, 2], matrices(LARGE, SKEW), public=[0]), 4),
        (designs("designs", *DESIGNS), 12),
        (designs("design-and-matrices", FORCED, a1=ZEROS, a2=SKEW), 12),
    ],
}


def published(made):
    """Return the survey as published: all parameters in lowest terms."""

    def lowest(value):
        if isinstance(value, dict):
            return {key: lowest(member) for key, member in value.items()}
        if isinstance(value, list):
            return [lowest(member) for member in value]
        return str(Fraction(value)) if isinstance(value, str) else value

    def in_lowest(design):
        return {k: v if k in DESIGN_WORDS else lowest(v) for k, v in design.items()}

    words = {"kind", "views", "public", "designs"}
    mechanism = {
        key: value if key in words else lowest(value) for key, value in made["mechanism"].items()
    }
    if "designs" in mechanism:
        written = mechanism["designs"].items()
        mechanism["designs"] = {name: in_lowest(design) for name, design in written}
    return made | {"mechanism": mechanism}


def draws_of(made, count):
    """Return reports of different records, every third after rejected bytes."""
    asked, sets = asked_of(made), sets_of(made)
    names = [name for name, _ in asked]
    categories = [own for _, own in asked]
    sizes = list(map(len, categories))
    n, draws = math.prod(sizes), []
    sample = SAMPLERS[made["mechanism"]["kind"]]
    for i in range(count):
        cell = (i * (n // count) + i if n > count else i) % n
        codes = next_record(cell, sizes, sets)
        data = known_bytes(f"{made['mechanism']['kind']}/{made['id']}/{i}", 400)
        if i % 3 == 2:
            # Ones are never below a bound of the same number of bits.
            data = b"\xff" * 64 + data
        stream = Stream(data)
        mechanism = by_matrices(made) | {"groups": groups_of(made), "sets": sets}
        values = sample(mechanism, names, sizes, codes, stream)
        # A few surplus bytes, which must not be consumed.
        given = data[: stream.position + 5]
        record = {name: c[code] for name, c, code in zip(names, categories, codes, strict=True)}
        made_of = {"record": record, "bytes": given.hex(), "consumed": stream.position}
        draws.append(made_of | {"values": values})
    return draws


def mechanism_vectors(kind):
    vectors = [
        {
            "survey": (made := published(asked)),
            "digest": digest(made),
            "draws": draws_of(made, count),
        }
        for asked, count in SURVEYS[kind]
    ]
    about = "Reports from known random bytes; see Exact sampling in docs/protocol.md."
    return {"about": about, "vectors": vectors}


def integer_vectors():
    """Return all kinds of bounds: one, powers of two and neighbours, whole bytes, many bytes."""
    bounds = [1, 2, 3, 5, 6, 127, 128, 129, 255, 256, 257, 65535, 65536, 65537]
    bounds += [10**9, 2**53 + 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 10**30, 3**200]
    vectors = []
    for k in bounds:
        for start in ("", "ff" * 30):
            data = bytes.fromhex(start) + known_bytes(f"integers/{k}/{start}", 4_000)
            stream = Stream(data)
            integers = [str(stream.below(k)) for _ in range(4)]
            given = {"below": str(k), "bytes": data[: stream.position + 3].hex()}
            vectors.append(given | {"consumed": stream.position, "integers": integers})
    return {
        "about": "Uniform integers drawn one after the other from known random bytes; numbers are"
        " text since they may be long.",
        "vectors": vectors,
    }


CONTROLS = "".join(map(chr, range(32))) + "\x7f\x80\x9f"
WRITTEN = 'quote " backslash \\ solidus / \u2028 \u2029 \ufeff é e\u0301 ß 健康 🙂 \U0010ffff'


def canonical_vectors():
    """Return surveys as they may be received, and the bytes from which the digest is computed."""
    plain = survey("plain", [2, 3], gamma("19"))
    worded = {
        "title": WRITTEN,
        "mechanism": {"steps": 5, "kind": "randomized-gamma-diagonal"}
        | {"gamma": "19/2", "alpha": "1/4"},
        "id": "worded",
        "description": CONTROLS + WRITTEN,
        "attributes": [
            {
                "sensitive": False,
                "page": "Page " + WRITTEN,
                "name": "Z.last-one_9",
                "label": CONTROLS,
                "items": ["größer 30"],
                "help": WRITTEN + "\n" + CONTROLS,
                "categories": ["< 30", "größer 30", "🙂", 'a "quoted" \\ answer/'],
            },
            {"name": "a", "categories": ["ja", "nein"], "items": []},
            {"name": "B", "categories": ["0", "1"], "label": " blanks stay "},
        ],
    }
    # Upper case sorts before lower case, a shorter name before its continuation.
    names = ["b", "B", "a.b", "a-b", "a_b", "a", "aB", "ab", "a0", "constructor", "toString"]
    ordered = {
        "id": "order",
        "title": "Names are sorted where they are keys, and only there",
        "attributes": [{"name": name, "categories": ["x", "y"]} for name in names],
        "mechanism": {
            "kind": "randomized-response",
            "keep": {name: f"{j + 2}/{j + 3}" for j, name in enumerate(names)},
        },
    }
    by_answer = survey("by-answer", [2, 3], keep("5/6", "5/7")) | {"promise": "answer"}
    by_ticket = survey("by-ticket", [2, 3], split("3", 3, 2, view([0]), view([1])))
    by_ticket |= {"reports": {"tickets": "required"}}
    vectors = [
        {
            "received": json.dumps(dict(reversed(made.items())), **how),
            "canonical": canonical(made),
            "digest": digest(made),
        }
        for made in (plain, worded, ordered, ASKED, FRAMED, WAVE, RELAYED, by_answer, by_ticket)
        for how in ({}, {"indent": 2}, {"ensure_ascii": False})
    ]
    about = "A survey as text that may be received, its canonical JSON, and the digest."
    return {"about": about, "vectors": vectors}


# -- questions -------------------------------------------------------------------------------------

#: Members of a number question, its bins, and answers with their bins.
NUMBERS = [
    (
        {"minimum": "20", "maximum": "45", "step": "10"},
        ["20 to 29", "30 to 39", "40 to 45"],
        {"20": 0, "29": 0, "30": 1, "39.0": 1, "40": 2, "45": 2, "4.5e1": 2, "+30": 1},
        ["19", "46", "29.5", "", " 30", "30 ", "3_0", "thirty", "30/1", "1e9999", "NaN", "-20"],
    ),
    (
        {"minimum": "-1", "maximum": "1", "step": "1"},
        ["-1", "0", "1"],
        {"-1": 0, "0": 1, "-0": 1, "1": 2, "1.": 2},
        ["-2", "2", ".5", "-.5"],
    ),
    (
        {"minimum": "0", "maximum": "10", "step": "5/2"},
        ["[0, 2.5)", "[2.5, 5)", "[5, 7.5)", "[7.5, 10]"],
        {"0": 0, "2.499999999999999999999": 0, "2.5": 1, "10": 3, ".1": 0, "25e-1": 1},
        ["-0.0000000001", "10.0000000001"],
    ),
    (
        {"minimum": "0", "maximum": "24", "step": "10", "whole": False},
        ["[0, 10)", "[10, 20)", "[20, 24]"],
        {"7.5": 0, "10": 1, "24": 2},
        ["24.5"],
    ),
    (
        {"minimum": "-1/2", "maximum": "1/2", "step": "1/3"},
        ["[-0.5, -1/6)", "[-1/6, 1/6)", "[1/6, 0.5]"],
        {"-0.5": 0, "-0.1666": 1, "0.1666": 1, "0.1667": 2, "0.5": 2},
        ["0.51"],
    ),
]

ASKED = {
    "id": "asked",
    "title": {"en": "Health", "de": "Gesundheit", "pt-BR": "Saúde"},
    "description": {"en": "Who asks", "de": "Wer fragt"},
    "languages": ["en", "de", "pt-BR"],
    "attributes": [
        {
            "name": "smoker",
            "categories": ["no", "yes", "prefer not to say"],
            "missing": ["prefer not to say"],
            "label": {"en": "Do you smoke?", "de": "Rauchen Sie?"},
            "answers": {"no": {"en": "no", "de": "nein"}, "yes": {"en": "yes", "de": "ja"}},
            "shuffle": True,
        },
        {
            "name": "cigarettes",
            "kind": "number",
            "minimum": "1",
            "maximum": "60",
            "step": "20",
            "missing": ["no idea", "no answer", "not asked"],
            "optional": True,
            "ask_if": {"smoker": ["yes", "prefer not to say"]},
            "page": {"en": "Smoking", "de": "Rauchen"},
        },
        {
            "name": "wish",
            "kind": "scale",
            "categories": ["1", "2", "3", "not asked"],
            "missing": ["not asked"],
            "ask_if": {"cigarettes": ["21 to 40", "41 to 60"], "smoker": ["yes"]},
        },
        {
            "name": "symptoms",
            "kind": "several",
            "options": [
                {"name": "cough", "label": {"en": "Cough", "de": "Husten"}},
                {"name": "fever"},
            ],
            "missing": ["no answer"],
            "optional": True,
        },
        {"name": "school", "categories": ["none", "some", "much"], "ordered": True},
    ],
    "mechanism": {"kind": "gamma-diagonal", "gamma": "1000"},
}

FRAMED = {
    "id": "framed",
    "title": "Health",
    "languages": ["de", "en"],
    "attributes": [
        {
            "name": "smoker",
            "categories": ["nein", "ja"],
            "short": {"de": "Rauchen", "en": "Smoking"},
            "short_answers": {"ja": {"de": "ja", "en": "yes"}},
        }
    ],
    "mechanism": {"kind": "gamma-diagonal", "gamma": "19"},
    "form": {
        "asked_by": {"de": "Der Betriebsrat", "en": "The works council"},
        "purpose": "Damit sich etwas ändert.",
        "consent": {"de": "Ich bin 16 oder älter.", "en": "I am 16 or older."},
        "thanks": WRITTEN,
        "contact": "survey@example.org",
        "privacy_notice": "https://example.org/privacy",
        "redirect": "/danke?a=b#c",
        "redirect_after": 20,
    },
}

WAVE = {
    "id": "wave-2",
    "title": "Health",
    "attributes": [{"name": "smoker", "categories": ["no", "yes"]}],
    "mechanism": {"kind": "gamma-diagonal", "gamma": "19/2"},
    "series": {
        "id": "panel",
        "wave": 2,
        "total_gamma": "361/4",
        "origin": "https://survey.example.org",
    },
}

RELAYED = {
    "id": "relayed",
    "title": "Health",
    "attributes": [{"name": "smoker", "categories": ["no", "yes"]}],
    "mechanism": {"kind": "gamma-diagonal", "gamma": "100"},
    "relay": {
        "url": "https://relay.example.edu/surveys",
        "key": hashlib.sha256(b"relay").hexdigest(),
        "sealing_key": hashlib.sha256(b"collector").hexdigest(),
        "batch": 1000,
        "release": "batches",
    },
}

#: Valid URLs of relays, then invalid ones.
URLS = ["https://a", "https://relay.example.edu:8443/a/b~c", "https://192.0.2.255"]
URLS += ["https://a1-b.c", "http://localhost:8000", "http://127.1.2.3/x", "http://[::1]:65535"]
NO_URLS = (
    ",relay.example.edu,http://relay.example.edu,http://128.0.0.1,ftp://a,https://a/,https://a/x/,"
    "https://a//x,https://a/../x,https://a/?x,https://a#,https://u@a,https://A,https://a:0,"
    "https://a:65536,https://a:,https://a_b,https://1.2.3,https://256.1.1.1,https://-a,https://a.,"
    "https://a\n, https://a,https://" + "a/" * 1_000 + "a,https://é"
).split(",")

#: Valid web addresses of series, then invalid ones.
ORIGINS = ["https://a", "https://survey.example.org:8443", "https://xn--bcher-kva.example"]
ORIGINS += ["https://192.0.2.255", "https://a:80", "http://localhost", "http://localhost:443"]
ORIGINS += ["http://127.1.2.3:8000", "http://[::1]", "http://[::1]:65535"]
NO_ORIGINS = [url for url in NO_URLS if url != "https://a/"]
NO_ORIGINS += [
    "https://a/",
    "https://a/x",
    "https://a:443",
    "http://localhost:80",
    "http://[::1]:80",
]
NO_ORIGINS += ["null", "https://[::1]", "http://a.localhost", "HTTPS://a", "file://"]

#: The resulting attributes: name, categories, and missing categories.
ATTRIBUTES = [
    ("smoker", ["no", "yes", "prefer not to say"], ["prefer not to say"]),
    (
        "cigarettes",
        ["1 to 20", "21 to 40", "41 to 60", "no idea", "no answer", "not asked"],
        ["no idea", "no answer", "not asked"],
    ),
    ("wish", ["1", "2", "3", "not asked"], ["not asked"]),
    ("symptoms.cough", ["no", "yes", "no answer"], ["no answer"]),
    ("symptoms.fever", ["no", "yes", "no answer"], ["no answer"]),
    ("school", ["none", "some", "much"], []),
]

SMOKES = {"smoker": "yes", "school": "some"}
RECORDS = [
    ({"smoker": "no", "school": "none"}, [0, 5, 3, 2, 2, 0]),
    ({"smoker": "no", "school": "none", "symptoms": []}, [0, 5, 3, 0, 0, 0]),
    ({"smoker": "no", "school": "none", "cigarettes": "not asked"}, [0, 5, 3, 2, 2, 0]),
    (SMOKES, [1, 4, 3, 2, 2, 1]),
    (SMOKES | {"cigarettes": 7, "symptoms": ["fever"]}, [1, 0, 3, 0, 1, 1]),
    (SMOKES | {"cigarettes": "20.0", "symptoms": "no answer"}, [1, 0, 3, 2, 2, 1]),
    (SMOKES | {"cigarettes": "21", "wish": "3"}, [1, 1, 2, 2, 2, 1]),
    (SMOKES | {"cigarettes": "41 to 60", "wish": "1", "symptoms.fever": "yes"}, [1, 2, 0, 2, 1, 1]),
    (SMOKES | {"cigarettes": "no idea"}, [1, 3, 3, 2, 2, 1]),
    ({"smoker": "prefer not to say", "school": "much", "cigarettes": 60}, [2, 2, 3, 2, 2, 2]),
]
REFUSED = [
    {"smoker": "no"},
    {"school": "none"},
    {"smoker": "no", "school": "none", "cigarettes": 7},
    {"smoker": "no", "school": "none", "wish": "1"},
    SMOKES | {"cigarettes": 0},
    SMOKES | {"cigarettes": 7.5},
    SMOKES | {"cigarettes": "not asked"},
    SMOKES | {"cigarettes": 30},
    SMOKES | {"cigarettes": 30, "wish": "not asked"},
    SMOKES | {"cigarettes": 30, "wish": 1},
    SMOKES | {"cigarettes": 7, "wish": "1"},
    SMOKES | {"symptoms": ["cold"]},
    SMOKES | {"symptoms": "cough"},
    SMOKES | {"symptoms": {"cough": True}},
    SMOKES | {"symptoms": ["cough"], "symptoms.cough": "yes"},
    SMOKES | {"symptoms.cold": "yes"},
    SMOKES | {"cough": "yes"},
    SMOKES | {"smoker": ["yes"]},
]


def question_vectors():
    """Return questions of each kind with their attributes, and records with their codes."""
    numbers = [
        {"members": members, "categories": categories, "bins": bins, "refused": refused}
        for members, categories, bins, refused in NUMBERS
    ]
    attributes = [
        {"name": name, "categories": categories, "missing": missing}
        for name, categories, missing in ATTRIBUTES
    ]
    records = [{"record": record, "codes": codes} for record, codes in RECORDS]
    return {
        "about": "Questions with what follows from them; see Questions in docs/protocol.md.",
        "numbers": numbers,
        "survey": ASKED,
        "attributes": attributes,
        "records": records,
        "refused": REFUSED,
    }


# -- promises --------------------------------------------------------------------------------------


def channel(made, sizes):
    """Return all records, and the probability of each report given each of them, as rows."""
    mechanism = by_matrices(made)
    if "views" in mechanism:
        names = [attribute["name"] for attribute in made["attributes"]]
        public = [names.index(name) for name in mechanism.get("public", [])]
        strength = Fraction(mechanism["gamma"]), mechanism["prime"], mechanism["direct"]
        classes = classes_of(mechanism, names)
        more = groups_of(made), mechanism.get("pairs", 0)
        rows = dense_split.matrix(sizes, public, *strength, classes, *more).values()
    elif "gamma" in mechanism:
        rows = dense.gamma_diagonal(math.prod(sizes), Fraction(mechanism["gamma"]))
    elif "keep" in mechanism:
        kept = map(Fraction, mechanism["keep"].values())
        rows = dense.kronecker(list(map(dense.randomized_response, sizes, kept)))
    else:
        own = mechanism["matrices"].values()
        rows = dense.kronecker([[list(map(Fraction, row)) for row in P] for P in own])
    return dense.cells(sizes), list(rows)


def largest_quotient(groups):
    """Return the largest ratio within a group; None if only some of a group are 0."""
    groups = [group for group in groups if any(group)]
    if any(min(group) == 0 for group in groups):
        return None
    return max((max(group) / min(group) for group in groups), default=Fraction(1))


def percentage(share):
    tenths = math.ceil(1000 * share)
    return f"{tenths // 10}" + (f".{tenths % 10}" if tenths % 10 else "") + "\u202f%"


def amplification_text(value):
    if value.denominator == 1 and value < 10**6:
        return f"{value.numerator:,}".replace(",", "\u202f")
    power = 0
    while value >= 10 ** (power + 1):
        power += 1
    digits = math.ceil(value / Fraction(10) ** (power - 2))
    if power <= 2 and digits < 1000:
        exact = digits == value / Fraction(10) ** (power - 2)
        text = f"{digits / 10 ** (2 - power):.{2 - power}f}"
        return f"{float(text):g}" if exact else text
    digits, power = (digits, power) if digits < 1000 else (100, power + 1)
    return f"{digits / 100:.2f}e+{power}"


def posterior(value):
    return value / (value + 19)


def told(value):
    if value is None:
        return "no bound, since a report can prove an answer (\u03b3 infinite)"
    most, shown = percentage(posterior(value)), amplification_text(value)
    return f"from 5\u202f% to at most {most} (\u03b3 = {shown})"


def promise_of(made, public, words=(), proves=()):
    """Return the sentences of a survey in which these attributes are sent unperturbed.

    They start with the words of its designs; `proves` has the attributes with a provable answer, by
    code.
    """
    sizes = [len(attribute["categories"]) for attribute in made["attributes"]]
    cells, rows = channel(made, sizes)
    hidden = [j for j in range(len(sizes)) if j not in public]

    def proved_by(row):
        """Return the attributes whose other answer this report excludes."""
        return [
            j
            for j, proved in proves
            if not any(p for cell, p in zip(cells, row, strict=True) if cell[j] != proved)
        ]

    def apart(attributes):
        """Return the largest ratio of a report's probabilities, of cells equal in these.

        They are also equal in the attributes whose answer the report proves.
        """
        found = []
        for row in rows:
            equal, groups = [*attributes, *proved_by(row)], {}
            for cell, probability in zip(cells, row, strict=True):
                groups.setdefault(tuple(cell[j] for j in equal), []).append(probability)
            found += groups.values()
        return largest_quotient(found)

    def label(j):
        return made["attributes"][j].get("label", made["attributes"][j]["name"])

    def in_quotes(attributes):
        return ", ".join(f"\u201c{label(j)}\u201d" for j in attributes)

    whole = apart(public)
    by_answer = made.get("promise") == "answer"
    anybody = (
        " Someone who does not know them can learn more if answers are related: at most"
        f" {percentage(posterior(whole))} (\u03b3 = {amplification_text(whole)})."
        if by_answer
        else ""
    )
    known = {j: apart([i for i in range(len(sizes)) if i != j]) for j in hidden}
    names = ", ".join(map(label, public))
    sentences = [*words]
    if public:
        sentences.append(f"Sent as answered, without protection: {names}.".replace("?.", "?"))
    for j, proved in proves:
        categories = made["attributes"][j]["categories"]
        answer, other = categories[proved], categories[1 - proved]
        sentences.append(
            f"For {in_quotes([j])}, a report can prove the answer \u201c{answer}\u201d, which this"
            f" survey considers not sensitive. It never proves \u201c{other}\u201d: to someone"
            f" who already knows all other answers, {told(known[j])}."
            + (anybody if by_answer and known[j] < whole else "")
        )
    if not hidden:
        return sentences
    what = "All answers together"
    if public or proves:
        it = "it" if len(proves) == 1 else "them"
        same = [in_quotes(public)] if public else []
        same += [f"{in_quotes(dict(proves))} (where a report proves {it})"] if proves else []
        answers = "answer" if len(public) + len(proves) == 1 else "answers"
        what = "All other answers together, among people with the same"
        what += f" {answers} to {', and to '.join(same)}"
    sentences.append(
        f"{what}: what someone thinks 5\u202f% likely before the report is at most"
        f" {percentage(posterior(whole))} likely after it, whoever they are and whatever else they"
        f" know (\u03b3 = {amplification_text(whole)}, \u03b5 = {math.log(whole):.3g})."
    )
    if None not in known.values() and max(known.values()) < whole:
        most = told(max(known.values()))
        sentences.append(
            f"Each answer is protected separately. To someone who knows all other answers: {most}."
            f"{anybody}"
            if by_answer
            else f"A single answer, to someone who already knows all other answers: {most}."
        )
    return sentences


PROMISES = [
    ([2, 3], gamma("19"), ()),
    ([2, 3, 4], gamma("19/2"), ()),
    ([5], gamma("1000000"), ()),
    ([5, 2], gamma("12345"), ()),
    ([2, 2], gamma("1001/1000"), ()),
    ([2, 2], gamma("15432/125"), ()),
    ([2, 2], gamma("99999/100"), ()),
    ([2, 2], gamma("123456789"), ()),
    ([2, 3, 2], randomized("5", "1/4", 3), ()),
    ([2] * 6, keep(*["3/4"] * 6), ()),
    ([2, 2], keep("9/10", "1"), (1,)),
    ([2, 2, 3], keep("9/10", "1", "2/3"), (1,)),
    ([2, 2], matrices(SKEW, [["1/2", "1/4"], ["1/2", "3/4"]]), ()),
    ([2, 3], split("19", 19, 6, view([0]), view([1])), ()),
    ([2, 3, 2], split("19/2", 3, 6, view([0, 1, 2], choose=[2]), view([2, 1, 0])), ()),
    ([4, 2, 3], split("3", 2, 2, view([0, 2], weight=2), public=[1]), (1,)),
    ([2, 2, 2, 3, 2], split("7", 2, 3, view([0, 1, 2, 3], choose=[3]), public=[4]), (4,)),
    ([2, 2, 3, 2], keep("1", "9/10", "1", "2/3"), (0, 2)),
]
OTHER_PROMISES = [
    survey("promise-pairs", [3, 4], split("19", 19, 4, view([0, 1])) | {"pairs": 12}),
    collapsed("promise-collapsed", GROUPED, LOW_AND_HIGH, {}, APART),
    collapsed("promise-alike", split("3", 2, 9, view([0, 1])), APART, {}),
]
#: Mechanisms of surveys that promise by answer, with their attributes that are sent unperturbed.
ANSWER_PROMISES = [
    ([2] * 5, keep(*["5/6"] * 5), ()),
    ([2, 2, 3], keep("9/10", "1", "2/3"), (1,)),
    ([2], keep("5/6"), ()),
    ([2, 2], matrices(SKEW, [["1/2", "1/4"], ["1/2", "3/4"]]), ()),
]
AGE_AND_SMOKING = "How old are you?", "Do you smoke?"


def labelled(made, *labels):
    attributes = zip(made["attributes"], labels, strict=True)
    return made | {"attributes": [one | {"label": label} for one, label in attributes]}


def not_sensitive(made, *names):
    attributes = [
        one | {"sensitive": False} if one["name"] in names else one for one in made["attributes"]
    ]
    return made | {"attributes": attributes}


def sent_openly(made):
    return [j for j, one in enumerate(made["attributes"]) if not one.get("sensitive", True)]


def quoted(text):
    """Replace angle brackets by quotation marks."""
    return text.replace("<", "\u201c").replace(">", "\u201d")


HARMLESS = (
    "the device draws the answer to a harmless question that nobody is asked, <yes> in 1 of 4"
    " cases. It reports"
)
#: Sentences on DESIGNS and on those with a provable answer, by code.
DESIGN_PROMISES = [
    (
        designs("promise-designs", *DESIGNS),
        [
            "For <a0>: in 3 of 10 cases the device reports the answer, and in 7 of 10 cases the"
            " other one.",
            "For <a1>: in 1 of 6 cases the device reports <yes> and in 1 of 12 cases <no>, whatever"
            " the answer is, and otherwise the answer.",
            "For <a2>: in 7 of 10 cases the device reports the answer. Otherwise it reports the"
            " answer to a harmless question that nobody is asked: the device draws <yes> in"
            " 17 of 100 cases.",
            "For <a3>: the device draws a card from one of two decks and reports only its colour,"
            " <ja> for red and <nein> for black. In the deck for <ja>, 4 of 5 cards are red; in the"
            " deck for <nein>, 1 of 5.",
            f"For <a4>: {HARMLESS} <yes> if both answers are the same, and otherwise <no>.",
            f"For <a5>: {HARMLESS} <no> if both answers are <no>, and otherwise <yes>.",
            "For <a6>: the device reports <ja> if that is the answer. If it is <nein>, it reports"
            " <nein> in 2 of 3 cases, and otherwise <ja>.",
        ],
        [(5, 1), (6, 0)],
    ),
    (
        designs("promise-same-design", FORCED, FORCED, a2=SKEW),
        [
            "For <a0>, <a1>: in 1 of 6 cases the device reports <yes> and in 1 of 6 cases <no>,"
            " whatever the answer is, and otherwise the answer."
        ],
        [],
    ),
    (
        designs("promise-proved", TRIANGULAR),
        [f"For <a0>: {HARMLESS} <no> if both answers are <no>, and otherwise <yes>."],
        [(0, 1)],
    ),
    (
        labelled(
            designs("promise-proved-or-not", TRIANGULAR, WARNER_DESIGN),
            *("Do you cheat?", "Were you fined?"),
        ),
        [
            f"For <Do you cheat?>: {HARMLESS} <no> if both answers are <no>, and otherwise <yes>.",
            "For <Were you fined?>: in 3 of 4 cases the device reports the answer, and in 1 of 4"
            " cases the other one.",
        ],
        [(0, 1)],
    ),
    (
        designs("promise-two-proved", TRIANGULAR, TRIANGULAR),
        [f"For <a0>, <a1>: {HARMLESS} <no> if both answers are <no>, and otherwise <yes>."],
        [(0, 1), (1, 1)],
    ),
    (
        not_sensitive(
            designs("promise-sent-and-proved", TRIANGULAR, a1=WARNER, a2=SAME, a3=SAME),
            *("a2", "a3"),
        ),
        [f"For <a0>: {HARMLESS} <no> if both answers are <no>, and otherwise <yes>."],
        [(0, 1)],
    ),
]


def promise_vectors():
    """Return the promises for whole records and single answers, by enumeration."""
    vectors = [
        {
            "survey": (made := survey(f"promise-{i}", sizes, mechanism, public)),
            "public": [made["attributes"][j]["name"] for j in public],
            "sentences": promise_of(made, public),
        }
        for i, (sizes, mechanism, public) in enumerate(PROMISES)
    ]
    vectors += [
        {"survey": made, "public": [], "sentences": promise_of(made, ())} for made in OTHER_PROMISES
    ]
    made = labelled(survey("promise-sent", [2, 2], keep("1", "3/4"), (0,)), *AGE_AND_SMOKING)
    vectors.append({"survey": made, "public": ["a0"], "sentences": promise_of(made, (0,))})
    vectors += [
        {
            "survey": (made := published(asked)),
            "public": [made["attributes"][j]["name"] for j in (*dict(proves), *sent_openly(made))],
            "sentences": promise_of(made, sent_openly(made), map(quoted, words), proves),
        }
        for asked, words, proves in DESIGN_PROMISES
    ]
    promised = {"promise": "answer"}
    vectors += [
        {
            "survey": (made := survey(f"promise-answer-{i}", sizes, by_each, public) | promised),
            "public": [made["attributes"][j]["name"] for j in public],
            "sentences": promise_of(made, public),
        }
        for i, (sizes, by_each, public) in enumerate(ANSWER_PROMISES)
    ]
    asked, words, proves = DESIGN_PROMISES[3]
    made = published(asked) | {"id": "promise-answer-proved"} | promised
    vectors.append(
        {
            "survey": made,
            "public": [made["attributes"][j]["name"] for j, _ in proves],
            "sentences": promise_of(made, (), map(quoted, words), proves),
        }
    )
    about = "What surveys promise, in the words of every page, command and form."
    return {"about": about, "vectors": vectors}


# -- signatures ------------------------------------------------------------------------------------

#: Order of the group of Ed25519 signatures.
ORDER = 2**252 + 27742317777372353535851937790883648493


def signer(name):
    return Ed25519PrivateKey.from_private_bytes(known_bytes(f"signer/{name}", 32))


def public_hex(private):
    return private.public_key().public_bytes_raw().hex()


def statement(digest, terms):
    """Return the bytes that an operator signs."""
    return b"halftruth survey 1\n" + canonical({"digest": digest} | terms).encode()


def signed_vectors():
    """Return all kinds of terms signed by two operators, and invalid signatures."""
    first, second = signer("first"), signer("second")
    sealing_key = public_hex(recipient("signed"))
    vectors = [
        {
            "seed": key.private_bytes_raw().hex(),
            "public": public_hex(key),
            "digest": (digest := hashlib.sha256(f"{invitations}/{sealed}".encode()).hexdigest()),
            "terms": (terms := {"invitations": invitations, "sealing_key": sealed}),
            "statement": statement(digest, terms).decode(),
            "value": key.sign(statement(digest, terms)).hex(),
        }
        for key in (first, second)
        for invitations in (False, True)
        for sealed in (None, sealing_key)
    ]
    digest = hashlib.sha256(b"a survey").hexdigest()
    other_digest = hashlib.sha256(b"another survey").hexdigest()
    terms = {"invitations": True, "sealing_key": sealing_key}
    made = first.sign(statement(digest, terms))
    pins, ours, theirs = [public_hex(first)], public_hex(first), public_hex(second)
    same_point = int.from_bytes(made[32:], "little") + ORDER
    longer = made[:32] + same_point.to_bytes(32, "little")
    prefix = len("halftruth survey 1\n")
    unmarked = first.sign(statement(digest, terms)[prefix:])

    def refused(why, value=made, key=ours, digest=digest, pins=pins, **changed):
        return {
            "why": why,
            "pins": pins,
            "digest": digest,
            "terms": terms | changed,
            "signature": value if value is None else {"key": key, "value": value.hex()},
        }

    flipped = bytes([made[0] ^ 1]) + made[1:]
    by_other = second.sign(statement(digest, terms))
    return {
        "about": "Signatures of surveys, and some that are refused by a client with these pins;"
        " see Signature in docs/protocol.md.",
        "vectors": vectors,
        "refused": [
            refused("there is no signature", value=None),
            refused("the signer is not pinned", value=by_other, key=theirs),
            refused("the signer is another one than it says", value=by_other),
            refused("its key is another pinned one", key=theirs, pins=[ours, theirs]),
            refused("another digest was signed", digest=other_digest),
            refused("the invitations were dropped", invitations=False),
            refused("the sealing key was dropped", sealing_key=None),
            refused("the sealing key was exchanged", sealing_key=public_hex(recipient("other"))),
            refused("one bit is wrong", value=flipped),
            refused("a byte is missing", value=made[:-1]),
            refused("there is a byte too many", value=made + b"\0"),
            refused("it is empty", value=b""),
            refused("its second half is not below the order of the group", value=longer),
            refused("the statement lacks its first line", value=unmarked),
        ],
    }


# -- sealed reports --------------------------------------------------------------------------------


def recipient(name):
    return x25519(f"recipient/{name}")


def packed(sizes, values):
    """Pack all values in the number of bytes that the column with the most values needs."""
    width = 1 if max(sizes) <= 2**8 else 2 if max(sizes) <= 2**16 else 4
    return b"".join(value.to_bytes(width, "big") for value in values)


#: Sizes of the columns of a report with its values: one, two and four bytes, with their limits.
REPORTS = [
    ([2], [1]),
    ([2, 3], [0, 2]),
    ([3, 2, 4, 5, 7] * 8, [2, 1, 3, 4, 6] * 8),
    ([256, 2, 16], [255, 0, 15]),
    ([257, 2], [256, 1]),
    ([65536, 300], [65535, 299]),
    ([65537, 2], [65536, 0]),
    ([16777216], [11259375]),
]


def x25519(name):
    return X25519PrivateKey.from_private_bytes(known_bytes(name, 32))


def report_id(name):
    return uuid.UUID(bytes=known_bytes(f"id/{name}", 16), version=4)


def digest_bytes(name):
    return hashlib.sha256(f"digest/{name}".encode()).digest()


def sealed_to(private, purpose, bound, plaintext, ephemeral):
    """Seal a plaintext for a purpose, bound to a digest and perhaps an id."""
    info = f"halftruth {purpose} 1\n".encode() + bound
    return hpke.seal(private.public_key().public_bytes_raw(), info, plaintext, ephemeral=ephemeral)


def base64_of(content):
    return base64.b64encode(content).decode()


def private_hex(private):
    return private.private_bytes_raw().hex()


def sealed_vectors():
    """Return all widths with and without an invitation, and reports that cannot be opened."""
    vectors = []
    for i, (sizes, values) in enumerate(REPORTS):
        for invitation in (None, known_bytes(f"invitation/{i}", 16)):
            name = f"{i}/{invitation is not None}"
            ours, ephemeral = recipient(name), x25519(f"ephemeral/{name}")
            digest, report = digest_bytes(name), report_id(name)
            plaintext = packed(sizes, values) + (invitation or b"")
            bound = digest + report.bytes
            vectors.append(
                {
                    "recipient_private": private_hex(ours),
                    "recipient_public": public_hex(ours),
                    "ephemeral_private": private_hex(ephemeral),
                    "digest": digest.hex(),
                    "id": str(report),
                    "shape": sizes,
                    "values": values,
                    "invitation": invitation and invitation.hex(),
                    "plaintext": plaintext.hex(),
                    "sealed": base64_of(
                        sealed_to(ours, "sealed report", bound, plaintext, ephemeral)
                    ),
                }
            )
    return {
        "about": "Reports sealed with a known ephemeral key, and some that no collector opens;"
        " see Sealed report in docs/protocol.md.",
        "vectors": vectors,
        "refused": list(sealed_but_refused()),
    }


def relayed_vectors():
    """Return valid and invalid relays of surveys, and reports sealed twice for a relay."""
    a, b = RELAYED["relay"]["key"], RELAYED["relay"]["sealing_key"]

    def having(**members):
        return RELAYED | {"relay": RELAYED["relay"] | members}

    def asking(mechanism, sensitive=True, answers=("no", "yes")):
        asked = [{"name": "smoker", "categories": list(answers), "sensitive": sensitive}]
        asked.append({"name": "age", "categories": ["young", "old"]})
        return RELAYED | {"attributes": asked, "mechanism": mechanism}

    proving = {"design": "mangat", "p": "2/3", "answer": "yes", "not_sensitive": "no"}
    warner = {"design": "warner", "p": "3/4", "answer": "old"}
    by_design = {"kind": "distortion-matrices", "designs": {"smoker": proving, "age": warner}}
    by_matrix = {
        "kind": "distortion-matrices",
        "matrices": {"smoker": ZEROS, "age": WARNER},
    }
    views = [{"attributes": [["age"]], "weight": 1}]
    public = split("100", 5, 4, *views) | {"public": ["smoker"]}
    kept = {"kind": "randomized-response", "keep": {"smoker": "1", "age": "3/4"}}
    accepted = [having(url=url) for url in URLS]
    accepted += [having(batch=n) for n in (2, 10**9)]
    accepted.append(
        asking({"kind": "randomized-response", "keep": {"smoker": "0.9", "age": "0.8"}}, False)
    )
    both = [{"attributes": [[name]], "weight": 1} for name in ("smoker", "age")]
    by_ticket = having(tickets_key=public_hex(signer("tickets"))) | {
        "attributes": [*RELAYED["attributes"], {"name": "age", "categories": ["young", "old"]}],
        "mechanism": split("100", 5, 4, *both),
        "reports": {"tickets": "required"},
    }
    accepted.append(by_ticket)
    refused = [("relay.url", having(url=url)) for url in NO_URLS]
    refused += [("relay.tickets_key", having(tickets_key=key)) for key in ("", a[1:], a, b, 5 * a)]
    # A key without tickets, and tickets without a key or with a question that is not always asked.
    bare = by_ticket | {"relay": RELAYED["relay"]}
    late = [
        by_ticket["attributes"][0],
        {
            "name": "age",
            "categories": ["young", "old", "not asked"],
            "missing": ["not asked"],
            "ask_if": {"smoker": ["yes"]},
        },
    ]
    refused.append(("relay.tickets_key", {k: v for k, v in by_ticket.items() if k != "reports"}))
    refused.append(("relay.tickets_key", bare))
    refused.append(("reports.tickets", by_ticket | {"attributes": late}))
    refused += [("relay.key", having(key=key)) for key in ("", a.upper(), a[1:], a + "0", b)]
    refused += [("relay.sealing_key", having(sealing_key=key)) for key in ("", b[1:], b + "\n")]
    refused += [("relay.batch", having(batch=n)) for n in (-1, 0, 1, 10**9 + 1)]
    refused += [("relay", asking(by_design)), ("relay", asking(by_matrix, answers="abc"))]
    refused += [("relay", asking(mechanism, sensitive=False)) for mechanism in (public, kept)]
    vectors = []
    for i, (sizes, values) in enumerate(REPORTS):
        ours, theirs = recipient(f"relayed/{i}"), recipient(f"relay/{i}")
        ephemeral = [x25519(f"ephemeral/{layer}/{i}") for layer in ("inner", "outer")]
        digest = digest_bytes(f"relayed/{i}")
        report, relay = report_id(f"relayed/{i}"), report_id(f"relay/{i}")
        plaintext = report.bytes + packed(sizes, values)
        relayed = sealed_to(ours, "relayed report", digest, plaintext, ephemeral[0])
        bound = digest + relay.bytes
        vectors.append(
            {
                "collector_private": private_hex(ours),
                "relay_private": private_hex(theirs),
                "sealing_key": public_hex(ours),
                "key": public_hex(theirs),
                "ephemeral_private": list(map(private_hex, ephemeral)),
                "digest": digest.hex(),
                "id": str(report),
                "relay_id": str(relay),
                "shape": sizes,
                "values": values,
                "relayed": base64_of(relayed),
                "sealed": base64_of(
                    sealed_to(theirs, "relay envelope", bound, relayed, ephemeral[1])
                ),
            }
        )
    return {
        "about": "Reports sealed for a relay with known ephemeral keys, inside and outside; surveys"
        " with relays, and such as are refused, with the field; see Relay in docs/protocol.md.",
        "vectors": vectors,
        "accepted": accepted,
        "refused": [{"field": field, "survey": made} for field, made in refused],
    }


def series_vectors():
    """Return valid and invalid series of surveys."""

    def having(**members):
        series = {name: of for name, of in (WAVE["series"] | members).items() if of is not None}
        return WAVE | {"series": series}

    accepted = [having(origin=origin) for origin in ORIGINS]
    accepted += [having(wave=n) for n in (1, 1_000)]
    accepted += [having(total_gamma=total) for total in ("19/2", "1000000")]
    refused = [("origin", having(origin=origin)) for origin in [None, *NO_ORIGINS]]
    refused += [("wave", having(wave=n)) for n in (-1, 0, 1_001)]
    refused += [("id", having(id=id)) for id in ("", "-a", "A", "a b", "a" * 65)]
    refused += [
        ("total_gamma", having(total_gamma=total)) for total in ("1", "0", "19/2.5", "many")
    ]
    return {
        "about": "Surveys of series, and such as are refused, with the field.",
        "accepted": accepted,
        "refused": [{"field": f"series.{field}", "survey": made} for field, made in refused],
    }


def shuffled_vectors():
    """Return the largest losses in a batch, by SciPy over all numbers of clones."""

    def mean_of(gamma, respondents):
        others = scipy.stats.binom(respondents - 1, 1 / gamma)
        clones = np.arange(others.ppf(1e-15), others.isf(1e-15) + 1)
        chances = others.pmf(clones)

        def mean(epsilon):
            factor = math.exp(epsilon)
            likelier, rarer = gamma - factor, gamma * factor - 1
            least = np.floor(rarer / ((gamma - 1) * (1 + factor)) * (clones + 1)) + 1
            tails = [scipy.stats.binom.sf(least - k, clones, 0.5) for k in (2, 1)]
            exact = np.maximum(likelier * tails[0] - rarer * tails[1], 0) / (gamma + 1)
            return float(chances @ exact)

        return mean

    vectors = []
    for respondents in (2, 50, 500, 1_000, 5_000, 40_000, 48_842, 10**6):
        delta = 1e-8 if respondents >= 2_000 else 1e-6
        for gamma in (2, 19, 50, 100, 330):
            mean, local = mean_of(gamma, respondents), math.log(gamma)
            root = scipy.optimize.brentq(lambda x, m=mean, d=delta: m(x) - d, 0, local)

            def tail(epsilon, mean=mean, delta=delta):
                left = 1 - mean(epsilon) / delta
                return epsilon - math.log(left) if left > 0 else math.inf

            best = scipy.optimize.minimize_scalar(tail, bounds=(root, local), method="bounded")
            losses = {"epsilon": root, "tail": min(best.fun, local)}
            together = math.ceil(Fraction(500 * gamma, 5 * gamma + 95))
            odds = 5 / 95 * math.exp(losses["tail"])
            apart = min(math.ceil(100 * odds / (1 + odds)), together)
            vectors.append(
                {"gamma": str(gamma), "respondents": respondents, "delta": delta}
                | {name: float(f"{value:.6g}") for name, value in losses.items()}
                | {"apart": apart, "together": together}
            )
    return {
        "about": "Losses in a batch of reports that nobody can tell apart, and of how many in a"
        " hundred something is true that was true of five, if relay and collector do not work"
        " together, and if they do; see docs/relay.md.",
        "vectors": vectors,
    }


def sealed_but_refused():
    """Return reports that must not be opened, although the collector has the private key."""
    ours, sizes, values = recipient("refused"), [2, 3], [1, 2]
    digest, report = digest_bytes("refused"), report_id("refused")
    whole = packed(sizes, values) + known_bytes("invitation/refused", 16)

    def made(private=ours, digest=digest, report=report, plaintext=whole):
        bound, ephemeral = digest + report.bytes, x25519("ephemeral/refused")
        return sealed_to(private, "sealed report", bound, plaintext, ephemeral)

    good, other = made(), recipient("other")
    unnamed = hpke.seal(
        ours.public_key().public_bytes_raw(),
        digest + report.bytes,
        whole,
        ephemeral=x25519("ephemeral/refused"),
    )
    flipped = {i: good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :] for i in (0, 32, len(good) - 1)}
    for why, sealed in [
        ("it is sealed to another key", made(other)),
        ("it is of another survey", made(digest=digest_bytes("other"))),
        ("it has another id", made(report=report_id("o"))),
        ("its purpose is another one", unnamed),
        ("it has no invitation", made(plaintext=packed(sizes, values))),
        ("it has an invitation and more", made(plaintext=b"\0" + whole)),
        ("a bit of the ephemeral key is wrong", flipped[0]),
        ("a bit of the report is wrong", flipped[32]),
        ("a bit of the tag is wrong", flipped[len(good) - 1]),
        ("its end is missing", good[:-1]),
        ("it is nothing but a key", good[:32]),
        ("it is shorter than a key", good[:31]),
        ("it is empty", b""),
        ("there is a byte too many", good + b"\0"),
        ("its ephemeral key is of small order", bytes(32) + good[32:]),
        ("its ephemeral key is another one", other.public_key().public_bytes_raw() + good[32:]),
    ]:
        yield {
            "why": why,
            "recipient_private": private_hex(ours),
            "digest": digest.hex(),
            "id": str(report),
            "shape": sizes,
            "invitations": True,
            "sealed": base64_of(sealed),
        }


def ticket_vectors():
    """Return tickets with the views that follow, for views of different weights."""
    half = view([0], weight=2**16 + 1), view([1], weight=2**16)
    surveys = [
        survey("one-view", [2], split("3", 3, 2, view([0]))),
        survey("apart", [2, 3], split("19/2", 7, 3, view([1], weight=5), view([0]))),
        survey("pairs", [2, 3, 4], split("19/2", 3, 2, view([0, 1, 2], choose=[2]))),
        survey("groups", [2, 3, 2, 4, 3, 2, 2], GROUPS, public=[0, 6]),
        survey("repeated-view", [2, 2, 2, 3, 3, 2], REPEATED),
        # Nearly half of the numbers are rejected, so that some draws need a second block.
        survey("rejected", [2, 3], split("3", 3, 2, *half)),
        survey("many-questions", [4] * 40, split("19", 19, 10, view(range(40), choose=[2]))),
    ]
    vectors = []
    for asked in surveys:
        made = published(asked) | {"reports": {"tickets": "required"}}
        names = [attribute["name"] for attribute in made["attributes"]]
        weights = [
            weight
            for weight, _ in dense_split.views(
                asked_sizes(made), classes_of(made["mechanism"], names)
            )
        ]
        tickets = [
            ticket(made, weights, i, 12 if made["id"] == "rejected" else 6)
            for i in range(24 if made["id"] == "rejected" else 6)
        ]
        vectors.append({"survey": made, "digest": digest(made), "tickets": tickets})
    about = "Tickets and the views that follow from them, and some that a relay has signed and that"
    about += " it has not; see Tickets in docs/protocol.md."
    return {"about": about, "vectors": vectors} | signed_tickets()


def signed_tickets():
    """Return tickets of a survey's relay, and some that are not signed by it."""
    relay, other = signer("tickets"), signer("other tickets")
    two = split("19/2", 7, 3, view([1], weight=5), view([0]))
    made = published(survey("through-a-relay", [2, 3], two)) | {
        "relay": RELAYED["relay"] | {"tickets_key": public_hex(relay)},
        "reports": {"tickets": "required"},
    }
    bound, known = bytes.fromhex(digest(made)), [ticket(made, [5, 1], i, 6) for i in range(6)]

    def signed(each, key=relay, purpose=b"halftruth relay ticket 1\n", of=bound):
        message = of + bytes.fromhex(each["id"]) + bytes.fromhex(each["commitment"])
        return key.sign(purpose + message).hex()

    for each in known:
        del each["key"]
        each["code"] = signed(each)
    first, second, *_ = known
    code = bytes.fromhex(first["code"])
    same_point = int.from_bytes(code[32:], "little") + ORDER
    longer = code[:32] + same_point.to_bytes(32, "little")
    refused = [
        {"why": "another key has signed it", "code": signed(first, other)},
        {"why": "it is signed for another survey", "code": signed(first, of=bytes(32))},
        {"why": "it is signed for another purpose", "code": signed(first, purpose=b"")},
        {"why": "it is the signature of another ticket", "code": second["code"]},
        {"why": "the number is not reduced", "code": longer.hex()},
        {"why": "a bit is wrong", "code": (bytes([code[0] ^ 1]) + code[1:]).hex()},
        {"why": "its end is missing", "code": code[:-1].hex()},
        {"why": "it is a code of a collector", "code": ticket(made, [5, 1], 0, 6)["code"]},
    ]
    return {
        "signed": [{"survey": made, "digest": digest(made), "tickets": known}],
        "refused": [first | each for each in refused],
    }


def asked_sizes(made):
    return [len(categories) for _, categories in asked_of(made)]


def ticket(made, weights, number, blocks):
    """Return a ticket, with its commitment and code, and the number of its view."""
    bound = bytes.fromhex(digest(made))
    seed = f"{made['id']}/{number}"
    secret, id_ = known_bytes(f"secret/{seed}", 32), known_bytes(f"ticket/{seed}", 16)
    key = known_bytes(f"ticket key/{made['id']}", 32)
    commitment = hashlib.sha256(b"halftruth ticket 1\n" + bound + secret).digest()
    counters = (i.to_bytes(4, "big") for i in range(blocks))
    stream = Stream(
        b"".join(hashlib.sha256(bound + id_ + secret + counter).digest() for counter in counters)
    )
    drawn = stream.below(sum(weights))
    number = next(i for i, until in enumerate(itertools.accumulate(weights)) if drawn < until)
    return {
        "secret": secret.hex(),
        "commitment": commitment.hex(),
        "id": id_.hex(),
        "key": key.hex(),
        "code": hmac.new(key, bound + id_ + commitment, hashlib.sha256).hexdigest(),
        "view": number,
    }


def files():
    """Return the text of each file by name."""
    made = {kind: mechanism_vectors(kind) for kind in SAMPLERS}
    made |= {"canonical": canonical_vectors(), "integers": integer_vectors()}
    made |= {"protection": promise_vectors(), "questions": question_vectors()}
    made |= {"signed": signed_vectors(), "sealed": sealed_vectors()}
    made |= {"relayed": relayed_vectors(), "shuffled": shuffled_vectors()}
    made |= {"series": series_vectors(), "tickets": ticket_vectors()}
    return {f"{name}.json": text_of(vectors) for name, vectors in made.items()}


def text_of(members):
    """Return JSON with one line per vector."""
    return (
        "{\n" + ",\n".join(f"{json.dumps(k)}: {lines_of(v)}" for k, v in members.items()) + "\n}\n"
    )


def lines_of(member):
    if not isinstance(member, list):
        return json.dumps(member)
    return "[\n" + ",\n".join(json.dumps(vector) for vector in member) + "\n]"


if __name__ == "__main__":
    for name, text in files().items():
        (HERE / name).write_text(text, encoding="ascii")
