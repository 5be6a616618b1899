"""What is changed in a survey file, one function each: from what stands in it to what will."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from fractions import Fraction

from halftruth_shared import ParameterError
from halftruth_shared.mechanisms import kinds
from halftruth_shared.privacy import amplification_for_breach, worst_case_posterior
from halftruth_shared.protection import PRIOR
from halftruth_shared.rational import format_rational, parse_rational

from .questions import (
    KINDS,
    by_language,
    fields_of,
    languages,
    names,
    questions,
    start,
    text_of,
    with_fields,
)
from .text import CHOSEN, MECHANISM, QUESTIONS, Data

#: Least and largest of the chances in percent that the slider of γ can be set to.
LEAST_CHANCE, MOST_CHANCE = 6, 99


def add(data: Data, kind: str, name: str = "") -> Data:
    """Another question of a kind, at the end.

    Raises
    ------
    ParameterError
        If there is no such kind.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind: expected one of: {', '.join(KINDS)}", field="kind")
    taken = names(data)
    free = next(f"question{n}" for n in range(len(taken) + 1, 2 * len(taken) + 2))
    free = free if free not in taken else f"{free}-new"
    return _with(data, [*questions(data), start(kind, name.strip() or free)])


def remove(data: Data, place: int) -> Data:
    """Without the question at a place, and without what others and the mechanism say of it."""
    left = [deepcopy(one) for k, one in enumerate(questions(data)) if k != place]
    gone = _attributes(questions(data)[place])
    return _referring(_with(data, left), lambda said: None if said in gone else said)


def move(data: Data, place: int, to: int) -> Data:
    """With a question at another place; one beyond the ends is that at the end."""
    found = list(questions(data))
    moved = found.pop(place)
    found.insert(min(max(to, 0), len(found)), moved)
    return _with(data, found)


def edit(data: Data, place: int, given: Mapping[str, Sequence[str]]) -> Data:
    """With other fields of a question; who names it calls it as it is called then."""
    found = list(questions(data))
    before = found[place]
    found[place] = after = with_fields(before, given, languages(data))
    changed = _with(data, found)
    old, new = _attributes(before), _attributes(after)
    if old == new or len(old) != len(new):
        return changed
    renamed = dict(zip(old, new, strict=True))
    return _referring(changed, lambda said: renamed.get(said, said))


def settings_of(data: Data) -> dict[str, list[str]]:
    """What a form has of the survey itself."""
    spoken = languages(data)
    mechanism = _mechanism(data)
    return {
        "id": [str(data.get("id", ""))],
        "languages": [" ".join(one for one in spoken if one)],
        "title": by_language(data.get("title", ""), spoken),
        "description": by_language(data.get("description", ""), spoken),
        "kind": [str(mechanism.get("kind", ""))],
        "gamma": [_gamma(data)],
        "chance": [str(chance(data) or "")],
        "max_length": [str(mechanism.get("max_length", ""))],
    }


def settle(data: Data, given: Mapping[str, Sequence[str]]) -> Data:
    """With other fields of the survey itself; those that are as they were stay as written."""
    before, spoken, changed = settings_of(data), languages(data), deepcopy(data)
    other = {
        name: [text.replace("\r\n", "\n").strip() for text in texts]
        for name, texts in given.items()
        if name in before and [t.strip() for t in texts] != [t.strip() for t in before[name]]
    }
    if "id" in other:
        changed["id"] = other["id"][0]
    for what in ("title", "description"):
        if what in other:
            changed[what] = text_of(other[what], spoken)
            if what == "description" and not changed[what]:
                del changed[what]
    if "languages" in other:
        named = other["languages"][0].replace(",", " ").split()
        changed["languages"] = named
        if not named:
            del changed["languages"]
    mechanism = dict(_mechanism(changed))
    if "kind" in other:
        mechanism = {"kind": other["kind"][0], **_promise(mechanism)}
        if not _shares_gamma(other["kind"][0]):
            mechanism = {"kind": other["kind"][0]}
    if "gamma" in other and other["gamma"][0]:
        _promised(mechanism, {"gamma": other["gamma"][0]})
    elif "chance" in other and other["chance"][0]:
        share = Fraction(int(other["chance"][0]), 100) if other["chance"][0].isdigit() else None
        if share is not None and PRIOR < share < 1:
            _promised(mechanism, {"breach": [_decimal(PRIOR), _decimal(share)]})
    if "max_length" in other:
        written = other["max_length"][0]
        mechanism = {k: v for k, v in mechanism.items() if k not in (*CHOSEN, "max_length")}
        if written:
            mechanism["max_length"] = int(written) if written.isdigit() else written
    if mechanism != _mechanism(changed):
        changed[MECHANISM] = mechanism
    return changed


