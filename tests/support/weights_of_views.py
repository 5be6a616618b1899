"""Weights of reports about views, computed densely from the definition of the estimates."""

import math
from fractions import Fraction
from itertools import chain, combinations, permutations

import numpy as np
from dense_split import belongs
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import Attribute, ParameterError, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire.views import ViewClass


def views(*classes):
    """Return classes of views from names of attributes, number to choose and weight."""
    return [
        ViewClass(
            attributes=(tuple(names),), choose=None if choose is None else (choose,), weight=weight
        )
        for names, choose, weight in classes
    ]


#: Shape, public attributes, views, prime, most cells of k-ary responses, γ, most cells of pairs.
DIRECT = ((2, 3, 2), "", (("abc", 2, 2), ("abc", None, 3)), 3, 40, "2")
PUBLIC = ((3, 2, 2, 3), "b", (("acd", 2, 2), ("acd", None, 3), ("a", None, 1)), 5, 40, "7/2")
PAIRS = ((2, 3, 2, 2), "", (("abcd", 2, 1), ("ac", None, 2)), 3, 40, "3")
MIXED = ((5, 4, 4, 3), "", (("ab", None, 2), ("abcd", None, 3)), 19, 28, "19")
PUBLIC_GEOMETRY = (
    (5, 3, 4, 6),
    "b",
    (("ac", None, 1), ("acd", None, 3), ("acd", 2, 1)),
    19,
    19,
    "19",
)
OF_PAIRS = ((3, 2, 2, 2), "b", (("acd", 2, 2), ("acd", None, 3), ("a", None, 1)), 5, 3, "5", 12)
DESIGNS = {
    "direct": DIRECT,
    "pairs of cells": OF_PAIRS,
    "public": PUBLIC,
    "pairs": PAIRS,
    "mixed": MIXED,
    "public-geometry": PUBLIC_GEOMETRY,
}


def survey_of(design):
    shape, public, classes, prime, direct, gamma, *pairs = design
    schema = Schema(
        [
            Attribute(name, [f"c{code}" for code in range(size)], sensitive=name not in public)
            for name, size in zip("abcdefgh", shape, strict=False)
        ]
    )
    how = {"prime": prime, "direct": direct, "pairs": pairs[0] if pairs else None}
    mechanism = SplitQuestionnaire(gamma, views(*classes), tuple(public), **how)
    return Survey("s", "S", schema, mechanism)


class Definition:
    """Reports of a survey and their weights, computed from the definitions.

    Attributes
    ----------
    channel : ndarray, shape (public cells, symbols, records)
        P(report | record).
    """

    def __init__(self, survey):
        self.schema, self.mechanism = survey.schema, survey.mechanism
        self.views = survey.perturbation.views
        of = self.mechanism
        how = of.prime, of.direct, of.pairs or 0
        own = {
            (v.channel, v.channel.cells): np.array(belongs(v.channel.cells, *how)).T
            for v in self.views
        }
        self.incidences = [own[v.channel, v.channel.cells] for v in self.views]
        self.public = sorted(self.schema.names.index(name) for name in self.mechanism.public)
        sizes = [self.schema.shape[j] for j in self.public]
        self.public_cells = list(np.ndindex(*sizes))
        self.columns = [slice(v.first, v.first + v.channel.symbols) for v in self.views]
        records = list(np.ndindex(*self.schema.shape))
        total = sum(view.weight for view in self.views)
        gamma = float(self.mechanism.gamma)
        self.channel = np.zeros((len(self.public_cells), self.columns[-1].stop, len(records)))
        for number, record in enumerate(records):
            row = self.public_cells.index(tuple(record[j] for j in self.public))
            for view, columns, incidence in zip(
                self.views, self.columns, self.incidences, strict=True
            ):
                cell = np.ravel_multi_index([record[j] for j in view.positions], view.shape)
                likely = np.where(incidence[cell], gamma, 1.0)
                self.channel[row, columns, number] = view.weight / total * likely / likely.sum()

    def weights(self, positions, by_view):
        """Return the weight of a report in each cell, shape (*table, public cells, symbols)."""
        shape = self.schema.shape
        free = [j for j in positions if j not in self.public]
        cells = math.prod(shape[j] for j in free)
        gamma, reports = float(self.mechanism.gamma), sum(by_view)
        pooled = [
            count * float(v.channel.information) / v.channel.cells
            for count, v in zip(by_view, self.views, strict=True)
        ]
        result = np.zeros([shape[j] for j in positions] + list(self.channel.shape[:2]))
        for number, view in enumerate(self.views):
            response, columns = view.channel, self.columns[number]
            scale = (gamma - 1) * (response.subset_size - response.common)
            scale /= response.symbols + (gamma - 1) * response.subset_size
            answers = self.incidences[number].reshape(*view.shape, -1) / scale
            total = np.full(
                [shape[j] for j in free] + [response.symbols], by_view[number] / reports / cells
            )
            for subset in chain(*(combinations(free, k + 1) for k in range(len(free)))):
                if not set(subset) <= set(view.positions):
                    continue
                of_subset = sum(
                    weight
                    for weight, other in zip(pooled, self.views, strict=True)
                    if set(subset) <= set(other.positions)
                )
                others = tuple(a for a, j in enumerate(view.positions) if j not in subset)
                margin = answers.sum(axis=others)
                for axis in range(len(subset)):
                    margin = margin - margin.mean(axis=axis, keepdims=True)
                order = [sorted(subset).index(j) for j in free if j in subset]
                margin = margin.transpose([*order, len(order)])
                margin = margin.reshape([shape[j] if j in subset else 1 for j in free] + [-1])
                dimension = math.prod(shape[j] for j in subset)
                total = total + pooled[number] / of_subset * dimension / cells * margin
            for row, answer in enumerate(self.public_cells):
                known = dict(zip(self.public, answer, strict=True))
                place = tuple(known.get(j, slice(None)) for j in positions)
                result[(*place, row, columns)] = total
        return result

    def covariance(self, positions, by_view, expected):
        """Return the covariance of a table for *population*, given the reports per view."""
        weights = self.weights(positions, by_view)
        weights = weights.reshape(-1, *weights.shape[-2:])
        result = np.zeros((len(weights),) * 2)
        for count, columns in zip(by_view, self.columns, strict=True):
            chance = expected[:, columns].ravel() / expected[:, columns].sum()
            of_view = weights[:, :, columns].reshape(len(weights), -1)
            mean = of_view @ chance
            result += ((of_view * chance) @ of_view.T - np.outer(mean, mean)) / count
        return result


