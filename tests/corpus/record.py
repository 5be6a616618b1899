"""Record what every analysis computes for a dozen surveys, and compare two recordings.

The numbers of one commit are recorded before a change, and compared with those after it:

    python tests/corpus/record.py record before.json.xz
    python tests/corpus/record.py compare before.json.xz

``compare`` computes the numbers of the working tree, or takes a second recording, and lists each
number that differs by more than 1e-9, each row that is new, and each row that is gone. Answers and
reports are drawn with fixed seeds, and the reports themselves are in the recording as a checksum.
"""

import argparse
import hashlib
import json
import lzma
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from halftruth_collector.analyses import ANALYSES, Counted
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.planning.planner import plan
from halftruth_shared import HalftruthError, Protection, Survey
from halftruth_shared.analyses.plan import PlanQuery

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import every_kind

Flat = dict[str, Any]

#: Largest difference, relative to 1 or to the number recorded.
TOLERANCE = 1e-9

#: Significant digits of a recorded number.
DIGITS = 13

#: Members that say what an element of a list is about.
IDENTITY = (
    "kind",
    "name",
    "survey",
    "wave",
    "attribute",
    "attributes",
    "category",
    "values",
    "items",
    "group",
    "against",
    "answer",
    "antecedent",
    "consequent",
    "row",
    "column",
    "of",
    "among",
    "first",
    "second",
    "percentile",
    "measure",
    "length",
    "question",
)

#: Rows of one list that are recorded.
MOST_ROWS = 60


# -- surveys ---------------------------------------------------------------------------------------

PEOPLE = """
id = "people{wave}"
title = "People"
{series}
[mechanism]
{mechanism}

[[attributes]]
name = "sex"
categories = ["female", "male"]
{public}

[[attributes]]
name = "age"
kind = "scale"
categories = ["young", "middle", "old"]
{public}

[[attributes]]
name = "smoker"
categories = ["no", "yes"]

[[attributes]]
name = "vote"
categories = ["left", "right", "none"]
{missing}
"""

KEEP = (
    'kind = "randomized-response"\nkeep = {sex = "0.9", age = "4/5", smoker = "5/6", vote = "0.8"}'
)
DICE = """kind = "distortion-matrices"
{by}
[mechanism.matrices]
sex = [["0.9", "0.2"], ["0.1", "0.8"]]
age = [["0.8", "0.1", "0.1"], ["0.1", "0.8", "0.1"], ["0.1", "0.1", "0.8"]]
{vote}
[mechanism.designs]
smoker = {{design = "forced-response", yes = "1/6", no = "1/6"}}
"""


def people(mechanism: str, **more: str) -> Survey:
    given = dict.fromkeys(("public", "missing", "series", "wave"), "") | more
    return Survey.from_toml(PEOPLE.format(mechanism=mechanism, **given))


def yes_no(mechanism: str, questions: int) -> Survey:
    asked = "".join(
        f'\n[[attributes]]\nname = "q{j}"\ncategories = ["no", "yes"]\n' for j in range(questions)
    )
    return Survey.from_toml(f'id = "items"\ntitle = "Items"\n[mechanism]\n{mechanism}\n{asked}')