def chance(data: Data) -> int | None:
    """How likely in percent a report can make what was 5 % likely, as far as the file says it."""
    try:
        gamma = _gamma(data)
        posterior = worst_case_posterior(PRIOR, parse_rational(gamma, "gamma"))
    except ParameterError:
        return None
    return min(max(round(posterior * 100), LEAST_CHANCE), MOST_CHANCE)


def place_of(data: Data, name: str) -> int:
    """Where a question stands, counted from 0.

    Raises
    ------
    ParameterError
        If there is no such question.
    """
    found = names(data)
    if name not in found:
        raise ParameterError(f"question: expected one of: {', '.join(found)}", field="question")
    return found.index(name)


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


def _promised(mechanism: Data, promise: Data) -> None:
    """Another promise of a mechanism, which may be kept in another way."""
    for key in ("gamma", "breach", "keep", *CHOSEN):
        mechanism.pop(key, None)
    mechanism.update(promise)


def _promise(mechanism: Data) -> Data:
    kept: Data = {key: mechanism[key] for key in ("gamma", "breach", "public") if key in mechanism}
    return kept if "gamma" in kept or "breach" in kept else {**kept, "gamma": "19"}


def _shares_gamma(kind: str) -> bool:
    """Whether a mechanism of this kind is said by its amplification."""
    found = [known for known in kinds() if known.kind == kind]
    return not found or "gamma" in found[0].written_as.__struct_fields__


def _mechanism(data: Data) -> Data:
    found = data.get(MECHANISM)
    return found if isinstance(found, dict) else {}


def _attributes(question: Data) -> list[str]:
    """What is perturbed of a question, by the names that mechanisms and conditions use."""
    name = str(question.get("name", ""))
    options = question.get("options")
    if not isinstance(options, list):
        return [name]
    return [f"{name}.{one['name']}" for one in options if isinstance(one, dict) and "name" in one]


def _referring(data: Data, named: Callable[[str], str | None]) -> Data:
    """With other names of attributes wherever they are named; None is not named any more."""
    changed = deepcopy(data)
    for question in questions(changed):
        _rekeyed(question, "ask_if", named)
    mechanism = _mechanism(changed)
    for key in ("keep", "matrices", "designs"):
        _rekeyed(mechanism, key, named)
    public = mechanism.get("public")
    if isinstance(public, list):
        said = [named(str(one)) for one in public]
        mechanism["public"] = [one for one in said if one is not None]
        if not mechanism["public"]:
            del mechanism["public"]
    return changed


def _rekeyed(owner: Data, key: str, named: Callable[[str], str | None]) -> None:
    found = owner.get(key)
    if not isinstance(found, dict):
        return
    pairs = [(named(name), value) for name, value in found.items()]
    owner[key] = {name: value for name, value in pairs if name is not None}
    if not owner[key]:
        del owner[key]


def _with(data: Data, found: list[Data]) -> Data:
    changed = deepcopy(data)
    changed[QUESTIONS] = deepcopy(found)
    if not found:
        del changed[QUESTIONS]
    return changed


def _decimal(share: Fraction) -> str:
    return f"{float(share):.2f}"


__all__ = [
    "LEAST_CHANCE",
    "MOST_CHANCE",
    "add",
    "chance",
    "edit",
    "fields_of",
    "move",
    "place_of",
    "remove",
    "settings_of",
    "settle",
]
