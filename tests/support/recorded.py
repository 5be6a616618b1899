"""What every analysis computes on a dozen simulated surveys, recorded as data.

`tests/collector/analyses/test_recorded.py` computes the results again and compares them with the
files of `tests/collector/analyses/recorded/`. After an intended change, write the files anew and
list the change with its reason in `recorded/differences.md`:

    .venv/bin/python tests/support/recorded.py            # shows what differs
    .venv/bin/python tests/support/recorded.py --write    # writes the files anew
"""

import gzip
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import every_kind
import numpy as np
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.estimation import Counts
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    HalftruthError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    Series,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.reading import make
from sources import NOW

FOLDER = Path(__file__).parents[1] / "collector" / "analyses" / "recorded"

#: Relative difference of numbers that is rounding error, of closed forms and of iterations.
EXACT, ITERATED = 1e-9, 1e-6

#: Rows of a result that are recorded: the first ones, and others evenly spread.
_FIRST, _SPREAD = 8, 12

_NUMBERS = (
    "value",
    "standard_error",
    "standard_error_log",
    "lower",
    "upper",
    "gap_lower",
    "gap_upper",
    "perturbation_error",
    "sampling_error",
    "statistic",
    "p_value",
    "adjusted_p_value",
    "moved_by",
    "undone_by",
)
_TEXTS = ("quantity", "set", "reliability", "undefined")

Asked = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Recorded:
    """A simulated survey, and what is asked of it."""

    name: str
    survey: Callable[[], Survey]
    reports: int
    seed: int
    asked: Callable[[Survey], Iterator[Asked]]
    waves: int = 1

    @cached_property
    def source(self) -> AnalysisContext:
        """The reports of simulated people, whose answers depend on a latent class."""
        rng = np.random.default_rng(self.seed)
        survey, found = self.survey(), []
        for wave in range(1, self.waves + 1):
            if self.waves > 1:
                panel = {"id": "s", "total_gamma": 10**9, "origin": "https://a.test"}
                series = Series(wave=wave, **panel)
                survey = replace(survey, id=f"wave{wave}", series=series)
            codes = _people(survey.schema, self.reports, rng, 0.03 * wave)
            counts = Counts.from_reports(survey, survey.perturbation.reports(codes, rng))
            found.append(AnalysisContext(survey, counts, NOW, min_reports=1))
        return replace(found[-1], waves=lambda: found) if self.waves > 1 else found[0]

    def results(self) -> dict[str, Any]:
        """Return the recorded part of each result by query."""
        source, found = self.source, {}
        for name, values in self.asked(source.survey):
            label = f"{name} {json.dumps(values)}" if values else name
            found[label] = _result(source, name, values)
        return found


def _people(schema: Schema, count: int, rng: np.random.Generator, shift: float) -> np.ndarray:
    """Return the codes of answers of two latent classes, feasible under conditions."""
    kind = rng.random(count) < 0.4 + shift
    shares = np.random.default_rng(len(schema.shape))
    codes = np.empty((count, len(schema.shape)), dtype=np.int64)
    for j, size in enumerate(schema.shape):
        for each in (False, True):
            p = shares.dirichlet(np.full(size, 3.0))
            codes[kind == each, j] = rng.choice(size, int((kind == each).sum()), p=p)
    position = {name: j for j, name in enumerate(schema.names)}
    for j, attribute in enumerate(schema.attributes):
        if not attribute.ask_if:
            continue
        unasked = len(attribute.categories) - 1
        asked = np.ones(count, dtype=bool)
        for name, answers in attribute.ask_if.items():
            k = position[name]
            wanted = [schema.attributes[k].categories.index(answer) for answer in answers]
            asked &= np.isin(codes[:, k], wanted)
        codes[~asked, j] = unasked
        again = asked & (codes[:, j] == unasked)
        codes[again, j] = 0
    return codes


