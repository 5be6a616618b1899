"""Single rows of estimates, mined itemsets and rules, for tests."""

from dataclasses import dataclass
from types import SimpleNamespace

from halftruth_collector.estimation.association import (
    estimate_associations,
    estimate_measures,
    graded,
)
from halftruth_collector.estimation.itemsets import mine_itemsets
from halftruth_collector.estimation.rules import estimate_rule, mine_rules
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.results import EstimateColumns
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


def itemsets_of(estimator, min_support, max_length=None, confidence=0.95, estimate="moment"):
    """Return the itemsets that reach a threshold."""
    query = ItemsetsQuery(
        min_support=min_support, max_length=max_length, confidence=confidence, estimate=estimate
    )
    return mine_itemsets(estimator, query)


def mined_rules(estimator, min_support, min_confidence, min_lift=None, max_length=None, **asked):
    """Return the rules between itemsets that reach thresholds."""
    query = RulesQuery(
        min_support=min_support,
        min_confidence=min_confidence,
        min_lift=min_lift,
        max_length=max_length,
        **asked,
    )
    return mine_rules(estimator, query)


def rule_of(estimator, antecedent, consequent, **asked):
    """Return one rule."""
    return estimate_rule(
        estimator, RulesQuery(antecedent=antecedent, consequent=consequent, **asked)
    )


def measures_of(estimator, attributes, present=None, measures=None, confidence=0.95):
    """Return measures of one table, by default all that apply, as columns."""
    table = estimator.table(attributes)
    found = estimate_measures(estimator.schema, table, present or {}, measures)
    return EstimateColumns.concatenate([graded(*each, confidence) for each in found])


def associations_of(estimator, attributes=None, confidence=0.95):
    """Return the associations of all pairs of some attributes, by default of all."""
    names = estimator.schema.names if attributes is None else attributes
    return estimate_associations(estimator, names, confidence)
