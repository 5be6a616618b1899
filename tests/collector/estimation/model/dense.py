"""Reference loglinear models by dense matrices."""

from itertools import chain, combinations, product

import numpy as np
from weights_of_views import Definition

from ..definitions import Oracle


def codes_of(shape, terms):
    """Return the category of each attribute for each column of the design matrix, 0 for none."""
    subsets = {(axis,) for axis in range(len(shape))}
    for term in terms:
        lengths = range(1, len(term) + 1)
        subsets |= set(chain(*(combinations(sorted(term), length) for length in lengths)))
    codes = []
    for subset in sorted(subsets, key=lambda axes: (len(axes), axes)):
        for categories in product(*(range(1, shape[axis]) for axis in subset)):
            row = [0] * len(shape)
            for axis, category in zip(subset, categories, strict=True):
                row[axis] = category
            codes.append(tuple(row))
    return codes


def columns_of(shape, terms):
    """Design matrix in corner coding, shape (cells, parameters)."""
    codes = codes_of(shape, terms)
    return np.array(
        [
            [all(c in (0, u) for c, u in zip(code, cell, strict=True)) for code in codes]
            for cell in product(*map(range, shape))
        ],
        dtype=float,
    )


def blocks_of(survey, counts):
    """Return P(report | record) with the counts of reports, for each part of the reports."""
    shape, schema = survey.schema.shape, survey.schema
    if survey.mechanism.kind != "split-questionnaire":
        return [(Oracle().matrix(survey, schema.names), counts.marginal(range(len(shape))).ravel())]
    definition = Definition(survey)
    sizes = [shape[j] for j in definition.public]
    table = np.zeros(definition.channel.shape[:2])
    rows = np.ravel_multi_index(tuple(counts.cells[:, :-1].T), sizes) if sizes else 0
    np.add.at(table, (rows, counts.cells[:, -1]), counts.counts)
    found = []
    for symbols in definition.columns:
        channel = definition.channel[:, symbols].reshape(-1, schema.size)
        found.append((channel / channel.sum(axis=0), table[:, symbols].ravel()))
    return found


class DenseModel:
    """A loglinear model of the answers in corner coding, with reports."""

    def __init__(self, shape, terms, blocks):
        self.columns, self.blocks = columns_of(shape, terms), blocks
        self.reports = sum(counts.sum() for _, counts in blocks)

    def table(self, theta):
        weights = np.exp(self.columns @ theta)
        return weights / weights.sum()

    def level(self, theta):
        table = self.table(theta)
        return sum(
            counts[counts > 0] @ np.log((channel @ table)[counts > 0])
            for channel, counts in self.blocks
        )

    def slopes(self, theta):
        """Derivatives of the table."""
        table = self.table(theta)
        return table[:, None] * (self.columns - table @ self.columns)

    def score(self, theta):
        table, slopes = self.table(theta), self.slopes(theta)
        return sum(
            (channel @ slopes).T @ (counts / (channel @ table)) for channel, counts in self.blocks
        )

    def expected(self, theta):
        table, slopes = self.table(theta), self.slopes(theta)
        return sum(
            counts.sum() * (channel @ slopes).T @ ((channel @ slopes) / (channel @ table)[:, None])
            for channel, counts in self.blocks
        )


def components(table):
    """Return the mean square of each interaction of a table, by its axes."""
    found = {}
    for length in range(1, table.ndim + 1):
        for axes in combinations(range(table.ndim), length):
            part = table
            for axis in range(table.ndim):
                mean = part.mean(axis=axis, keepdims=True)
                part = part - mean if axis in axes else mean
            found[axes] = float((part**2).mean())
    return found