def _result(source: AnalysisContext, name: str, values: Mapping[str, Any]) -> Any:
    analysis = ANALYSES[name]
    try:
        result: Any = answer(analysis, source, make(analysis.query, values))
    except HalftruthError as error:
        return {"error": f"{type(error).__name__} {error}"}
    count = len(result.estimates)
    chosen = (
        sorted(
            {
                *range(min(count, _FIRST)),
                *np.linspace(0, max(count - 1, 0), _SPREAD, dtype=int).tolist(),
            }
        )
        if count
        else []
    )
    part = result.estimates.take(chosen)
    keys = [[key.text(row) for key in result.keys] for row in chosen]
    columns = {
        each: _numbers(part.numbers(each)) for each in _NUMBERS if getattr(part, each) is not None
    }
    columns |= {each: list(part.texts(each)) for each in _TEXTS if getattr(part, each) is not None}
    tests = [
        [t.name, *map(_number, (t.statistic, t.df, t.p_value)), t.hypotheses] for t in result.tests
    ]
    claims = [
        [c.kind, c.rows[:3], len(c.rows), c.direction, _number(c.bound), _sets(c)]
        for c in result.claims
    ]
    return {
        "rows": count,
        "keys": keys,
        "columns": columns,
        "tests": tests,
        "claims": claims,
        "model": None if result.model_fit is None else _number(result.model_fit.p_value),
        "contradictions": [each.attributes for each in result.contradictions],
    }


def _sets(claim: Any) -> list[Any]:
    return [[each.set, *_numbers(each.interval or ())] for each in claim.sets]


