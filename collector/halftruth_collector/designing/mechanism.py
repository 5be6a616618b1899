"""The mechanism as the fields of a form: one promise, or a design for each question."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from typing import Any

from halftruth_shared import ParameterError
from halftruth_shared.mechanisms import MECHANISMS
from halftruth_shared.mechanisms.designs import DESIGNS
from halftruth_shared.privacy import amplification_for_breach, worst_case_posterior
from halftruth_shared.protection import PRIOR
from halftruth_shared.rational import format_rational, parse_rational

from .questions import Fields, attributes, put, questions
from .text import CHOSEN, MECHANISM, Data, whole_number

#: Least and largest of the chances in percent that the slider of γ can be set to.
LEAST_CHANCE, MOST_CHANCE = 6, 99

#: The kind of which every question has a design or a matrix of its own.
BY_QUESTION = "distortion-matrices"

#: Tables with an entry for each attribute.
BY_ATTRIBUTE = ("keep", "matrices", "designs")

#: What stands for a matrix among the designs of a form.
MATRIX = "matrix"

#: The field that says of a design whether a report may prove an answer.
MAY_PROVE = "design-may_prove"

#: What a design begins with: an answer's amplification is 3, as that of the matrices below.
_STARTS = {
    "warner": {"p": "3/4"},
    "forced-response": {"yes": "1/4", "no": "1/4"},
    "unrelated-question": {"p": "1/2", "prevalence": "1/2"},
    "kuk": {"theta1": "3/4", "theta2": "1/4"},
    "crosswise": {"prevalence": "1/4"},
    "triangular": {"prevalence": "1/3"},
    "mangat": {"p": "2/3"},
}


def fields_of(data: Data) -> Fields:
    """Fields of a form for the mechanism."""
    mechanism = _mechanism(data)
    return {
        "kind": [str(mechanism.get("kind", ""))],
        "gamma": [_gamma(data)],
        "chance": [str(chance(data) or "")],
        "max_length": [str(mechanism.get("max_length", ""))],
        "alpha": [str(mechanism.get("alpha", ""))],
    }


def set_fields(data: Data, other: Mapping[str, Sequence[str]]) -> None:
    """Set fields of the mechanism; an exact γ counts before a chance."""
    mechanism = _mechanism(data)
    if "kind" in other:
        mechanism = _new_mechanism(other["kind"][0], mechanism)
    if "gamma" in other and other["gamma"][0]:
        _set_gamma(mechanism, {"gamma": other["gamma"][0]})
    elif "chance" in other and other["chance"][0]:
        # What is no percentage goes into the file, which then says what is expected.
        percent = whole_number(other["chance"][0])
        share = _decimal(Fraction(percent, 100)) if isinstance(percent, int) else percent
        _set_gamma(mechanism, {"breach": [_decimal(PRIOR), share]})
    if "max_length" in other:
        for key in CHOSEN:
            mechanism.pop(key, None)
        put(mechanism, "max_length", whole_number(other["max_length"][0]))
    if "alpha" in other:
        mechanism["alpha"] = other["alpha"][0]
    if mechanism:
        data[MECHANISM] = mechanism


def complete(data: Data) -> None:
    """Give every question a design or a matrix, where the mechanism takes these."""
    mechanism = _mechanism(data)
    if mechanism.get("kind") != BY_QUESTION:
        return
    for question in questions(data):
        for name, answers in attributes(question).items():
            design, matrix = _entry(mechanism, "designs", name), _entry(mechanism, "matrices", name)
            fits = design is not None and len(answers) == 2
            if not fits and not (isinstance(matrix, list) and len(matrix) == len(answers)):
                design = "warner" if len(answers) == 2 else MATRIX
                _assign_design(mechanism, name, design, answers)


def chance(data: Data) -> int | None:
    """Posterior in percent, at worst, of a prior of 5 %, as far as the file says it."""
    try:
        posterior = worst_case_posterior(PRIOR, parse_rational(_gamma(data), "gamma"))
    except ParameterError:
        return None
    return min(max(round(posterior * 100), LEAST_CHANCE), MOST_CHANCE)


def design_of(data: Data, place: int) -> Fields:
    """Fields of a form for the design of a question; none where it cannot have one.

    The options of a question with several answers have theirs in common: the first one's.
    """
    mechanism, categories = _mechanism(data), attributes(questions(data)[place])
    name, answers = next(iter(categories.items()), ("", ()))
    if mechanism.get("kind") != BY_QUESTION or len(answers) != 2:
        return {}
    written = _entry(mechanism, "designs", name)
    if not isinstance(written, dict) or written.get("design") not in DESIGNS:
        return {"design": [MATRIX]}
    kind = DESIGNS[written["design"]]
    fields = {f"design-{one}": [str(written.get(one, ""))] for one in kind.parameters}
    fields["design-answer"] = [str(written.get("answer", "yes"))]
    if _can_prove(written["design"]):
        fields[MAY_PROVE] = ["yes"] if "not_sensitive" in written else []
    return {"design": [str(written["design"])], **fields}


def set_design(data: Data, place: int, given: Mapping[str, Sequence[str]]) -> None:
    """Give a question another design, or other numbers of the one that it has."""
    before, mechanism = design_of(data, place), _mechanism(data)
    other = {
        name: list(texts)
        for name, texts in given.items()
        if name in before and list(texts) != before[name]
    }
    for name, answers in attributes(questions(data)[place]).items() if other else ():
        if "design" in other:
            _assign_design(mechanism, name, other["design"][0], answers)
        else:
            _update_design(mechanism["designs"][name], other, answers)


def rename_categories(data: Data, names: Sequence[str], renamed: Mapping[str, str | None]) -> None:
    """Rename categories of some attributes in the designs that name them."""
    for name in names:
        design = _entry(_mechanism(data), "designs", name)
        for key in ("answer", "not_sensitive") if isinstance(design, dict) else ():
            usual = "yes" if key == "answer" else None
            kept = renamed.get(design.get(key, usual))
            if kept is not None:
                design[key] = kept


def protect_alike(data: Data, like: Mapping[str, str]) -> None:
    """Give attributes the entries of others, from the name of each to that of its copy."""
    mechanism = _mechanism(data)
    for table in BY_ATTRIBUTE:
        for name, copy in like.items():
            if (entry := _entry(mechanism, table, name)) is not None:
                mechanism[table][copy] = deepcopy(entry)
    public = mechanism.get("public")
    if isinstance(public, list):
        mechanism["public"] = [*public, *[like[name] for name in public if name in like]]


def _can_prove(design: str) -> bool:
    """True if a report under a design can prove an answer, whatever its numbers."""
    numbers = {name: Fraction(number) for name, number in _STARTS[design].items()}
    return DESIGNS[design].reported(**numbers)[0] == 1


def _assign_design(mechanism: Data, name: str, design: str, answers: Sequence[str]) -> None:
    """Give an attribute a design, with the numbers that it begins with."""
    tables = {
        table: dict(written) if isinstance(written := mechanism.get(table), dict) else {}
        for table in ("designs", "matrices")
    }
    for members in tables.values():
        members.pop(name, None)
    if design in DESIGNS:
        named = {} if "yes" in answers else {"answer": answers[-1]}
        tables["designs"][name] = {"design": design, **_STARTS[design], **named}
    else:
        size = len(answers)
        kept, other = (format_rational(Fraction(k, size + 2), "matrices") for k in (3, 1))
        rows = [[kept if v == u else other for u in range(size)] for v in range(size)]
        tables["matrices"][name] = rows
    for table, members in tables.items():
        put(mechanism, table, members)


def _update_design(
    design: Data, other: Mapping[str, Sequence[str]], answers: Sequence[str]
) -> None:
    """Set numbers and answers of a design."""
    for field, texts in other.items():
        key = field.removeprefix("design-")
        if field != MAY_PROVE:
            design[key] = texts[0].strip()
    if design.get("answer") == "yes":
        del design["answer"]
    if MAY_PROVE in other or "not_sensitive" in design:
        ticked = other.get(MAY_PROVE, ["yes"])
        design.pop("not_sensitive", None)
        others = [answer for answer in answers if answer != design.get("answer", "yes")]
        if ticked and others:
            design["not_sensitive"] = others[0]


def _new_mechanism(kind: str, before: Data) -> Data:
    """A mechanism of another kind, with the promise of the one before."""
    known = next((known for known in MECHANISMS if known.kind == kind), None)
    if known is not None and "gamma" not in known.written_as.__struct_fields__:
        return {"kind": kind}
    promise: Data = {key: before[key] for key in ("gamma", "breach", "public") if key in before}
    if not {"gamma", "breach"} & promise.keys():
        promise["gamma"] = "19"
    alpha = {"alpha": "1/20"} if kind == "randomized-gamma-diagonal" else {}
    return {"kind": kind, **promise, **alpha}


def _gamma(data: Data) -> str:
    """The amplification as the file says it; blank where it does not."""
    mechanism = _mechanism(data)
    breach = mechanism.get("breach")
    if isinstance(breach, list) and len(breach) == 2:
        try:
            return format_rational(amplification_for_breach(*map(str, breach)), "gamma")
        except ParameterError:
            return ""
    return str(mechanism.get("gamma", ""))


def _set_gamma(mechanism: Data, promise: Data) -> None:
    """Set the promise of a mechanism, which may be kept in another way."""
    for key in ("gamma", "breach", "keep", *CHOSEN):
        mechanism.pop(key, None)
    mechanism.update(promise)


def _mechanism(data: Data) -> Data:
    table = data.get(MECHANISM)
    return table if isinstance(table, dict) else {}


def _entry(mechanism: Data, table: str, name: str) -> Any:
    """Entry of an attribute in a table of the mechanism, or None."""
    entries = mechanism.get(table)
    return entries.get(name) if isinstance(entries, dict) else None


def _decimal(share: Fraction) -> str:
    return f"{float(share):.2f}"
