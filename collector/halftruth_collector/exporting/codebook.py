"""Codebook of weighted records."""

from collections.abc import Iterator

from halftruth_shared.analyses.microdata import MicrodataResult, Variable
from halftruth_shared.analyses.wording import number


def preamble(result: MicrodataResult) -> list[str]:
    """Origin and limits of weighted records, line by line."""
    terms = result.interactions
    lines = [
        f"Weighted records of the survey {result.survey} (digest {result.digest[:16]}).",
        "No row is a person. Each row is a combination of answers, and its weight the number of",
        "respondents who are estimated to give it. Everything is computed from",
        f"{result.reports} perturbed reports (counted by {result.as_of:%Y-%m-%d %H:%M} UTC), by a"
        " loglinear",
        f"model without interactions of {terms + 1} or more answers.",
    ]
    if result.query.margins:
        lines.append(f"Weighted to known margins of {', '.join(result.query.margins)}.")
    if result.drawn:
        lines += [
            "These rows stand for more combinations of answers than there are rows: exactly in",
            f"tables of {terms} questions, with an error of their own in everything else.",
        ]
    if not result.converged:
        lines.append("The fit of the model did not converge: errors are not reliable.")
    return lines


def codebook(result: MicrodataResult) -> str:
    """Variables, answers and weights of records, as text."""
    lines = [
        *preamble(result),
        "",
        "weight",
        f"  Estimated number of respondents; the sum is {number(result.sum_of_weights, 0)}.",
        f"rep1 to rep{result.replicates}",
        "  Replicate weights. The variance of a statistic is the sum of the squared differences",
        f"  between it and the same of each replicate weight, times {result.scale:g}. It holds the",
        "  error of perturbation and of sampling.",
        "record",
        "  What a row is.",
    ]
    for variable in result.variables:
        lines += _described(variable)
    return "\n".join(lines) + "\n"


def _described(variable: Variable) -> Iterator[str]:
    yield f"{variable.name}"
    yield f"  {variable.label}"
    midpoints = variable.midpoints or []
    for code, (category, label) in enumerate(
        zip(variable.categories, variable.labels, strict=True)
    ):
        parts = [category, *([f"shown as: {label}"] if label != category else [])]
        if category in variable.missing:
            parts.append("no answer")
        elif midpoints:
            parts.append(f"midpoint {midpoints[code]:g}")
        yield f"  {code:3}  {'; '.join(parts)}"
