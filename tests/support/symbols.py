"""A mechanism of the tests alone, whose report is no record but one symbol about all answers.

Each cell u of the whole table has two symbols of its own, A_u = {2u, 2u + 1}, γ times as likely as
each other one; symbols beyond 2n are nobody's. Its twin for browsers is ``tests/web/symbol.mjs``.
Everything is computed with dense matrices, written down from this definition.
"""

import secrets
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from halftruth_shared import DomainTooLarge, Mechanism, ParameterError, Reconstruction, ReportSpace
from halftruth_shared.mechanisms import (
    AnswerAmplification,
    Parameters,
    TableEstimate,
    UnitVariance,
    forget,
    register,
)
from halftruth_shared.mechanisms.reconstruction import Sample
from halftruth_shared.mechanisms.variances import variance
from halftruth_shared.rational import format_rational, parse_rational

KIND = "test-symbol"

#: Beyond, dense matrices would be too large.
MOST_CELLS = 2_048


class SymbolParameters(Parameters, frozen=True, tag=KIND):
    gamma: str | int
    size: int | None = None

    def mechanism(self, schema):
        return Symbol(self.gamma, 2 * schema.size + 1 if self.size is None else self.size)


class Symbol(Mechanism):
    kind = KIND
    written_as = SymbolParameters

    def __init__(self, gamma, size):
        super().__init__()
        self.gamma, self.size = parse_rational(gamma, "gamma"), size

    def parameters(self):
        return SymbolParameters(format_rational(self.gamma, "gamma"), self.size)

    def check(self, schema):
        if self.gamma <= 1:
            raise ParameterError("gamma: expected more than 1", field="gamma")
        if schema.size > MOST_CELLS:
            raise DomainTooLarge(f"attributes: expected at most {MOST_CELLS} cells")
        if self.size < 2 * schema.size:
            raise ParameterError(f"size: expected {2 * schema.size} or more", field="size")

    def amplification(self, schema, public=()):
        return Fraction(1) if set(public) >= set(schema.names) else self.gamma

    def answer_amplification(self, schema, public=()):
        known = self.amplification(schema, public)
        free = [len(a.categories) for a in schema.attributes if a.name not in public]
        if not free:
            return AnswerAmplification(known, known)
        return AnswerAmplification(known, 1 + (self.gamma - 1) * Fraction(max(free), prod(free)))

    @classmethod
    def for_amplification(cls, schema, gamma, public=(), longest=None):
        return cls(gamma, 2 * schema.size + 1)

    def report_space(self, schema):
        return ReportSpace(("symbol",), (self.size,))

    def decode_report(self, schema, values):
        return {"symbol": f"number {values[0]}"}

    def reconstruction(self, schema):
        return SymbolReconstruction(schema, self.matrix(schema))

    def matrix(self, schema):
        """P(symbol | cell), a row for each symbol."""
        own, other = map(float, self.gamma.as_integer_ratio())
        mine = np.arange(self.size)[:, None] // 2 == np.arange(schema.size)
        return np.where(mine, own, other) / (2 * own + (self.size - 2) * other)

    def perturb(self, schema, codes, randbelow=secrets.randbelow):
        own, other = self.gamma.as_integer_ratio()
        cell = int(np.ravel_multi_index(schema.check(codes), schema.shape))
        draw = randbelow(self._outcomes(None))
        if draw < 2 * own:
            return (2 * cell + draw // own,)
        place = (draw - 2 * own) // other
        return (place if place < 2 * cell else place + 2,)

    def _prepare(self, schema):
        return schema.shape

    def _outcomes(self, plan):
        return 2 * self.gamma.numerator + (self.size - 2) * self.gamma.denominator

    def _perturb_array(self, plan, records, draw):
        own, other = self.gamma.as_integer_ratio()
        cells = np.ravel_multi_index(tuple(records.T), plan)
        draws = draw(self._outcomes(plan), len(records))
        place = (draws - 2 * own) // other
        elsewhere = np.where(place < 2 * cells, place, place + 2)
        return np.where(draws < 2 * own, 2 * cells + draws // own, elsewhere)[:, None]


class SymbolReconstruction(Reconstruction):
    def __init__(self, schema, matrix):
        super().__init__(schema)
        self.matrix = matrix

    @cached_property
    def weights(self):
        """What a symbol says of each cell, shape (cells, symbols): unbiased, and 1 altogether."""
        cells = self.schema.size
        mine = np.arange(len(self.matrix)) // 2 == np.arange(cells)[:, None]
        excess = self.matrix.max() - self.matrix.min()
        return 1 / cells + (mine - mine.mean(axis=0)) / (2 * excess)

    def weights_of(self, attributes):
        """The same for a table of some attributes, axes in the order given."""
        positions = self.schema.positions(attributes)
        whole = self.weights.reshape(*self.schema.shape, -1)
        others = tuple(j for j in range(len(self.schema.shape)) if j not in positions)
        order = sorted(positions)
        return whole.sum(axis=others).transpose([*map(order.index, positions), len(positions)])

    def table(self, counts, attributes):
        weights = self.weights_of(attributes)
        channel = self.matrix.reshape(-1, *self.schema.shape)
        return SymbolTable(
            tuple(attributes),
            weights,
            self.observed(counts),
            counts.reports,
            self.columns_of(channel, attributes),
        )

    def columns_of(self, channel, attributes):
        """Probabilities of symbols by cell of a table, other answers being even."""
        positions = self.schema.positions(attributes)
        others = tuple(1 + j for j in range(len(self.schema.shape)) if j not in positions)
        order = sorted(positions)
        means = channel.mean(axis=others)
        return means.transpose([0, *(1 + order.index(j) for j in positions)])

    def observed(self, counts):
        return counts.marginal([0]) / counts.reports

    def expected(self, table):
        return self.matrix @ table.ravel()

    def adjoint(self, weights):
        return (self.matrix.T @ weights).reshape(self.schema.shape)

    def largest_weight(self, attributes):
        return float(np.abs(self.weights_of(attributes)).max())

    def unit_variance(self, attributes, target):
        weights = self.weights_of(attributes)
        moments = (weights**2).reshape(-1, len(self.matrix)) @ self.matrix
        whole = np.arange(self.schema.size).reshape(self.schema.shape)
        positions = self.schema.positions(attributes)
        cell_of = np.ravel_multi_index(
            [np.unravel_index(whole.ravel(), whole.shape)[j] for j in positions],
            weights.shape[:-1],
        )
        inside = cell_of == np.arange(len(moments))[:, None]
        shape = weights.shape[:-1]
        return UnitVariance.of_weights(
            np.average(moments, axis=1, weights=inside).reshape(shape),
            np.average(moments, axis=1, weights=~inside).reshape(shape),
            np.where(inside, 0, moments).max(axis=1).reshape(shape),
            target,
        )


class SymbolTable(TableEstimate):
    def __init__(self, attributes, weights, observed, reports, channel):
        self.attributes, self.weights, self.observed, self.reports, self.channel = (
            attributes,
            weights,
            observed,
            reports,
            channel,
        )

    def samples(self, shares):
        chances = self.channel.reshape(len(self.channel), -1) @ shares.ravel()
        return [
            Sample(self.reports, chances, self.weights.reshape(-1, len(chances)).T / self.reports)
        ]

    @property
    def support(self):
        return self.weights @ self.observed

    @property
    def effective_reports(self):
        apart = self.weights - self.support[..., None]
        fourth = np.maximum(apart**4 @ self.observed, 1e-300)
        return self.reports * (apart**2 @ self.observed) ** 2 / fourth

    def variance(self, target="population"):
        return variance(self.weights**2 @ self.observed, self.support, self.reports, target)

    def _covariance(self, target):
        weights, support = self.weights.reshape(-1, len(self.observed)), self.support.ravel()
        mean = np.outer(support, support) if target == "population" else np.diag(support)
        return ((weights * self.observed) @ weights.T - mean) / (self.reports - 1)


@contextmanager
def registered():
    """Let surveys have symbols."""
    register(Symbol)
    try:
        yield Symbol
    finally:
        forget(Symbol)
