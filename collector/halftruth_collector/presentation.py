"""Results for people and spreadsheets: the same words on the command line and on pages."""

import csv
import io
from collections.abc import Sequence

from halftruth_shared.messages import (
    AssociationsResult,
    FiellerSet,
    Interval,
    ItemsetsResult,
    MeasureEstimate,
    RuleEstimate,
    RulesResult,
    TableResult,
    Tabular,
)

from .charts.wording import words

#: A header, and rows of as many cells.
Grid = tuple[list[str], list[list[object]]]


def csv_text(result: Tabular) -> str:
    """Everything as CSV; what is undefined is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(result.columns)
    for row in result.rows():
        writer.writerow([words(value) if isinstance(value, dict) else value for value in row])
    return text.getvalue()


def itemset_rows(result: ItemsetsResult) -> Grid:
    """Itemsets with support, interval and decision."""
    header = ["itemset", "support", f"{result.query.confidence:.0%} interval", "decision"]
    return header, [
        [words(i.items), percent(i.support), between(i.interval), i.decision]
        for i in result.itemsets
    ]


def association_rows(result: AssociationsResult) -> Grid:
    """Ordered pairs of attributes with their concentration τ."""
    header, rows = measure_rows([a.estimate for a in result.associations], result.query.confidence)
    pairs = [[found.row, found.column] for found in result.associations]
    return ["row", "column", *header[1:]], [
        [*pair, *row[1:]] for pair, row in zip(pairs, rows, strict=True)
    ]


def rule_header(confidence: float) -> list[str]:
    """What :func:`rule_row` gives."""
    return [
        "antecedent",
        "consequent",
        "support",
        f"{confidence:.0%} interval",
        "confidence",
        f"{confidence:.0%} Chebyshev interval",
        "Fieller set",
    ]


def rule_row(rule: RuleEstimate) -> list[object]:
    """One rule, without its measures."""
    return [
        words(rule.antecedent),
        words(rule.consequent),
        percent(rule.support),
        between(rule.support_interval),
        percent(rule.confidence),
        between(rule.confidence_interval),
        ratios(rule.confidence_fieller),
    ]


def rule_rows(result: RulesResult) -> Grid:
    """Rules with their bounds, and a column for each measure asked for."""
    header = [*rule_header(result.query.confidence), *result.query.measures]
    return header, [
        [*rule_row(rule), *(plain(measure.value) for measure in rule.measures)]
        for rule in result.rules
    ]


def table_rows(result: TableResult) -> Grid:
    """Cells with support and interval."""
    header = [*result.query.attributes, "support", f"{result.query.confidence:.0%} interval"]
    return header, [
        [*cell.values.values(), percent(cell.support), between(cell.interval)]
        for cell in result.cells
    ]


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return "undefined" if value is None else f"{value:.2%}"


def between(interval: Interval | None) -> str:
    """An interval of shares as percentages."""
    return "undefined" if interval is None else f"{interval[0]:.2%} to {interval[1]:.2%}"


def ratios(found: FiellerSet | None) -> str:
    """A set of ratios as percentages."""
    if found is None:
        return "undefined"
    if found.lower is None or found.upper is None:
        return "everything: the antecedent is not clearly there"
    if found.kind == "outside":
        return f"up to {found.lower:.2%}, or from {found.upper:.2%} on"
    return between((found.lower, found.upper))


def plain(value: float | None) -> str:
    """A number with four digits."""
    return "undefined" if value is None else f"{value:.4g}"


def plain_between(interval: Interval | None) -> str:
    """An interval of numbers with four digits."""
    return "undefined" if interval is None else f"{plain(interval[0])} to {plain(interval[1])}"


def measure_rows(
    measures: Sequence[MeasureEstimate], confidence: float
) -> tuple[list[str], list[list[object]]]:
    """Header and rows of measures."""
    header = [
        "measure",
        "value, or why there is none",
        f"{confidence:.0%} interval",
        "Chebyshev interval",
    ]
    return header, [
        [
            measure.name,
            measure.undefined or plain(measure.value),
            plain_between(measure.interval),
            plain_between(measure.chebyshev_interval),
        ]
        for measure in measures
    ]
