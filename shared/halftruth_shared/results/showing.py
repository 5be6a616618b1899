"""Sentences about the basis of results, and plain tables for notebooks and shells."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from .base import CONTRADICTED
from .caveats import folded
from .labels import NAMES, Labels
from .wording import number, share, share_interval

#: Smaller p-values are stated as below this bound.
_LEAST = 1e-4


def of_reports(result: Any) -> str:
    """Describe the number of reports of a result and their time, or the size of a pilot."""
    for caveat in getattr(result, "caveats", ()):
        if caveat.code == "pilot":
            return f"{number(caveat.values['people'], 0)} people of a pilot"
    reports = "1 report" if result.reports == 1 else f"{number(result.reports, 0)} reports"
    return f"{reports}, {result.as_of.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def report_count(result: Any) -> str:
    """Describe the number of reports of a result."""
    return of_reports(result).partition(",")[0]


#: Assumption of the loglinear model, if no interaction was added.
NO_INTERACTIONS = "The model has no interaction of three or more questions"


#: Number of pairs of questions that a headline names.
_IN_HEADLINE = 2


def headline_assumption(result: Any, labels: Labels = NAMES) -> str:
    """Return the assumptions of a model, as the beginning of a headline; empty without a model."""
    model = result.model_fit
    if model is None:
        return ""
    besides = " besides those named" if model.interactions or model.added else ""
    begin = f"Assuming no interaction of three or more questions{besides}"
    if len(model.linear_pairs) > _IN_HEADLINE:
        count = number(len(model.linear_pairs))
        begin += f", linear-by-linear associations of {count} pairs of scales"
    elif model.linear_pairs:
        scales = "; ".join(_pairs(model.linear_pairs, labels))
        begin += f", a linear-by-linear association of {scales}"
    pairs = _pairs(model.unasked_pairs, labels)
    if not pairs:
        return f"{begin}: "
    if len(pairs) == 1:
        return f"{begin}, and independence of {pairs[0]} given the other answers: "
    return (
        f"{begin}, and independence given the other answers of {number(len(pairs))} pairs of"
        f" questions that no report asks together, such as {'; '.join(pairs[:_IN_HEADLINE])}: "
    )


def _unasked_pairs(result: Any, labels: Labels) -> list[str]:
    """State which pairs of questions a model assumes to be independent; empty if there are none."""
    pairs = _pairs(result.model_fit.unasked_pairs, labels)
    if not pairs:
        return []
    they = "they are" if len(pairs) == 1 else "each two are"
    sentence = (
        f"No report asks {'{} together' if len(pairs) == 1 else 'these together: {}'}."
        " The model assumes that "
        f"{they} independent given the other"
        " answers; the reports cannot show whether that is true. Where it is not, estimates that"
        " combine these questions are biased, and their intervals do not include this bias."
    )
    return [folded(sentence, pairs, "pairs of questions")]


def _pairs(pairs: Sequence[Sequence[str]], labels: Labels) -> list[str]:
    return [" and ".join(map(labels.quoted, pair)) for pair in pairs]


def contradicted(result: Any, labels: Labels = NAMES) -> list[str]:
    """Warn that the reports of some questions contradict the mechanism; empty if they do not."""
    if not result.contradictions:
        return []
    tables = [" and ".join(map(labels.quoted, each.attributes)) for each in result.contradictions]
    least = min(each.p_value for each in result.contradictions)
    p_value = f"p = {least:.2g}" if least >= _LEAST else f"p < {_LEAST:g}"
    return [
        f"No shares of answers explain the reports of {'; '.join(tables)} ({p_value}). If all"
        " reports were genuine, and drawn by the instructions, this would be said of at most 1 of"
        " 100 results. Estimates based on them cannot be used; the values shown are the closest"
        " possible shares, without intervals."
    ]


def contradicted_model(result: Any, labels: Labels = NAMES) -> str | None:
    """State that no estimate is usable, as the reports contradict the model; None if they do not.

    Estimates by the model keep their intervals, which are those of the closest model.
    """
    model = result.model_fit
    if model is None or not model.contradicted:
        return None
    lacking = (
        f": {_combined(model.clearest.attributes, labels)} is missing" if model.clearest else ""
    )
    return (
        f"The reports contradict the model behind these estimates (p = {model.p_value:.2g}"
        f"{lacking}), so none of them is usable and nothing is concluded from them."
    )


def assumptions(result: Any, labels: Labels = NAMES) -> list[str]:
    """Describe the model of a result, and contradictions between reports and assumptions."""
    design, model = contradicted(result, labels), result.model_fit
    if model is None:
        return design
    further = [*model.interactions, *model.added]
    besides = ", ".join(_combined(each.attributes, labels) for each in further)
    line = NO_INTERACTIONS
    line += f" besides {besides}" if further else ""
    if model.linear_pairs:
        line += ", and only a linear-by-linear term of {}"
    clearest = model.clearest
    if model.p_value is None:
        line += f"; this assumption was not tested, because {model.untested}"
    else:
        against = "contradict" if model.contradicted else "do not contradict"
        line += f"; the reports {against} this assumption (p = {model.p_value:.2g}"
        if clearest is not None:
            line += f"; strongest evidence: {_combined(clearest.attributes, labels)}"
        line += ")"
        if clearest is not None and model.contradicted:
            line += f". Try interactions = {','.join(clearest.attributes)}"
    line += "."
    if model.linear_pairs:
        line = folded(line, _pairs(model.linear_pairs, labels), "pairs of scales")
    lines = [*design, line, *_unasked_pairs(result, labels)]
    lines += [
        f"The interaction {_combined(each.attributes, labels)} was added because the reports speak"
        f" against the model without it (p = {each.p_value:.2g})."
        for each in model.added
    ]
    lines += [
        f"Without {_combined(each.attributes, labels)} the model would"
        f" {'not ' * (each.p_value >= CONTRADICTED)}be contradicted (p = {each.p_value:.2g})."
        for each in model.interactions
        if each.p_value is not None
    ]
    if not model.converged:
        lines.append("The fit of the model did not converge: do not rely on it.")
    return lines


def _combined(names: Sequence[str], labels: Labels) -> str:
    return ":".join(map(labels.quoted, names))


def basis(result: Any, labels: Labels = NAMES) -> list[str]:
    """Describe the population and the assumptions of a result: its domain and its model."""
    sentences, group = [], result.group
    if group is not None:
        size = number(group.people, 0)
        ends = [number(end, 0) for end in group.people_interval or ()]
        if ends and ends[0] != ends[1]:
            size += f" ({' to '.join(ends)})"
        sentences.append(
            f"Only people with {labels.quoted_items(group.items)}:"
            f" {share(group.share, group.interval)} ({share_interval(group.interval)}) of"
            f" everybody, about {size} of these reports."
        )
    if getattr(result.query, "missing", "keep") == "exclude":
        sentences.append(
            "Each table leaves out people with a missing answer to one of its questions."
        )
    people = getattr(result.query, "population", None)
    if people is not None:
        sentences.append(f"Finite population of {number(people, 0)} people.")
    return [*sentences, *assumptions(result, labels)]


def name_of_result(result: Any) -> str:
    """Name of the analysis of a result."""
    return type(result.query).__module__.rpartition(".")[2].replace("_", "-")


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format a table as plain text."""
    table = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def html_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format a table as HTML, with all texts escaped."""
    # Import here, since only notebooks need it.
    from html import escape

    def line(cells: Sequence[object], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(header, 'th')}</thead><tbody>{body}</tbody></table>"
