"""Draft of a survey from a table of true records, such as a CSV file of an earlier survey.

The answers are read to find categories and ranges. No message contains an answer; the survey file
contains the frequent answers as categories, and rounded ranges of numbers.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO
from itertools import pairwise, repeat
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import msgspec
from halftruth_shared import HalftruthError, ParameterError, RecordError, Survey
from halftruth_shared.documents import AttributeDocument
from halftruth_shared.errors import listing
from halftruth_shared.number import NumberRange, parse_number
from halftruth_shared.rational import format_rational

from ..survey_file import write
from .choices import make_name

#: Cells without an answer.
_MISSING = frozenset(
    ["", "?", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "#N/A", "#NA"]
)

#: Column with the number of people that a line represents, as in a pilot.
_COUNT = "count"
_PEOPLE = re.compile(r"\d{1,15}", re.ASCII)

#: Category of merged rare answers.
OTHER = "other"

#: Smallest share of a category, and largest numbers of categories without and with an order.
_RARE, _MOST, _MOST_ORDERED = Fraction(1, 100), 12, 20

#: Largest number of different whole numbers that are categories, not bins.
_MOST_VALUES = 10

#: Bound on the terms of numbers.
_LARGE = 10**14

#: Number of bins that is aimed at, and the smallest share of lines in one bin that is noted.
_BINS, _CROWDED = 6.4, Fraction(4, 5)

#: Smallest share of dates among the answers of a column with dates.
_DATES = Fraction(9, 10)

#: Smallest share of different answers among all answers of identifiers.
_DIFFERENT = Fraction(19, 20)

#: Longest answer, and mean length of answers from which they are free text.
_LONGEST, _MEAN_LENGTH = 256, 40

#: Yes/no answers in lower case, and the pairs that a form shows as no and yes.
_PAIRS = (("no", "yes"), ("nein", "ja"), ("non", "oui"), ("no", "sí"), ("no", "si"))
_SHOWN_PAIRS = (("false", "true"), ("f", "t"), ("n", "y"))

#: Answers in a known order, in lower case.
_SCALES = (
    "never;very rarely;rarely;seldom;occasionally;sometimes;often;frequently;usually;very often;"
    "always",
    "never;less than yearly;yearly;monthly;weekly;daily;several times a day",
    "none;very low;low;medium;moderate;high;very high",
    "not at all;a little;slightly;somewhat;moderately;quite;very;very much;extremely",
    "strongly disagree;disagree;somewhat disagree;neutral;neither;neither agree nor disagree;"
    "somewhat agree;agree;strongly agree",
    "very dissatisfied;dissatisfied;neutral;satisfied;very satisfied",
    "very unlikely;unlikely;neutral;likely;very likely",
    "very bad;very poor;bad;poor;fair;average;good;very good;excellent",
    "extra small;small;medium;large;extra large",
)
_RANKS = [{word: rank for rank, word in enumerate(scale.split(";"))} for scale in _SCALES]

#: A range or class of numbers, such as "20 to 29", "<5" or "65+".
_CLASS = re.compile(
    r"(?P<below>(?:<|≤|under|below|less than|up to|at most)=?)?"
    r"(?:(?:>|≥|over|above|more than|at least)=?)?\s*"
    r"(?P<number>(?:0|[1-9]\d*)(?:\.\d+)?)(?![\d.])",
    re.IGNORECASE | re.ASCII,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})", re.ASCII)
_DATE = re.compile(
    r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2}))"
    r"(?:[T ,].*)?|\d{1,2}:\d{2}(?::\d{2}.*)?",
    re.ASCII,
)
_LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(?:,\d+)?", re.ASCII)
_IDENTIFIER = re.compile(
    r"(?:^|[^a-z])(?:id|ids|key|uuid|guid|nr|no|number|index|row|case|phone|ssn|zip|code)(?:$|[^a-z])"
)


class _Left(NamedTuple):
    """Reason why a column is left out."""

    why: str


class _Asked(NamedTuple):
    """Members of a question, the category of each answer, and notes.

    Answers that `categories` lacks are unchanged.
    """

    members: Mapping[str, Any]
    categories: Mapping[str, str] = {}
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Column:
    """Column of the table that is a question.

    Parameters
    ----------
    header : str
        Its name in the table.
    name : str
        The name of the attribute.
    written : mapping of str to str
        What records of the survey have instead of each cell.
    is_unchanged : bool
        Whether the cells can be read as records of the survey without this mapping.
    """

    header: str
    name: str
    written: Mapping[str, str]
    is_unchanged: bool


@dataclass(frozen=True)
class DraftedSurvey:
    """Survey made from a table of records.

    Parameters
    ----------
    text : str
        The survey as a TOML file, with comments.
    survey : Survey
        The survey, parsed from `text`.
    notes : tuple of str
        Sentences about columns that are left out or changed, without answers.
    changed : tuple of str
        Columns that other commands cannot read from the table as they can from `records`.
    """

    text: str
    survey: Survey
    notes: tuple[str, ...]
    changed: tuple[str, ...]
    _columns: tuple[Column, ...]
    _cells: tuple[Sequence[str], ...]

    def records(self) -> str:
        """Return the true records as CSV, with the names and categories of the survey."""
        file = StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in self._columns])
        written = [column.written for column in self._columns]
        for row in zip(*self._cells, strict=True):
            writer.writerow([to[cell] for to, cell in zip(written, row, strict=True)])
        return file.getvalue()


def draft_from_records(
    file: str,
    id: str | None = None,
    title: str | None = None,
    gamma: str = "19",
    public: Sequence[str] = (),
    wanted: Sequence[str] = (),
) -> DraftedSurvey:
    """Make a survey from the table of true records in a CSV file.

    Parameters
    ----------
    file : str
        A CSV file in UTF-8 with the names of its columns in the first line; the delimiter is a
        comma, a semicolon or a tab.
    id, title : str, optional
        Id and title of the survey; by default derived from the name of the file.
    gamma : str
        Amplification of the survey.
    public : sequence of str
        Columns that are sent unperturbed.
    wanted : sequence of str
        Wanted tables, as in ``"smoker, drinks by sex, age"``; by default all pairs.

    Raises
    ------
    HalftruthError
        If the file cannot be read, no column can be asked, or another parameter is invalid. The
        message does not contain an answer.
    """
    headers, columns, delimiter = _read(file)
    people = _find_people(headers, columns)
    asked: list[Column] = []
    cells: list[Sequence[str]] = []
    questions: list[dict[str, Any]] = []
    comments: dict[int, list[str]] = {}
    notes: list[str] = []
    for place, (header, values) in enumerate(zip(headers, columns, strict=True), 1):
        label = _printable(header) or f"column {place}"
        found = _convert(label, values, people)
        if people is values:
            found = _Left("it is the number of people that each line represents")
        name = make_name(label, {column.name for column in asked})
        question: dict[str, Any] = {"name": name}
        if name != label:
            question["label"] = label
        if isinstance(found, _Asked):
            question |= found.members
            try:
                msgspec.convert(question, AttributeDocument).attributes()
            except (HalftruthError, msgspec.ValidationError):
                # The message could contain an answer.
                found = _Left("its answers cannot be categories")
        said = comments.setdefault(len(questions), [])
        if isinstance(found, _Left):
            said.append(f"left out: column '{label}': {found.why}")
            notes.append(f"column '{label}' is left out: {found.why}")
            continue
        said += found.notes
        notes += [f"column '{label}': {note}" for note in found.notes]
        asked.append(_column(header, name, values, question, found.categories))
        cells.append(values)
        questions.append(question)
    if not questions:
        why = "; ".join(notes[:3]) + (f"; and {len(notes) - 3} more" if len(notes) > 3 else "")
        raise ParameterError(f"{file}: no column can be asked: {why}", field="file")
    names = {column.header: column.name for column in asked}
    names |= {name: name for name in names.values()}
    unperturbed = _find(public, names, "public")
    for question in questions:
        if question["name"] in unperturbed:
            question["sensitive"] = False
    mechanism: dict[str, Any] = {"kind": "split-questionnaire", "gamma": gamma}
    if not wanted:
        mechanism["max_length"] = max(1, min(2, len(questions) - len(set(unperturbed))))
    if unperturbed:
        mechanism["public"] = unperturbed
    if wanted:
        mechanism["tables"] = [_parse_wanted(each, names) for each in wanted]
    stem = Path(file).stem
    data = {
        "id": id or re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:64] or "survey",
        "title": title or _printable(stem) or "Survey",
        "mechanism": mechanism,
        "reports": {"tickets": "required"},
        "attributes": questions,
    }
    if people:
        asked.append(Column(_COUNT, _COUNT, {cell: cell for cell in set(people)}, True))
        cells.append(people)
    text = write(data, comments, _heading(file))
    changed = [
        _printable(column.header) or column.name
        for column in asked
        if delimiter != "," or not column.is_unchanged
    ]
    if _COUNT in set(headers) - {column.header for column in asked} and not people:
        # A pilot would read it as numbers of people.
        changed.append(_COUNT)
    return DraftedSurvey(
        text, Survey.from_toml(text), tuple(notes), tuple(changed), tuple(asked), tuple(cells)
    )


def _heading(file: str) -> list[str]:
    return [
        f"Made from the true records in {Path(file).name}, on this machine; nothing was sent.",
        "The categories tell about these records: which answers are frequent, the order of their"
        " frequency, and the range of each number. Check them before anybody else sees this file.",
    ]


def _read(file: str) -> tuple[list[str], list[list[str]], str]:
    """Return the names of the columns, the cells of each column, and the delimiter."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as opened:
            text = opened.read()
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise ParameterError(f"{file}: expected CSV in UTF-8", field="file") from None
        reason = getattr(error, "strerror", None) or "not the name of a file"
        raise ParameterError(f"{file}: cannot be read: {reason}", field="file") from None
    delimiter = _find_delimiter(text)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    headers: list[str] = []
    columns: list[list[str]] = []
    try:
        for row in reader:
            if not headers:
                headers = _check_headers([cell.strip() for cell in row])
                columns = [[] for _ in headers]
            elif len(row) == len(headers):
                for column, cell in zip(columns, row, strict=True):
                    column.append(cell)
            elif row:
                raise RecordError(
                    f"line {reader.line_num}: {len(row)} cells; expected {len(headers)}, one for"
                    " each column",
                    field="file",
                )
    except csv.Error:
        raise RecordError(f"line {reader.line_num}: expected CSV", field="file") from None
    if not columns or not columns[0]:
        raise RecordError(
            f"{file}: expected the names of the columns, and a line for each person", field="file"
        )
    return headers, columns, delimiter


