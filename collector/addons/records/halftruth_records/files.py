"""Export of weighted records to CSV and Parquet, with a codebook and scripts for R and Python."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from string import Template
from textwrap import wrap

from halftruth_collector.analyses.tabular import harmless, to_csv, to_parquet
from halftruth_shared.analyses.microdata import MicrodataResult, Variable
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results.showing import assumptions
from halftruth_shared.results.wording import number


def describe_provenance(result: MicrodataResult) -> list[str]:
    """Describe the origin and limits of weighted records, as lines of text."""
    terms = result.interactions
    lines = [
        f"Weighted records of the survey {result.survey} (digest {result.digest[:16]}).",
        "No row is a person. Each row is a combination of answers; its weight is the estimated",
        "number of respondents who give it. Everything is computed from",
        f"{result.reports} perturbed reports (counted by {result.as_of:%Y-%m-%d %H:%M} UTC), by a"
        " loglinear",
        f"model without interactions of {terms + 1} or more answers.",
    ]
    for sentence in assumptions(result):
        lines += wrap(sentence, 90)
    lines += [
        f"Interactions of {terms + 1} or more answers are assumed to be 0 in these records.",
        "Not for quantiles: replicate weights give no valid errors of medians and percentiles.",
        "Tests of independence: use the Rao-Scott tests of R's svychisq (its default), not its",
        "Wald test, which rejects independence too often.",
    ]
    if result.query.margins:
        lines.append(f"Weighted to known margins of {', '.join(result.query.margins)}.")
    if result.drawn:
        lines += [
            f"These rows represent more combinations of answers. Tables of {terms} questions are",
            "exact; other statistics have an additional error that the replicate weights lack.",
        ]
    if not result.converged:
        lines.append("The fit of the model did not converge: errors are not reliable.")
    return lines


def make_codebook(result: MicrodataResult) -> str:
    """Describe the variables, answers and weights of records, as text."""
    lines = [
        *describe_provenance(result),
        "",
        "weight",
        f"  Estimated number of respondents; the sum is {number(result.estimates.value.sum(), 0)}.",
        f"rep1 to rep{len(result.replicates)}",
        "  Replicate weights. The variance of a statistic is the sum of the squared differences",
        f"  between its value and its replicates, times {result.scale:g}. It includes the error of",
        "  perturbation and of sampling.",
        "record",
        "  Reminder that a row is not a person.",
    ]
    for variable in result.variables:
        check_deadline()
        lines += _describe_variable(variable)
    return "\n".join(lines) + "\n"


def _describe_variable(variable: Variable) -> Iterator[str]:
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


_R = Template("""\
$about
library(survey)

