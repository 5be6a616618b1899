"""Questions and answers of a survey as objects, with completion.

Methods of :class:`~halftruth_client.Analyst` accept a :class:`Question` instead of the name of an
attribute, and an :class:`Answer` instead of a category or ``{attribute: category}``.
"""

from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Generic, TypeVar

import msgspec
from halftruth_shared import ParameterError, Schema
from halftruth_shared.analyses.reading import Field
from halftruth_shared.attribute import OPTION
from halftruth_shared.errors import listing
from halftruth_shared.results.showing import html_table
from halftruth_shared.schema import Question as Asked


class Answer(msgspec.Struct, frozen=True):
    """An answer to a question."""

    question: str
    category: str

    def __str__(self) -> str:
        return f"{self.question}={self.category}"


T = TypeVar("T")


class _Named(Generic[T]):
    """Lookup by name: as attributes where names are identifiers, or in brackets."""

    def __init__(self, kind: str, items: Mapping[str, T]) -> None:
        self._kind, self._items = kind, items

    def __getitem__(self, name: str) -> T:
        try:
            return self._items[name]
        except KeyError:
            raise KeyError(self._unknown(name)) from None

    def __getattr__(self, name: str) -> T:
        # Libraries access names with underscores, even on objects that are not initialized.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._items:
            return self._items[name]
        raise AttributeError(self._unknown(name))

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def __dir__(self) -> list[str]:
        names = [name for name in self._items if name.isidentifier() and not iskeyword(name)]
        return [*super().__dir__(), *names]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._items)

    def _unknown(self, name: str) -> str:
        # Import here, since only mistyped names need it.
        from difflib import get_close_matches

        near = get_close_matches(name, self._items)
        return f"{self._kind} '{name}': expected one of: {listing(near or list(self._items))}"


class Question(_Named[Answer]):
    """A question with its answers: ``smoker.yes``, or ``age["30 to 49"]``.

    Attributes
    ----------
    name : str
    label : str
        Label in a form.
    """

    def __init__(self, name: str, label: str, categories: Sequence[str]) -> None:
        self.name, self.label = name, label
        answers = {category: Answer(name, category) for category in categories}
        super().__init__(f"answer to '{name}'", answers)

    def __repr__(self) -> str:
        label = "" if self.label == self.name else f" ({self.label})"
        return f"{self.name}{label}: {', '.join(self._items)}"


class MultipleResponseQuestion(_Named[Answer]):
    """A multiple-response question: ``debts.card`` means that this option was chosen.

    Attributes
    ----------
    name : str
    label : str
        Label in a form.
    options : tuple of Question
        The options as questions with the answers no and yes, in order.
    """

    def __init__(self, asked: Asked) -> None:
        self.name, self.label = asked.name, asked.label_in()
        self.options = tuple(Question(a.name, a.label_in(), a.categories) for a in asked.attributes)
        chosen = {a.option or a.name: Answer(a.name, OPTION[-1]) for a in asked.attributes}
        super().__init__(f"option of '{asked.name}'", chosen)

    def __repr__(self) -> str:
        return f"{self.name} ({self.label}), several of: {', '.join(self._items)}"


class Questions(_Named[Question | MultipleResponseQuestion]):
    """The questions of a survey: ``questions.smoker``, or ``questions["home.town"]``.

    Options of multiple-response questions can also be looked up: ``questions["debts.card"]``.
    """

    def __init__(self, schema: Schema) -> None:
        asked: dict[str, Question | MultipleResponseQuestion] = {
            question.name: MultipleResponseQuestion(question)
            if question.kind == "several"
            else Question(question.name, question.label_in(), question.attributes[0].categories)
            for question in schema.questions
        }
        super().__init__("question", asked)

    def __getitem__(self, name: str) -> Question | MultipleResponseQuestion:
        options = [o for q in self if isinstance(q, MultipleResponseQuestion) for o in q.options]
        return next((o for o in options if o.name == name), None) or super().__getitem__(name)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        rows = [[q.name, q.label, ", ".join(q._items)] for q in self]
        return html_table(["name", "label", "answers"], rows)


def to_names(field: Field, value: Any) -> Any:
    """Replace questions and answers in the value of a field by their names.

    Raises
    ------
    ParameterError
        If two answers to one question are given, but the field accepts only one.
    """
    if field.kind == "items" and isinstance(value, Answer):
        return {value.question: value.category}
    if field.kind == "items" and isinstance(value, (list, tuple)) and _all_answers(value):
        return _items(field, value)
    if field.kind == "margins" and isinstance(value, Mapping) and _all_answers(value):
        margins: dict[str, dict[str, Any]] = {}
        for answer, share in value.items():
            margins.setdefault(answer.question, {})[answer.category] = share
        return margins
    if field.of == "question" and isinstance(value, (list, tuple)):
        return [_names(each) for each in value]
    return _names(value)


def _all_answers(value: Any) -> bool:
    return bool(value) and all(isinstance(answer, Answer) for answer in value)


def _items(field: Field, answers: list[Answer] | tuple[Answer, ...]) -> dict[str, str | list[str]]:
    items: dict[str, str | list[str]] = {}
    for answer in answers:
        earlier = items.setdefault(answer.question, answer.category)
        if earlier is answer.category:
            continue
        if not field.any_of:
            raise ParameterError(
                f"{field.name}: '{answer.question}' is given twice; expected once",
                field=field.name,
            )
        chosen = [earlier] if isinstance(earlier, str) else earlier
        items[answer.question] = [*chosen, answer.category]
    return items


def _names(content: Any) -> Any:
    if isinstance(content, (Question, MultipleResponseQuestion)):
        return content.name
    if isinstance(content, Answer):
        return content.category
    if isinstance(content, Mapping):
        return {_names(key): _names(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        # In a list of attributes, a multiple-response question means all of its options.
        options = (e.options if isinstance(e, MultipleResponseQuestion) else [e] for e in content)
        return [_names(each) for group in options for each in group]
    return content