def _find_delimiter(text: str) -> str:
    """Return the delimiter that splits the names of the columns into most parts."""
    first = next((line for line in StringIO(text, newline="") if line.strip()), "")

    def parts(delimiter: str) -> int:
        try:
            return len(next(csv.reader([first], delimiter=delimiter), []))
        except csv.Error:
            return 0

    return max(",;\t", key=parts)


def _check_headers(headers: list[str]) -> list[str]:
    """Check the names of the columns; those of a table without names may be answers."""
    if any(parse_number(header) is not None for header in headers):
        raise RecordError(
            "line 1: a number is the name of a column; expected a first line with the names of the"
            " columns",
            field="file",
        )
    for header, times in Counter(filter(None, headers)).items():
        if times > 1:
            raise RecordError(
                f"line 1: {times} columns are named '{_printable(header)}'; expected different"
                " names",
                field="file",
            )
    return headers


def _find_people(headers: Sequence[str], columns: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the column with the number of people of each line; an empty one if there is none."""
    if _COUNT in headers:
        people = columns[headers.index(_COUNT)]
        if all(map(_PEOPLE.fullmatch, people)) and any(map(int, people)):
            return people
    return ()


def _column(
    header: str,
    name: str,
    values: Sequence[str],
    question: Mapping[str, Any],
    categories: Mapping[str, str],
) -> Column:
    written = {cell: categories.get(cell.strip(), cell.strip()) for cell in set(values)}
    # A column of codes is read as the categories of these places.
    codes = {
        category: str(code) for code, category in enumerate(question.get("categories", [])[:2])
    }
    is_coded = categories == {code: category for category, code in codes.items()}
    is_unchanged = name == header and all(
        cell == to or (is_coded and cell == codes.get(to)) for cell, to in written.items()
    )
    return Column(header, name, written, is_unchanged)


def _find(given: Sequence[str], names: Mapping[str, str], option: str) -> list[str]:
    """Return the names of the questions that an option names by column or question."""
    if unknown := [f"'{_printable(name)}'" for name in given if name.strip() not in names]:
        raise ParameterError(
            f"{option}: no question is named {listing(unknown)}; expected one of:"
            f" {listing(list(dict.fromkeys(names.values())))}",
            field=option,
        )
    return [names[name.strip()] for name in given]


def _parse_wanted(text: str, names: Mapping[str, str]) -> dict[str, list[str]]:
    outcomes, found, groups = text.partition(" by ")
    if not found:
        raise ParameterError(
            "wanted: expected outcomes by groups, as in 'smoker, drinks by sex'", field="wanted"
        )
    return {
        key: _find(side.split(","), names, "wanted")
        for key, side in (("of", outcomes), ("by", groups))
    }


def _convert(header: str, cells: Sequence[str], people: Sequence[str]) -> _Asked | _Left:
    """Return the question of a column, or why it is left out."""
    counts = Counter[str]()
    for cell, number in zip(cells, people or repeat("1"), strict=False):
        counts[cell.strip()] += int(number)
    rows = counts.total()
    missing = {value: counts.pop(value) for value in list(counts) if value in _MISSING}
    if not counts.total():
        return _Left("it has no answers")
    if len(counts) == 1:
        return _Left("it has the same answer in every line that has one")
    answers = [value for value in map(str.strip, cells) if value not in _MISSING]
    found = _convert_answers(header, counts, answers, rows)
    if isinstance(found, _Left) or not missing:
        return found
    # One category for all missing answers: if any cell is empty, that of an optional question.
    kept = "" if "" in missing else max(missing, key=missing.__getitem__)
    merged = {value: kept for value in missing if value != kept}
    notes = [*found.notes]
    if merged:
        notes.append(f"{len(missing)} kinds of cells without an answer are merged")
    members = {"missing": [kept]} if kept else {"optional": True}
    return _Asked({**found.members, **members}, {**found.categories, **merged}, notes)


def _convert_answers(
    header: str, counts: Counter[str], answers: Sequence[str], rows: int
) -> _Asked | _Left:
    pair = _find_pair(counts)
    if pair is not None:
        return pair
    if sum(count for value, count in counts.items() if _DATE.fullmatch(value)) >= (
        _DATES * counts.total()
    ):
        return _Left("it has dates or times")
    numbers = {value: parse_number(value) for value in counts}
    if any(_LEADING_ZERO.match(value) and "." not in value for value in counts):
        numbers = {}
    exact = {value: number for value, number in numbers.items() if number is not None}
    if len(exact) == len(counts):
        return _convert_numbers(header, exact, counts, answers)
    if all(map(_DECIMAL_COMMA.fullmatch, counts)):
        return _Left("it has numbers with a decimal comma; expected a decimal point")
    return _convert_texts(counts, rows)


def _find_pair(counts: Counter[str]) -> _Asked | None:
    """Return the question of a column of yes/no answers."""
    if len(counts) != 2:
        return None
    numbers = {parse_number(value): value for value in counts}
    if numbers.keys() == {Fraction(0), Fraction(1)}:
        # Cells 0 and 1 are the codes of these categories.
        return _Asked(
            {"categories": ["no", "yes"]},
            {numbers[Fraction(0)]: "no", numbers[Fraction(1)]: "yes"},
        )
    spelled = {value.casefold(): value for value in counts}
    for pair in (*_PAIRS, *_SHOWN_PAIRS):
        if spelled.keys() == set(pair):
            categories = [spelled[word] for word in pair]
            shown = dict(zip(categories, ("no", "yes"), strict=True))
            return _Asked(
                {
                    "categories": categories,
                    **({"answers": shown} if pair in _SHOWN_PAIRS else {}),
                }
            )
    return None


def _convert_numbers(
    header: str,
    numbers: Mapping[str, Fraction],
    counts: Counter[str],
    answers: Sequence[str],
) -> _Asked | _Left:
    """Return the question of a column of numbers."""
    values, total = set(numbers.values()), counts.total()
    if any(max(abs(value.numerator), value.denominator) >= _LARGE for value in values):
        return _Left("its numbers have too many digits")
    whole = all(value.denominator == 1 for value in values)
    low, high = min(values), max(values)
    if whole and len(values) >= _DIFFERENT * total:
        ordered = [numbers[value] for value in answers]
        steps = {b > a for a, b in pairwise(ordered)}
        is_dense = 5 * (high - low + 1) <= 6 * total
        if _IDENTIFIER.search(header.casefold()) or len(steps) == 1 or is_dense:
            return _Left("it looks like an identifier: a different number in nearly every line")
    if len(values) == 1:
        return _Left("it has the same answer in every line that has one")
    if whole and len(values) <= _MOST_VALUES:
        categories = [str(value) for value in sorted(values)]
        kept = {value: str(number) for value, number in numbers.items() if str(number) != value}
        return _Asked({"categories": categories, "ordered": True}, kept, _note_rare(counts, total))
    try:
        number = _round_range(low, high, whole)
    except HalftruthError:
        return _Left("its numbers have too many digits")
    bins = Counter[int | None]()
    for value, count in counts.items():
        bins[number.bin(value)] += count
    members: dict[str, Any] = {"kind": "number"}
    for what in ("minimum", "maximum", "step"):
        value = getattr(number, what)
        members[what] = int(value) if value.denominator == 1 else format_rational(value, what)
    if not whole and number.could_be_whole:
        members["whole"] = False
    notes = []
    if max(bins.values()) >= _CROWDED * total:
        notes.append("most answers are in one bin: a narrower range with another step tells more")
    # No table by a group can be tested if one of its answers is hardly ever given.
    rare = [i for i in range(len(number.categories)) if bins[i] < _RARE * total]
    if rare:
        some = ", ".join(number.categories[i] for i in rare)
        notes.append(f"few answers are in {some}: another minimum, maximum or step can avoid that")
    return _Asked(members, {}, notes)


def _round_range(low: Fraction, high: Fraction, whole: bool) -> NumberRange:
    """Return a range of about six bins, of which all ends are round numbers.

    >>> print(_round_range(Fraction(17), Fraction(90), True).categories)
    ('0 to 19', '20 to 39', '40 to 59', '60 to 79', '80 to 99')
    >>> print(_round_range(Fraction("1.2"), Fraction("3.9"), False).categories)
    ('[1, 1.5)', '[1.5, 2)', '[2, 2.5)', '[2.5, 3)', '[3, 3.5)', '[3.5, 4]')
    """
    power = math.floor(math.log10(high - low)) - 1
    widths = [
        Fraction(lead) * Fraction(10) ** exponent
        for exponent in (power, power + 1)
        for lead in ("1", "2", "5/2", "5")
    ]
    ranges = []
    for step in widths:
        start = math.floor(low / step) * step
        if whole and step.denominator == 1:
            end = (math.floor(high / step) + 1) * step - 1
        elif not whole:
            end = math.ceil(high / step) * step
        else:
            continue
        bins = (end - start) / step
        ranges.append((abs(float(bins) - _BINS), start, end, step))
    _, start, end, step = min(ranges)
    return NumberRange(start, end, step, whole)


def _convert_texts(counts: Counter[str], rows: int) -> _Asked | _Left:
    """Return the question of a column of texts."""
    answers = counts.total()
    if len(counts) >= _DIFFERENT * answers:
        return _Left("it looks like an identifier or free text: nearly every line is different")
    length = sum(len(value) * count for value, count in counts.items()) / answers
    if max(map(len, counts)) > _LONGEST or (length > _MEAN_LENGTH and len(counts) > _MOST):
        return _Left("it has free text, which cannot be perturbed")
    order = find_order(counts)
    if order:
        return _Asked({"categories": order, "ordered": True}, {}, _note_rare(counts, answers))
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    # An answer of that name has the merged ones, too.
    other = next((value for value in ranked if value.casefold() == OTHER), OTHER)
    frequent = [value for value in ranked if value != other and counts[value] >= _RARE * rows][
        :_MOST
    ]
    rare = [value for value in ranked if value not in {*frequent, other}]
    if 2 * sum(counts[value] for value in rare) > answers:
        return _Left(f"it has too many different answers ({len(counts)})")
    categories = [*frequent, *([other] if rare or other in counts else [])]
    if len(categories) < 2:
        return _Left("nearly all lines have the same answer")
    note = f"{len(rare)} rare answer{'' if len(rare) == 1 else 's'} merged into '{OTHER}'"
    return _Asked({"categories": categories}, dict.fromkeys(rare, other), [note] if rare else [])


def find_order(answers: Collection[str]) -> list[str]:
    """Return the answers in their order, if they have one; else an empty list.

    >>> find_order(["often", "never"]), find_order(["5 to 9", "under 5"]), find_order(["b", "a"])
    (['never', 'often'], ['under 5', '5 to 9'], [])
    """
    if len(answers) > _MOST_ORDERED:
        return []
    folded = {value.casefold(): value for value in answers}
    for ranks in _RANKS:
        if folded.keys() <= ranks.keys() and len(folded) == len(answers):
            return [folded[word] for word in sorted(folded, key=ranks.__getitem__)]
    classes = {value: _CLASS.match(_THOUSANDS.sub("", value)) for value in answers}
    keys = {
        value: (Fraction(found["number"]), not found["below"])
        for value, found in classes.items()
        if found
    }
    if len(keys) < len(answers) or len(set(keys.values())) < len(answers):
        return []
    return sorted(answers, key=keys.__getitem__)


def _note_rare(counts: Counter[str], answers: int) -> list[str]:
    rare = sum(count < _RARE * answers for count in counts.values())
    return [f"answers below 1 % ({rare}): consider groups of neighbours"] if rare else []


def _printable(text: str) -> str:
    """Return a text on one line, short enough for a message."""
    visible = "".join([letter if letter.isprintable() else " " for letter in text])
    return shorten(" ".join(visible.split()), 200, placeholder=" …")
