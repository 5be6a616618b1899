"""Single rows of estimates, mined itemsets and rules, for tests."""

from dataclasses import dataclass
from types import SimpleNamespace

from halftruth_shared.results.long_table import Rows


@dataclass(frozen=True)
class Rule:
    """A rule; attributes that it does not define are those of its confidence."""

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
    """Return the rules of an estimator's answer or of a result."""
    rows = list(found.rows)
    quantities = {}
    for row in rows:
        quantities.setdefault(row.quantity, []).append(row)
    count = len(quantities.get("confidence", ()))
    blocks = [rows[start : start + count] for start in range(0, len(rows), count or 1)]
    return [Rule(one, support, each) for one, support, *each in zip(*blocks, strict=True)]


def rows_of(estimates):
    """Return the rows of columns of estimates without keys."""
    return list(Rows(SimpleNamespace(keys=[], estimates=estimates)))