def population(shape, seed=0):
    """Return uneven shares of all records as fractions of 997."""
    rng = np.random.default_rng(seed)
    cells = math.prod(shape)
    return rng.multinomial(997, rng.dirichlet(np.full(cells, 0.3))).reshape(shape)


def expected_counts(survey, definition, whole):
    """Return counts that equal their expectation, with enough reports to be integers."""
    gamma = survey.mechanism.gamma
    total = sum(view.weight for view in definition.views)
    shares = [v.channel.share * Fraction(v.weight, total * 997) for v in definition.views]
    factor = math.lcm(*(share.denominator for share in shares), gamma.denominator**2)
    cells, counts = [], []
    arranged = whole.transpose(
        [*definition.public, *(j for j in range(whole.ndim) if j not in definition.public)]
    ).reshape(len(definition.public_cells), -1)
    positions = [j for j in range(whole.ndim) if j not in definition.public]
    for row, answer in enumerate(definition.public_cells):
        table = arranged[row].reshape([whole.shape[j] for j in positions])
        for view, share, incidence in zip(
            definition.views, shares, definition.incidences, strict=True
        ):
            others = tuple(a for a, j in enumerate(positions) if j not in view.positions)
            margin = table.sum(axis=others).ravel()
            for symbol, own in enumerate(margin @ incidence):
                exact = factor * share * (int(margin.sum()) + (gamma - 1) * int(own))
                assert exact.denominator == 1
                cells.append((*answer, view.first + symbol))
                counts.append(int(exact))
    return Counts.from_cells(survey, cells, np.array(counts))


def tables(survey):
    """Yield positions of the attributes of each identified table, in varying order."""
    unbiased = reconstruction(survey)
    for length in range(1, len(survey.schema.names) + 1):
        for number, chosen in enumerate(combinations(range(len(survey.schema.names)), length)):
            orders = list(permutations(chosen))
            positions = orders[number % len(orders)]
            try:
                unbiased.check([survey.schema.names[j] for j in positions])
            except ParameterError:
                continue
            yield positions


def names_of(survey, positions):
    return [survey.schema.names[j] for j in positions]


def margin(table, positions):
    others = tuple(j for j in range(table.ndim) if j not in positions)
    order = sorted(positions)
    return table.sum(axis=others).transpose([order.index(j) for j in positions])


def some_reports(survey, symbols):
    public = len(survey.report_space.names) - 1
    return Counts.from_reports(survey, [[0] * public + [symbol] for symbol in symbols])