def _number(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None if value is None or math.isnan(value) else math.copysign(1e308, value)
    return float(f"{value:.12g}")


def _numbers(values: Any) -> list[float | None]:
    return [_number(value) for value in values]


# -- surveys and queries ---------------------------------------------------------------------------


def _schema(*sizes: int, public: int = 0) -> Schema:
    return Schema(
        [
            Attribute(
                f"q{j}", [f"a{i}" for i in range(size)], ordered=size > 3, sensitive=j >= public
            )
            for j, size in enumerate(sizes)
        ]
    )


def _simple(
    mechanism: Callable[[Schema], Any], *sizes: int, public: int = 0
) -> Callable[[], Survey]:
    def survey() -> Survey:
        schema = _schema(*sizes, public=public)
        return Survey("recorded", "Recorded", schema, mechanism(schema))

    return survey


def _keep(probability: str) -> Callable[[Schema], Any]:
    return lambda schema: RandomizedResponse(dict.fromkeys(schema.names, probability))


def _split(longest: int, public: tuple[str, ...] = ()) -> Callable[[Schema], Any]:
    lengths = dict.fromkeys(range(1, longest + 1), 1.0)
    return lambda schema: SplitQuestionnaire.designed(schema, 19, public, lengths)


def _drawn(_: Schema) -> Any:
    return RandomizedGammaDiagonal(19, "1/20")


def _dice(schema: Schema) -> Any:
    designs = {
        "q0": {"design": "forced-response", "answer": "a1", "yes": "1/6", "no": "1/6"},
        "q1": {"design": "unrelated-question", "answer": "a1", "p": "3/4", "prevalence": "1/4"},
    }
    matrix = [["4/5", "1/10", "0"], ["1/5", "4/5", "1/10"], ["0", "1/10", "9/10"]]
    return DistortionMatrices({"q2": matrix}, designs)


def _few(survey: Survey) -> Iterator[Asked]:
    """Ask every analysis of the first questions of a survey."""
    names = survey.schema.names
    last = {a.name: a.categories[-1] for a in survey.schema.attributes}
    longest = [a.name for a in survey.schema.attributes if a.ordered and len(a.categories) > 2]
    yield "overview", {}
    yield "counts", {}
    yield "table", {"attributes": [names[0]]}
    yield "table", {"attributes": list(names[:2])}
    yield "table", {"attributes": list(names[:3])}
    yield "table", {"attributes": list(names[:3]), "estimate": "model"}
    yield "table", {"attributes": [names[1]], "where": {names[0]: last[names[0]]}}
    for percentages in ("joint", "row"):
        yield "crosstab", {"attributes": list(names[:2]), "percentages": percentages}
    for effect in ("difference", "risk_ratio", "odds_ratio"):
        yield (
            "comparison",
            {
                "answer": {names[0]: last[names[0]]},
                "groups": names[1],
                "effect": effect,
                "trend": effect == "difference",
            },
        )
    yield "itemsets", {"min_support": 0.05, "max_length": 2}
    yield "rules", {"min_support": 0.02, "min_confidence": 0.1, "max_length": 2}
    yield "measures", {"attributes": list(names[:2])}
    yield "regression", {"outcome": names[0], "predictors": [names[1]]}
    yield "regression", {"outcome": names[0], "predictors": list(names[1:3]), "estimate": "model"}
    margin = {
        answer: 1 / len(survey.schema.attributes[1].categories)
        for answer in survey.schema.attributes[1].categories
    }
    yield "weighted", {"margins": {names[1]: margin}, "attributes": [names[0]]}
    if longest:
        yield "distribution", {"attribute": longest[0]}
        others = [name for name in names if name != longest[0]]
        yield "distribution", {"attribute": longest[0], "groups": others[0]}


def _of_many(survey: Survey) -> Iterator[Asked]:
    """Ask a survey of many questions, without what fits a model of a few of them for seconds."""
    for name, values in _few(survey):
        if name != "regression" and len(values.get("attributes", ())) < 3:
            yield name, values


def _all(survey: Survey) -> Iterator[Asked]:
    """Ask also the analyses of all questions, and those of one model."""
    names = survey.schema.names
    yield from _few(survey)
    yield "measures", {}
    yield "itemsets", {"min_support": 0.1, "estimate": "model", "max_length": 2}
    yield "risk", {"quasi": [names[1]], "sensitive": names[0]}
    yield (
        "regression",
        {
            "outcome": names[0],
            "predictors": [names[1]],
            "model": "linear",
            "scores": _scores(survey, names[0]),
        },
    )


def _scores(survey: Survey, name: str) -> dict[str, str]:
    attribute = next(a for a in survey.schema.attributes if a.name == name)
    return {name: ",".join(str(i) for i in range(len(attribute.categories)))}


def _of_waves(survey: Survey) -> Iterator[Asked]:
    names = survey.schema.names
    yield "waves", {"attributes": list(names[:2])}
    yield "waves", {"attributes": [names[0]], "groups": names[1]}


def _every_kind(survey: Survey) -> Iterator[Asked]:
    """Ask about questions with conditions, missing answers, several answers and numbers."""
    yield "overview", {}
    yield "overview", {"missing": "exclude"}
    yield "table", {"attributes": ["drinks", "smoker"], "missing": "exclude"}
    yield "table", {"attributes": ["drinks"], "merge": {"drinks": [["weekly", "daily"]]}}
    yield "crosstab", {"attributes": ["smoker", "drinks"], "percentages": "row"}
    yield "crosstab", {"attributes": ["symptoms", "smoker"], "percentages": "column"}
    yield "comparison", {"answer": {"smoker": "yes"}, "groups": "drinks"}
    yield (
        "comparison",
        {"answer": {"symptoms.cough": "yes"}, "groups": "smoker", "target": "respondents"},
    )
    yield "distribution", {"attribute": "sleep"}
    yield "distribution", {"attribute": "content", "groups": "smoker"}
    yield "distribution", {"attribute": "cigarettes"}
    yield "itemsets", {"min_support": 0.1, "max_length": 2}
    yield "rules", {"min_support": 0.05, "min_confidence": 0.1, "max_length": 2}
    yield "measures", {"attributes": ["smoker", "symptoms.cough"]}
    yield "measures", {}
    yield "regression", {"outcome": "smoker", "predictors": ["drinks"]}
    yield "regression", {"outcome": "smoker", "predictors": ["symptoms.cough", "symptoms.pain"]}
    yield "weighted", {"margins": {"smoker": {"no": 0.5, "yes": 0.5}}, "attributes": ["drinks"]}
    yield "table", {"attributes": ["drinks", "smoker", "symptoms.cough"]}
    yield "table", {"attributes": ["drinks"], "population": 60000}


_KEPT = "\n".join(
    ['kind = "randomized-response"', "[mechanism.keep]"]
    + [f'"{name}" = "0.8"' for name in every_kind.CATEGORIES]
)

SURVEYS = (
    Recorded("kept-300", _simple(_keep("0.8"), 2, 3, 4), 300, 1, _all),
    Recorded("kept-5000", _simple(_keep("0.7"), 3, 2, 5, 2), 5_000, 2, _all),
    Recorded("kept-60-questions", _simple(_keep("0.8"), *[2, 3, 4] * 20), 5_000, 3, _few),
    Recorded("whole-5000", _simple(lambda _: GammaDiagonal(19), 2, 3, 4, 2), 5_000, 4, _all),
    Recorded(
        "drawn-5000",
        _simple(lambda _: RandomizedGammaDiagonal(19, "1/20"), 3, 3, 2),
        5_000,
        5,
        _all,
    ),
    Recorded("dice-300", _simple(_dice, 2, 2, 3), 300, 6, _all),
    Recorded("pairs-300", _simple(_split(2), 2, 3, 4, 2, 5), 300, 7, _few),
    Recorded("pairs-5000", _simple(_split(2), 2, 3, 4, 2, 5), 5_000, 8, _all),
    Recorded("triples-50000", _simple(_split(3), 2, 3, 3, 2), 50_000, 9, _all),
    Recorded("pairs-41-questions", _simple(_split(2), *[2] * 41), 50_000, 10, _of_many),
    Recorded("public-5000", _simple(_split(2, ("q0",)), 3, 3, 2, 4, public=1), 5_000, 11, _few),
    Recorded("waves-5000", _simple(_keep("0.8"), 3, 2, 2), 5_000, 12, _of_waves, waves=3),
    Recorded("every-kind-pairs-5000", every_kind.survey, 5_000, 13, _every_kind),
    Recorded("every-kind-kept-50000", lambda: every_kind.survey(_KEPT), 50_000, 14, _every_kind),
)


# -- comparison ------------------------------------------------------------------------------------


def path_of(name: str) -> Path:
    """Return the file of a survey."""
    return FOLDER / f"{name}.json.gz"


def read(name: str) -> dict[str, Any]:
    """Return the recorded results of a survey."""
    with gzip.open(path_of(name), "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def write(name: str, results: Mapping[str, Any]) -> None:
    """Write the results of a survey; equal results give equal files."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(results, ensure_ascii=False, separators=(",", ":"))
    path_of(name).write_bytes(gzip.compress(text.encode(), mtime=0))


def differences(before: Any, after: Any, path: str, tolerance: float) -> Iterator[str]:
    """Yield each place at which two recorded results differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            if key not in before or key not in after:
                yield f"{path} › {key}: only {'after' if key in after else 'before'}"
            else:
                yield from differences(before[key], after[key], f"{path} › {key}", tolerance)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{path} {place}", tolerance)
    elif isinstance(before, float | int) and isinstance(after, float | int):
        if not math.isclose(before, after, rel_tol=tolerance, abs_tol=1e-12):
            yield f"{path}: {before} → {after}"
    elif before != after:
        yield f"{path}: {before} → {after}"


def compare(each: Recorded) -> list[str]:
    """Return the differences of a survey's results from the recorded ones."""
    recorded, now = read(each.name), each.results()
    found = []
    for label in recorded.keys() | now.keys():
        old, new = recorded.get(label), now.get(label)
        iterated = "model" in label or bool(old and old.get("model") is not None)
        tolerance = ITERATED if iterated else EXACT
        found += differences(old, new, f"{each.name}: {label}", tolerance)
    return sorted(found)


if __name__ == "__main__":
    for _each in SURVEYS:
        if "--write" in sys.argv:
            write(_each.name, _each.results())
        for _line in compare(_each) if path_of(_each.name).exists() else ["not recorded"]:
            print(_line)
