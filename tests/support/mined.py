"""Estimates, mined itemsets and rules one by one, as tests look at them."""

from dataclasses import dataclass
from types import SimpleNamespace

from halftruth_shared.results.long_table import Rows


@dataclass(frozen=True)
class Rule:
    """A rule: what is not its own is of its confidence."""

    confidence: object
    support: object
    measures: list

    def __getattr__(self, name):
        return getattr(self.confidence, name)

    @property
    def antecedent(self):
        return self.confidence["antecedent"]

    @property
    def consequent(self):
        return self.confidence["consequent"]


def rules_of(found):
    """The rules of an estimator's answer or of a result."""
    rows = list(found.rows)
    quantities = {}
    for row in rows:
        quantities.setdefault(row.quantity, []).append(row)
    count = len(quantities.get("confidence", ()))
    blocks = [rows[start : start + count] for start in range(0, len(rows), count or 1)]
    return [Rule(one, support, each) for one, support, *each in zip(*blocks, strict=True)]


def rows_of(estimates):
    """The rows of columns of estimates without keys."""
    return list(Rows(SimpleNamespace(keys=[], estimates=estimates)))
