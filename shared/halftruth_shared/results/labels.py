"""Labels of questions and answers, which texts for people show in place of names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ..columns import AnswerSets, Texts
from . import wording
from .keys import Key

Answers = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Labels:
    """Labels of questions, and of the answers to each; a name without a label stays.

    `survey` is the title of the survey, shown in place of its id.
    """

    questions: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    survey: str = ""

    def question(self, name: str) -> str:
        """Return the label of a question."""
        return self.questions.get(name, name)

    def answer(self, question: str, name: str) -> str:
        """Return the label of an answer to a question."""
        return self.answers.get(question, {}).get(name, name)

    def labelled(self, answers: Answers) -> dict[str, str | list[str]]:
        """Return answers by question, with labels."""
        return {
            self.question(name): self.answer(name, given)
            if isinstance(given, str)
            else [self.answer(name, each) for each in given]
            for name, given in answers.items()
        }

    def items(self, answers: Answers) -> str:
        """Describe answers on their own."""
        return wording.items(self.labelled(answers))

    def quoted(self, name: str) -> str:
        """Return the label of a question, within a sentence."""
        return wording.quoted(self.question(name))

    def quoted_items(self, answers: Answers) -> str:
        """Describe answers within a sentence."""
        return wording.quoted_items(self.labelled(answers))

    def title(self, key: Key) -> str:
        """Return the name of a key for people."""
        return self.questions.get(key.label or key.name, key.title)

    def key(self, key: Key, keys: Sequence[Key]) -> Key:
        """Return one of the keys of a result with labels for its name and its values."""
        values = key.values
        if isinstance(values, AnswerSets):
            values = values.renamed(self.questions, self.answers)
        elif key.kind == "question" and isinstance(values, Texts):
            values = values.renamed(self.questions)
        elif key.kind == "answer" and key.question is not None and isinstance(values, Texts):
            values = values.renamed(self.answers.get(key.question, {}))
        elif key.kind == "answer" and self.answers:
            [questions] = [each for each in keys if each.kind == "question"]
            pairs = zip(questions.values, values, strict=True)
            values = Texts.of(
                [answer and self.answer(question, answer) for question, answer in pairs]
            )
        return replace(key, values=values, label=self.title(key))


#: Names alone, as in files.
NAMES = Labels()
