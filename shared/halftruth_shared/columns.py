"""Columns of long tables: numbers, texts by code, and sets of answers.

A list of itemsets can have hundreds of thousands of rows. So a column is one array, and the texts
and answers of a row are created when the row is read. In JSON a column is a list, with null for
missing values.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .deadlines import checked

Codes = NDArray[np.int64]
if TYPE_CHECKING:
    Numbers = NDArray[np.float64]
else:
    # msgspec needs a class here.
    Numbers = np.ndarray

T = TypeVar("T", bound="Column")
M = TypeVar("M")


class Column:
    """Column of values other than floating-point numbers."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, row: int, /) -> Any:
        """Return the value in a row; None for a missing value."""

    @abstractmethod
    def take(self: T, rows: Any, /) -> T:
        """Return the selected rows; `rows` are indices, a slice or a mask."""

    @property
    @abstractmethod
    def ids(self) -> Codes:
        """Integers that are equal if the values are equal; −1 for a missing value."""

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, checked(range(len(self))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class Texts(Column):
    """Column of texts: the code of each row, −1 for a missing text, and the text of each code."""

    def __init__(self, codes: ArrayLike, levels: Sequence[str]) -> None:
        self.codes: Codes = np.asarray(codes, dtype=np.int64)
        self.levels = tuple(levels)

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> "Texts":
        """Create a column from texts.

        >>> Texts.of(["no", None, "yes", "no"]).codes.tolist()
        [0, -1, 1, 0]
        """
        places: dict[str, int] = {}
        codes = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        return cls(codes, [*places])

    @classmethod
    def constant(cls, text: str | None, length: int) -> "Texts":
        """Create a column with the same text in every row."""
        return cls(np.full(length, -1 if text is None else 0), () if text is None else (text,))

    @classmethod
    def concatenate(cls, columns: Sequence["Texts"]) -> "Texts":
        """Concatenate the rows of several columns."""
        places: dict[str, int] = {}
        codes = []
        for column in columns:
            levels = [places.setdefault(level, len(places)) for level in column.levels]
            codes.append(np.array([*levels, -1], dtype=np.int64)[column.codes])
        return cls(np.concatenate(codes) if codes else np.empty(0, int), [*places])

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = self.codes[row]
        return None if code < 0 else self.levels[code]

    def __iter__(self) -> Iterator[str | None]:
        # The code −1 of a missing text indexes the last element, None.
        return map([*self.levels, None].__getitem__, self.codes.tolist())

    def take(self, rows: Any) -> "Texts":
        return Texts(self.codes[rows], self.levels)

    @property
    def ids(self) -> Codes:
        return self.codes

    def renamed(self, names: Mapping[str, str]) -> "Texts":
        """Return the column with some texts replaced."""
        return Texts(self.codes, [names.get(level, level) for level in self.levels])

    def equals(self, text: str) -> NDArray[np.bool_]:
        """Return a mask of the rows with a text."""
        place = self.levels.index(text) if text in self.levels else -2
        return np.asarray(self.codes == place)


class AnswerSets(Column):
    """Column of sets of answers, such as itemsets or sides of rules.

    Parameters
    ----------
    codes : array_like of int, shape (R, M)
        Answer to each of M questions; −1 for a question that is not in the set.
    answers : sequence of sequences of str
        Answers to each question, by code.
    of_rows : array_like of int, shape (K,), optional
        Index of the set of each row, −1 for a missing set; by default row k has set k.
    """

    def __init__(
        self,
        codes: ArrayLike,
        questions: Sequence[str],
        answers: Sequence[Sequence[str]],
        of_rows: ArrayLike | None = None,
    ) -> None:
        self.codes = np.asarray(codes)
        self.questions = tuple(questions)
        self.answers = tuple(map(tuple, answers))
        self._rows: Codes = np.arange(len(self.codes)) if of_rows is None else np.asarray(of_rows)

    @classmethod
    def of(cls, sets: Sequence[Mapping[str, str] | None]) -> "AnswerSets":
        """Create a column from sets of answers, with an order of questions that agrees with all.

        >>> list(AnswerSets.of([{"sex": "male"}, {"sex": "female", "vote": "left"}, None]))
        [{'sex': 'male'}, {'sex': 'female', 'vote': 'left'}, None]
        """
        answers: dict[str, dict[str, int]] = {}
        for each in sets:
            for name, answer in (each or {}).items():
                codes_by_answer = answers.setdefault(name, {})
                codes_by_answer.setdefault(answer, len(codes_by_answer))
        answers = {name: answers[name] for name in _sort_consistently(answers, sets)}
        codes = np.full((len(sets), len(answers)), -1)
        for row, each in enumerate(sets):
            for place, (name, codes_by_answer) in enumerate(answers.items()):
                codes[row, place] = codes_by_answer.get((each or {}).get(name, ""), -1)
        is_missing = [each is None for each in sets]
        rows = np.where(is_missing, -1, np.arange(len(sets)))
        return cls(codes, [*answers], [[*each] for each in answers.values()], rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> dict[str, str] | None:
        place = self._rows[row]
        if place < 0:
            return None
        codes = self.codes[place]
        given = np.flatnonzero(codes >= 0).tolist()
        return {self.questions[j]: self.answers[j][codes[j]] for j in given}

    def take(self, rows: Any) -> "AnswerSets":
        return AnswerSets(self.codes, self.questions, self.answers, self._rows[rows])

    @property
    def ids(self) -> Codes:
        return self._rows

    @property
    def sizes(self) -> Codes:
        """Number of answers in each row; 0 for a missing set."""
        sizes = (self.codes >= 0).sum(axis=1)
        return np.where(self._rows < 0, 0, sizes[self._rows] if len(sizes) else 0)

    def rows_naming(self, questions: Collection[str]) -> NDArray[np.bool_]:
        """Return a mask of the rows with an answer to at least one of some questions."""
        columns = [j for j, name in enumerate(self.questions) if name in questions]
        named = (self.codes[:, columns] >= 0).any(axis=1)
        return np.asarray((self._rows >= 0) & np.append(named, False)[self._rows])

    def renamed(
        self, questions: Mapping[str, str], answers: Mapping[str, Mapping[str, str]]
    ) -> "AnswerSets":
        """Return the column with some questions and answers renamed."""
        return AnswerSets(
            self.codes,
            [questions.get(name, name) for name in self.questions],
            [
                [answers.get(name, {}).get(answer, answer) for answer in each]
                for name, each in zip(self.questions, self.answers, strict=True)
            ],
            self._rows,
        )


def _sort_consistently(names: Iterable[str], sets: Iterable[Mapping[str, str] | None]) -> list[str]:
    """Sort names by the order that all sets have in common; without one, keep the given order."""
    before: dict[str, dict[str, None]] = {name: {} for name in names}
    for each in sets:
        for first, second in pairwise(each or ()):
            before[second][first] = None
    try:
        return [*TopologicalSorter(before).static_order()]
    except CycleError:
        return [*before]


def replace_nonfinite(column: Numbers) -> list[float | None]:
    """Return numbers as a list, with None for numbers that are not finite.

    >>> replace_nonfinite(np.array([0.5, np.nan, np.inf]))
    [0.5, None, None]
    """
    numbers = column.astype(object)
    numbers[~np.isfinite(column)] = None
    values: list[float | None] = numbers.tolist()
    return values


def encode(message: object) -> bytes:
    """Return a message as JSON, perhaps with columns."""
    return msgspec.json.encode(message, enc_hook=encode_column)


def decode(content: bytes | bytearray, kind: type[M]) -> M:
    """Return the message in a JSON text; msgspec.DecodeError if it does not match the type."""
    return msgspec.json.decode(content, type=kind, dec_hook=decode_column)


def encode_column(value: object) -> object:
    """Convert a column to a list, for msgspec's ``enc_hook``."""
    if isinstance(value, Column):
        return list(value)
    if isinstance(value, np.ndarray):
        return replace_nonfinite(value.astype(np.float64))
    if isinstance(value, Fraction):
        return float(value)
    raise NotImplementedError(f"no JSON of {type(value).__name__}")


def decode_column(kind: type, value: object) -> object:
    """Convert a list to a column, for msgspec's ``dec_hook``; ValueError for anything else."""
    if not isinstance(value, list):
        raise ValueError("expected a list")
    if kind is np.ndarray:
        return np.array([np.nan if each is None else each for each in value], dtype=np.float64)
    if any(isinstance(each, dict) for each in value):
        return AnswerSets.of(value)
    return Texts.of(value)


def column_schema(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a column, for msgspec's ``schema_hook``."""
    if kind is np.ndarray:
        return {"type": "array", "items": {"type": ["number", "null"]}}
    if issubclass(kind, Column):
        answers = {"type": "object", "additionalProperties": {"type": "string"}}
        return {"type": "array", "items": {"anyOf": [{"type": ["string", "null"]}, answers]}}
    raise NotImplementedError(f"no schema of {kind.__name__}")