records <- $read
$prepare
design <- svrepdesign(
  data = records, weights = ~weight, repweights = "^rep[0-9]+$$", type = "other",
  scale = $scale, rscales = rep(1, $replicates), mse = TRUE, combined.weights = TRUE
)
$answered
print(svymean(~$outcome, design))
print(svytable(~$outcome + $group, design))
print(svyby(~$outcome, ~$group, design, svymean))
model <- svyglm(I($outcome == $level) ~ $predictors, design, family = quasibinomial())
print(summary(model, df.resid = Inf))
""")

_PYTHON = Template('''\
$about
import numpy as np
import pandas as pd
import statsmodels.api as sm

records = $read
$prepare
replicates = [name for name in records if name.startswith("rep") and name[3:].isdigit()]
$answered


def estimate(statistic):
    """Return a statistic of a column of weights with its standard errors."""
    value = statistic(records["weight"])
    changes = np.array([statistic(records[name]) - value for name in replicates])
    error = np.sqrt($scale * (changes**2).sum(axis=0))
    return pd.DataFrame({"value": value, "standard_error": error})


def shares(weight):
    return weight.groupby(records["$outcome"], observed=True).sum() / weight.sum()


def coefficients(weight):
    return sm.GLM(present, design, sm.families.Binomial(), freq_weights=weight).fit().params


answers = pd.get_dummies(records[$columns], drop_first=True, dtype=float)
design, present = sm.add_constant(answers), (records["$outcome"] == $level).astype(float)
print(estimate(shares))
print(estimate(coefficients))
''')

#: Expressions of R and Python that read each format.
_READ_R = {
    ".csv": "read.csv({}, check.names = FALSE, na.strings = character())",
    ".parquet": "as.data.frame(arrow::read_parquet({}))",
}
_READ_PYTHON = {
    ".csv": "pd.read_csv({}, keep_default_na=False)",
    ".parquet": "pd.read_parquet({})",
}


def make_scripts(result: MicrodataResult, file: str) -> Iterator[tuple[str, str]]:
    """Yield the suffix and the text of each script that reads a file."""
    suffix, levels = Path(file).suffix, _levels(result, file)
    outcome, *predictors = sorted(result.variables, key=lambda v: len(v.categories))[:3]
    names = [variable.name for variable in predictors] or [outcome.name]
    code = [category not in outcome.missing for category in outcome.categories].index(True)
    # For two answers, such as no and yes, the second one is usually of interest.
    code += len(outcome.categories) - len(outcome.missing) == 2
    common = {
        "scale": f"{result.scale:g}",
        "replicates": str(len(result.replicates)),
        "outcome": outcome.name,
        "level": json.dumps(levels[outcome.name][code], ensure_ascii=False),
        "group": names[0],
        "columns": json.dumps(names),
    }
    quoted = json.dumps(file, ensure_ascii=False)

    def script(template: Template, mark: str, **more: str) -> str:
        about = "\n".join(f"{mark} {line}" for line in describe_provenance(result))
        return template.substitute(common, about=about, **more)

    yield (
        ".R",
        script(
            _R,
            "#",
            read=_READ_R[suffix].format(quoted),
            prepare=_join_lines(result.variables, lambda v: _prepare_in_r(v, levels[v.name])),
            answered=_join_lines(
                result.variables, lambda v: _exclude_missing_in_r(v, levels[v.name])
            ),
            predictors=" + ".join(names),
        ),
    )
    yield (
        ".py",
        script(
            _PYTHON,
            "#",
            read=_READ_PYTHON[suffix].format(quoted),
            prepare=_join_lines(result.variables, lambda v: _prepare_in_python(v, levels[v.name])),
            answered=_join_lines(
                result.variables, lambda v: _exclude_missing_in_python(v, levels[v.name])
            ),
        ),
    )


def _levels(result: MicrodataResult, file: str) -> dict[str, list[str]]:
    """Return the answers as they appear in the cells of a file, by variable."""
    spreadsheet = Path(file).suffix == ".csv"
    return {
        variable.name: [str(harmless(c)) if spreadsheet else c for c in variable.categories]
        for variable in result.variables
    }


def _join_lines(variables: Sequence[Variable], lines: Callable[[Variable], list[str]]) -> str:
    return "\n".join(line for variable in variables for line in lines(variable))


def _join_levels(levels: Sequence[str]) -> str:
    return ", ".join(json.dumps(level, ensure_ascii=False) for level in levels)


def _missing(variable: Variable, levels: Sequence[str]) -> str:
    pairs = zip(variable.categories, levels, strict=True)
    return _join_levels([level for category, level in pairs if category in variable.missing])


def _prepare_in_r(variable: Variable, levels: Sequence[str]) -> list[str]:
    own = f"records${variable.name}"
    lines = [f"{own} <- factor({own}, levels = c({_join_levels(levels)}))"]
    if variable.midpoints:
        numbers = ", ".join(f"{middle:g}" for middle in variable.midpoints)
        lines.append(f"{own}_number <- c({numbers})[as.integer({own})]")
    return lines


def _exclude_missing_in_r(variable: Variable, levels: Sequence[str]) -> list[str]:
    gone = _missing(variable, levels)
    line = f"# Exclude missing answers: design <- subset(design, !({variable.name} %in% c({gone})))"
    return [line] if gone else []


def _prepare_in_python(variable: Variable, levels: Sequence[str]) -> list[str]:
    own = f'records["{variable.name}"]'
    lines = [f"{own} = pd.Categorical({own}, [{_join_levels(levels)}])"]
    if variable.midpoints:
        numbers = ", ".join(f"{middle:g}" for middle in variable.midpoints)
        named = f'records["{variable.name}_number"]'
        lines.append(f"{named} = {own}.cat.codes.map(dict(enumerate([{numbers}])))")
    return lines


def _exclude_missing_in_python(variable: Variable, levels: Sequence[str]) -> list[str]:
    gone = _missing(variable, levels)
    own = f'records["{variable.name}"]'
    return [f"# Exclude missing answers: records = records[~{own}.isin([{gone}])]"] if gone else []


def to_csv_files(result: MicrodataResult, name: str) -> dict[str, bytes]:
    """Return a CSV file of records, with its codebook and scripts for R and Python."""
    return _with_companions(result, name, to_csv(result, provenance=False).encode())


def to_parquet_files(result: MicrodataResult, name: str) -> dict[str, bytes]:
    """Return a Parquet file of records, with its codebook and scripts for R and Python."""
    return _with_companions(result, name, to_parquet(result, provenance=False))


def to_codebook(result: MicrodataResult, name: str) -> dict[str, bytes]:
    """Return the codebook alone."""
    return {name: make_codebook(result).encode()}


def _with_companions(result: MicrodataResult, name: str, records: bytes) -> dict[str, bytes]:
    stem = Path(name).stem
    texts = {f"{stem}-codebook.txt": make_codebook(result)}
    texts |= {f"{stem}{suffix}": text for suffix, text in make_scripts(result, name)}
    return {name: records, **{each: text.encode() for each, text in texts.items()}}
