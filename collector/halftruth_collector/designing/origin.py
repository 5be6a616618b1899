"""Import status of each question of a questionnaire, beside those of the survey."""

from collections.abc import Sequence

import msgspec
from halftruth_shared import HalftruthError


class Element(msgspec.Struct, frozen=True):
    """Part of a questionnaire that was imported.

    Attributes
    ----------
    name : str
        There.
    questions : tuple of str
        Names of the questions that it became; none if it was left out.
    notes : tuple of str
        What was changed or left out of it, and why.
    """

    name: str
    questions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fate(self) -> str:
        """Import status in words."""
        said = "; ".join(self.notes)
        if not self.questions:
            return said
        return f"changed: {said}" if said else "taken over as it is"


class Origin(msgspec.Struct, frozen=True):
    """Questionnaire that a survey was made of.

    Attributes
    ----------
    elements : tuple of Element
        In its order.
    summary : tuple of str
        What was changed or left out, by kind.
    """

    elements: tuple[Element, ...] = ()
    summary: tuple[str, ...] = ()

    @classmethod
    def read(cls, written: str) -> "Origin":
        """Read what :meth:`written` wrote; nothing of any other text."""
        try:
            return msgspec.json.decode(written, type=cls)
        except (msgspec.MsgspecError, HalftruthError):
            return cls()

    @property
    def written(self) -> str:
        """The same as JSON, blank for none."""
        return msgspec.json.encode(self).decode() if self.elements or self.summary else ""

    @property
    def in_a_sentence(self) -> str:
        """Numbers of questions that were taken over, changed and left out.

        >>> Origin((Element("a", ("a",)), Element("b", (), ("left out: a date",)))).in_a_sentence
        'Taken over as it is: 1 question. Changed: 0. Left out: 1.'
        """
        made = [element for element in self.elements if element.questions]
        same = sum(not element.notes for element in made)
        # Others were no questions, such as panels.
        gone = [each for each in self.elements if not each.questions and "left out:" in each.fate]
        return (
            f"Taken over as it is: {same} question{'' if same == 1 else 's'}. Changed:"
            f" {len(made) - same}. Left out: {len(gone)}."
        )

    def renamed(self, before: str, after: str) -> "Origin":
        """Let a question have another name."""
        return Origin(
            tuple(
                msgspec.structs.replace(
                    element,
                    questions=tuple(
                        after if name == before else name for name in element.questions
                    ),
                )
                for element in self.elements
            ),
            self.summary,
        )

    def of(self, name: str) -> str:
        """Import status of the question of this name, blank for one that was added since."""
        return next((each.fate for each in self.elements if name in each.questions), "")

    def left_out(self, names: Sequence[str]) -> list[list[Element]]:
        """Return the elements that were left out before each of these questions, and at the end."""
        before: list[list[Element]] = [[] for _ in range(len(names) + 1)]
        waiting: list[Element] = []
        for element in self.elements:
            if not element.questions:
                waiting.append(element)
            place = next((names.index(one) for one in element.questions if one in names), None)
            if place is not None:
                before[place] += waiting
                waiting = []
        before[-1] += waiting
        return before
