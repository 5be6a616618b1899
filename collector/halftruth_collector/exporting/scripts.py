"""Scripts that read weighted records: for R's package survey and for Python."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from string import Template

from halftruth_shared.analyses.microdata import MicrodataResult, Variable

from ..analyses.tabular import harmless
from .codebook import preamble

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

#: How R and Python read each format.
_READ_R = {
    ".csv": "read.csv({}, check.names = FALSE, na.strings = character())",
    ".parquet": "as.data.frame(arrow::read_parquet({}))",
}
_READ_PYTHON = {
    ".csv": "pd.read_csv({}, keep_default_na=False)",
    ".parquet": "pd.read_parquet({})",
}


def scripts(result: MicrodataResult, file: str) -> Iterator[tuple[str, str]]:
    """Yield the end of the name, and the text, of each script that reads a file."""
    suffix, levels = Path(file).suffix, _levels(result, file)
    outcome, *predictors = sorted(result.variables, key=lambda v: len(v.categories))[:3]
    names = [variable.name for variable in predictors] or [outcome.name]
    code = [category not in outcome.missing for category in outcome.categories].index(True)
    # Of two answers the second is the one that is usually asked about.
    code += len(outcome.categories) - len(outcome.missing) == 2
    common = {
        "scale": f"{result.scale:g}",
        "replicates": str(result.replicates),
        "outcome": outcome.name,
        "level": json.dumps(levels[outcome.name][code], ensure_ascii=False),
        "group": names[0],
        "columns": json.dumps(names),
    }
    quoted = json.dumps(file, ensure_ascii=False)

    def script(template: Template, mark: str, **more: str) -> str:
        about = "\n".join(f"{mark} {line}" for line in preamble(result))
        return template.substitute(common, about=about, **more)

    yield (
        ".R",
        script(
            _R,
            "#",
            read=_READ_R[suffix].format(quoted),
            prepare=_for_each(result.variables, lambda v: _prepared_in_r(v, levels[v.name])),
            answered=_for_each(result.variables, lambda v: _answered_in_r(v, levels[v.name])),
            predictors=" + ".join(names),
        ),
    )
    yield (
        ".py",
        script(
            _PYTHON,
            "#",
            read=_READ_PYTHON[suffix].format(quoted),
            prepare=_for_each(result.variables, lambda v: _prepared_in_python(v, levels[v.name])),
            answered=_for_each(result.variables, lambda v: _answered_in_python(v, levels[v.name])),
        ),
    )


def _levels(result: MicrodataResult, file: str) -> dict[str, list[str]]:
    """Answers as the cells of a file have them, by variable."""
    spreadsheet = Path(file).suffix == ".csv"
    return {
        variable.name: [str(harmless(c)) if spreadsheet else c for c in variable.categories]
        for variable in result.variables
    }


def _for_each(variables: Sequence[Variable], lines: Callable[[Variable], list[str]]) -> str:
    return "\n".join(line for variable in variables for line in lines(variable))


def _listed(levels: Sequence[str]) -> str:
    return ", ".join(json.dumps(level, ensure_ascii=False) for level in levels)


def _missing(variable: Variable, levels: Sequence[str]) -> str:
    pairs = zip(variable.categories, levels, strict=True)
    return _listed([level for category, level in pairs if category in variable.missing])


def _prepared_in_r(variable: Variable, levels: Sequence[str]) -> list[str]:
    own = f"records${variable.name}"
    lines = [f"{own} <- factor({own}, levels = c({_listed(levels)}))"]
    if variable.midpoints:
        numbers = ", ".join(f"{middle:g}" for middle in variable.midpoints)
        lines.append(f"{own}_number <- c({numbers})[as.integer({own})]")
    return lines


def _answered_in_r(variable: Variable, levels: Sequence[str]) -> list[str]:
    gone = _missing(variable, levels)
    line = f"# Those who answered: design <- subset(design, !({variable.name} %in% c({gone})))"
    return [line] if gone else []


def _prepared_in_python(variable: Variable, levels: Sequence[str]) -> list[str]:
    own = f'records["{variable.name}"]'
    lines = [f"{own} = pd.Categorical({own}, [{_listed(levels)}])"]
    if variable.midpoints:
        numbers = ", ".join(f"{middle:g}" for middle in variable.midpoints)
        named = f'records["{variable.name}_number"]'
        lines.append(f"{named} = {own}.cat.codes.map(dict(enumerate([{numbers}])))")
    return lines


def _answered_in_python(variable: Variable, levels: Sequence[str]) -> list[str]:
    gone = _missing(variable, levels)
    own = f'records["{variable.name}"]'
    return [f"# Those who answered: records = records[~{own}.isin([{gone}])]"] if gone else []