def dependent_codes(survey: Survey, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return records whose answers depend on a hidden trait."""
    trait = rng.normal(size=count)
    columns = []
    for j, size in enumerate(survey.schema.shape):
        value = (0.4 + 0.5 * (j % 3)) * trait + rng.normal(size=count) + 0.3 * ((j % 4) - 1)
        cuts = np.linspace(-0.8, 1.1, size + 1)[1:-1]
        columns.append(np.searchsorted(cuts, value))
    return np.stack(columns, axis=1)


def every_kind_codes(survey: Survey, count: int, rng: np.random.Generator) -> np.ndarray:
    some = every_kind.people(min(count, 5_000), int(rng.integers(2**31)))
    codes = np.array([survey.schema.encode(record) for record in some])
    return codes if count <= 5_000 else rng.choice(codes, count)


@dataclass(frozen=True)
class Case:
    """A survey with as many reports of people whose answers `codes` draws."""

    name: str
    make: Callable[[], Survey]
    reports: int
    codes: Callable[[Survey, int, np.random.Generator], np.ndarray] = dependent_codes


SPLIT = 'kind = "split-questionnaire"\ngamma = "19"\nmax_length = {}\n'
MISSING = 'missing = ["none"]'
PUBLIC = "sensitive = false"

CASES = [
    Case(
        f"every kind, split, {count}",
        lambda: every_kind.survey(SPLIT.format(2)),
        count,
        every_kind_codes,
    )
    for count in (300, 5_000, 50_000)
]
CASES += [
    Case(
        "every kind, response, 5000",
        lambda: every_kind.survey('kind = "randomized-response"\ngamma = "1000000"'),
        5_000,
        every_kind_codes,
    ),
    Case(
        "every kind, diagonal, 50000",
        lambda: every_kind.survey('kind = "gamma-diagonal"\ngamma = "3999"'),
        50_000,
        every_kind_codes,
    ),
    Case("diagonal, 300", lambda: people('kind = "gamma-diagonal"\ngamma = "19"'), 300),
    Case(
        "randomized diagonal, missing, 5000",
        lambda: people(
            'kind = "randomized-gamma-diagonal"\ngamma = "19"\nalpha = "0.5"', missing=MISSING
        ),
        5_000,
    ),
    Case("response, 5000", lambda: people(KEEP), 5_000),
    Case(
        "response, public, missing, 300",
        lambda: people(
            KEEP.replace('"0.9"', '"1"').replace('"4/5"', '"1"'), public=PUBLIC, missing=MISSING
        ),
        300,
    ),
    Case(
        "dice, 5000",
        lambda: people(
            DICE.format(
                by="",
                vote='vote = [["0.7", "0.2", "0.1"], ["0.2", "0.7", "0.1"], ["0.1", "0.1", "0.8"]]',
            )
        ),
        5_000,
    ),
    Case(
        "dice by respondents, missing, 5000",
        lambda: people(
            DICE.format(
                by='randomized_by = "respondent"',
                vote='vote = [["0.8", "0.3", "0"], ["0.2", "0.7", "0"], ["0", "0", "1"]]',
            ),
            missing=MISSING,
        ),
        5_000,
    ),
    Case(
        "split, public, missing, 50000",
        lambda: people(SPLIT.format(2) + 'public = ["sex", "age"]', public=PUBLIC, missing=MISSING),
        50_000,
    ),
    Case("twelve questions, split, 5000", lambda: yes_no(SPLIT.format(2), 12), 5_000),
    Case(
        "eight questions, response, 50000",
        lambda: yes_no('kind = "randomized-response"\ngamma = "300"', 8),
        50_000,
    ),
]


def waves() -> list[Survey]:
    """Return three surveys of the same people."""
    series = '[series]\nid = "people"\nwave = {}\ntotal_gamma = "{}"\n'
    total = "999999"
    return [people(KEEP, wave=f"-{n}", series=series.format(n, total)) for n in (1, 2, 3)]


# -- reports ---------------------------------------------------------------------------------------

NOW = datetime(2026, 5, 9, tzinfo=UTC)


def perturbed(survey: Survey, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return reports, at commits before and after the type `Perturbation`."""
    if hasattr(survey, "perturbation"):
        return survey.perturbation.reports(codes, rng)
    return survey.perturbation.reports(codes, rng)


def counted(survey: Survey, reports: np.ndarray, **more: Any) -> Counted:
    return Counted(
        survey,
        Counts.from_reports(survey, reports),
        NOW,
        min_reports=1,
        days={date(2026, 5, 8): len(reports)},
        **more,
    )


# -- queries ---------------------------------------------------------------------------------------


def queries(survey: Survey) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of an analysis and a query, for the questions with the fewest answers."""
    few = sorted(survey.schema.attributes, key=lambda each: len(each.categories))
    first, second, third = few[:3]
    names = [first.name, second.name, third.name]
    many = few[-1]
    item = {first.name: first.categories[1]}
    group = {third.name: third.categories[0]}
    for estimate in ("moment", "likelihood", "model"):
        yield "overview", {"estimate": estimate}
        yield "table", {"attributes": names[:2], "estimate": estimate}
        yield "itemsets", {"min_support": 0.05, "max_length": 2, "estimate": estimate}
    for more in (
        {"target": "respondents"},
        {"population": 200_000},
        {"where": group},
        {"missing": "exclude"},
        {"confidence": 0.9, "where": group, "target": "respondents"},
    ):
        yield "overview", more
        yield "crosstab", {"attributes": names[:2], **more}
    yield "table", {"attributes": names, "covariance": True}
    yield "table", {"attributes": [many.name, first.name]}
    yield "crosstab", {"attributes": [many.name, first.name], "percentages": "column"}
    yield "crosstab", {"attributes": names, "covariance": True}
    for name in survey.schema.options:
        yield "crosstab", {"attributes": [name, first.name]}
        yield "comparison", {"answer": {f"{name}.pain": "yes"}, "groups": first.name}
        yield "itemsets", {"min_support": 0.1, "attribute": f"{name}.pain"}
    for effect in ("difference", "risk_ratio", "odds_ratio"):
        yield "comparison", {"answer": item, "groups": third.name, "effect": effect}
    yield "comparison", {"answer": item, "groups": many.name, "target": "respondents"}
    yield "comparison", {"answer": item, "groups": third.name, "estimate": "model"}
    yield "comparison", {"answer": item, "groups": second.name, "where": group}
    for each in survey.schema.attributes:
        if each.kind in ("number", "scale"):
            yield "distribution", {"attribute": each.name}
            yield "distribution", {"attribute": each.name, "groups": first.name}
            yield "comparison", {"answer": item, "groups": each.name, "trend": True}
    yield "measures", {}
    yield "measures", {"attributes": names[:2]}
    yield "measures", {"attributes": [many.name, first.name], "missing": "exclude"}
    yield "rules", {"min_confidence": 0.5, "min_support": 0.1}
    yield "rules", {"min_confidence": 0.3, "min_support": 0.1, "estimate": "model"}
    yield "rules", {"antecedent": {second.name: second.categories[0]}, "consequent": item}
    yield "itemsets", {"min_support": 0.02, "max_length": 3}
    yield "regression", {"outcome": first.name, "predictors": [second.name, third.name]}
    yield "regression", {"outcome": first.name, "predictors": names[1:], "estimate": "model"}
    yield "regression", {"outcome": first.name, "predictors": [many.name], "estimate": "moment"}
    for each in survey.schema.attributes:
        if each.kind in ("number", "scale"):
            yield (
                "regression",
                {
                    "outcome": each.name,
                    "predictors": [first.name],
                    "model": "linear",
                    "scores": {each.name: "ranks"},
                },
            )
    even = {name: round(1 / len(third.categories), 6) for name in third.categories}
    yield "weighted", {"margins": {third.name: even}}
    yield "weighted", {"margins": {third.name: even}, "attributes": [first.name], "missing": "keep"}
    yield "risk", {"quasi": names[:1], "sensitive": second.name}
    yield "risk", {"quasi": names[:2], "sensitive": third.name}
    yield "microdata", {"max_rows": 2_000}
    yield "counts", {}
    yield "waves", {"attributes": [first.name]}


# -- numbers ---------------------------------------------------------------------------------------


def asked(source: Counted, analysis: str, query: dict[str, Any]) -> Flat:
    """Return the result of a query, or the line that refuses it."""
    if analysis not in ANALYSES:
        return {}
    try:
        typed = msgspec.convert(query, ANALYSES[analysis].query)
        result = ANALYSES[analysis].compute(source, typed)
    except (HalftruthError, msgspec.ValidationError) as error:
        return {"refused": str(error)}
    return flat(msgspec.to_builtins(result))


def recorded(compute: Callable[[], Any]) -> Flat:
    """Return the numbers of what is computed from a survey alone."""
    try:
        return flat(msgspec.to_builtins(compute(), enc_hook=str))
    except HalftruthError as error:
        return {"refused": str(error)}


def flat(value: Any, path: str = "") -> Flat:
    """Return each number and text of a result by its path."""
    if isinstance(value, dict):
        found: Flat = {}
        for name, member in value.items():
            found |= flat(member, f"{path}.{name}" if path else str(name))
        return found
    if isinstance(value, list):
        return flat_list(value, path)
    if isinstance(value, float):
        return {path: float(f"{value:.{DIGITS}g}") if np.isfinite(value) else str(value)}
    return {path: value}


def flat_list(values: list[Any], path: str) -> Flat:
    found: Flat = {f"{path}#": len(values)}
    numbers: Counter[str] = Counter()
    for place, value in enumerate(values[:MOST_ROWS]):
        key = identity(value) if isinstance(value, dict) else str(place)
        numbers[key] += 1
        found |= flat(value, f"{path}[{key}{f'~{numbers[key]}' * (numbers[key] > 1)}]")
    return found


def identity(element: dict[str, Any]) -> str:
    members = [
        element[name] for name in IDENTITY if isinstance(element.get(name), str | int | list | dict)
    ]
    return ",".join(json.dumps(member, ensure_ascii=False) for member in members).replace('"', "")


def record(only: str = "") -> dict[str, Flat]:
    """Return everything by case and query."""
    everything: dict[str, Flat] = {}
    for case in CASES:
        if only not in case.name:
            continue
        print(f"{case.name} …", file=sys.stderr, flush=True)
        survey, rng = case.make(), np.random.default_rng(7)
        reports = perturbed(survey, case.codes(survey, case.reports, rng), rng)
        everything |= of_survey(case.name, survey)
        digest = hashlib.sha256(np.ascontiguousarray(reports, "<i8").tobytes()).hexdigest()
        everything[f"{case.name}: reports"] = {"sha256": digest}
        source = counted(survey, reports)
        for analysis, query in queries(survey):
            everything[f"{case.name}: {analysis} {json.dumps(query)}"] = asked(
                source, analysis, query
            )
    if only in "three waves":
        everything |= of_waves()
    return everything


def of_survey(name: str, survey: Survey) -> dict[str, Flat]:
    """Return what follows from a survey without reports."""
    query = PlanQuery(respondents=5_000, lengths=[1, 2])
    return {
        f"{name}: survey": {"digest": survey.digest},
        f"{name}: protection": recorded(lambda: Protection.of(survey)),
        f"{name}: plan": recorded(lambda: plan(survey, query)),
        f"{name}: audit": recorded(lambda: audit(survey, 5_000)),
    }


def of_waves() -> dict[str, Flat]:
    print("three waves …", file=sys.stderr, flush=True)
    surveys, rng, sources = waves(), np.random.default_rng(8), []
    codes = dependent_codes(surveys[0], 5_000, rng)
    for survey in surveys:
        codes = np.where(rng.random(codes.shape) < 0.1, codes[::-1], codes)
        reports = perturbed(survey, codes, rng)
        sources.append(counted(survey, reports, waves=lambda: sources))
    asked_of = [
        {},
        {"attributes": ["smoker"], "groups": "sex"},
        {"attributes": ["age"], "target": "respondents"},
        {"attributes": ["vote"], "where": {"sex": "male"}},
    ]
    return of_survey("three waves", surveys[-1]) | {
        f"three waves: waves {json.dumps(query)}": asked(sources[-1], "waves", query)
        for query in asked_of
    }


# -- comparison ------------------------------------------------------------------------------------


def differs(before: Any, after: Any) -> bool:
    if isinstance(before, bool) or isinstance(after, bool):
        return before is not after
    if isinstance(before, int | float) and isinstance(after, int | float):
        return abs(before - after) > TOLERANCE * max(1.0, abs(before))
    return bool(before != after)


def compare(before: dict[str, Flat], after: dict[str, Flat], most: int) -> int:
    """Print all differences, at most so many of each query, and return their number."""
    total = 0
    for query in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(query, {}), after.get(query, {})
        lines = [
            f"  {path}: {old[path]!r} → {new[path]!r}"
            for path in old
            if path in new and differs(old[path], new[path])
        ]
        lines += [f"  gone  {path} = {old[path]!r}" for path in old if path not in new]
        lines += [f"  new   {path} = {new[path]!r}" for path in new if path not in old]
        if lines:
            print(query, *lines[:most], sep="\n")
            if len(lines) > most:
                print(f"  … and {len(lines) - most} more")
        total += len(lines)
    print(f"{total} differences in {len(before)} queries, {sum(map(len, before.values()))} values")
    return total


def read(path: Path) -> dict[str, Flat]:
    return dict(json.loads(lzma.decompress(path.read_bytes())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("record", help="write what this commit computes")
    comparing = commands.add_parser("compare", help="compare with a recording")
    for command in (writing, comparing):
        command.add_argument("recording", type=Path)
        command.add_argument("--only", default="", help="surveys with this in their name")
    comparing.add_argument("after", type=Path, nargs="?", help="another one; default: this commit")
    comparing.add_argument("--most", type=int, default=20, help="differences shown of each query")
    arguments = parser.parse_args()
    if arguments.command == "record":
        text = json.dumps(record(arguments.only), ensure_ascii=False, separators=(",", ":"))
        arguments.recording.write_bytes(lzma.compress(text.encode(), preset=9))
        return 0
    before = read(arguments.recording)
    if arguments.only:
        before = {name: each for name, each in before.items() if name.startswith(arguments.only)}
    after = read(arguments.after) if arguments.after else record(arguments.only)
    return int(compare(before, after, arguments.most) > 0)


if __name__ == "__main__":
    sys.exit(main())
