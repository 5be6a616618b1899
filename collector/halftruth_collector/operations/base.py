"""Declaration of an operator's action, from which all ways to it are derived.

An action is a function that validates its arguments (ParameterError) and acts in one transaction,
which also writes the entry of the audit log. Functions raise UnknownSurvey and UnknownToken for
unknown ids, and StoreUnavailable if the database does not answer. What changes nothing writes no
entry. An action that nothing can undo has an argument `confirm`, and raises NotConfirmed unless it
repeats the id or the key.

The decorator :func:`action` declares it. Its HTTP call with the entry in OpenAPI, its command, its
form on the page of a survey, and its part of the tests follow from the declaration.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from halftruth_shared import HalftruthError
from halftruth_shared.protocol.base import Message, Request
from sqlalchemy import Connection

from ..collector_store import OpenStore, Store
from ..store.surveys import SurveyState

if TYPE_CHECKING:
    from halftruth_shared import Survey

P = ParamSpec("P")
R = TypeVar("R")

#: Section of a docstring that is for programmers only.
_SECTION = re.compile(r"\n\n(Parameters|Returns|Raises)\n-+\n")


@dataclass(frozen=True)
class Subject:
    """What an action is about: `place` in a path, and `metavar` of a command, name it."""

    place: str
    metavar: str
    description: str
    pattern: str


SURVEY = Subject("survey_id", "ID", "Id of the survey.", "^[a-z0-9][a-z0-9\\-]{0,63}$")
TOKEN = Subject("token_id", "ID", "Id of the token, as the list of tokens has it.", "^[0-9a-f]{8}$")
KEY = Subject("key", "PUBLIC", "A public key, hexadecimal.", "^[0-9a-f]{64}$")

#: Subjects by their place.
SUBJECTS = {subject.place: subject for subject in (SURVEY, TOKEN, KEY)}


@dataclass(frozen=True)
class Call:
    """HTTP call of an action, for operators.

    Attributes
    ----------
    method, rule : str
        Method and URL rule; a place in the rule is that of the subject.
    answer : type
        Type of the answer.
    answered : callable, optional
        Makes the answer from the store, the subject and the result, by default the result itself.
    status : int
    errors : tuple of type
        Errors besides those of its path and arguments.
    document : bool
        Whether the body is a survey, which is the subject; the arguments are in the query then.
    """

    method: str
    rule: str
    answer: type[Message]
    _: KW_ONLY
    answered: Callable[[Store, Any, Any], Message] | None = None
    status: int = 200
    errors: tuple[type[HalftruthError], ...] = ()
    document: bool = False


@dataclass(frozen=True)
class Done:
    """Action that was performed: its subject, arguments and result."""

    subject: Any
    arguments: Any
    result: Any


@dataclass(frozen=True)
class Table:
    """Table that a command prints: its header, its elements, and the row of each.

    `has_lines` is whether the command also prints each element as one line of JSON.
    """

    header: Sequence[str]
    elements: Callable[[Done], Iterable[Any]]
    row: Callable[[Any], Sequence[object]]
    _: KW_ONLY
    has_lines: bool = False


@dataclass(frozen=True)
class Command:
    """Command of an action.

    Attributes
    ----------
    words : str
        Groups and name, such as ``survey close``.
    says : str, callable or Table, optional
        What it prints: a format of the fields of :class:`Done`, lines, or a table. Without it, the
        command is written by hand, since it reads or writes files.
    given : mapping
        Arguments that the command fixes.
    secret : str
        Description of the secret that is the result, if it is one.
    summary : str
        Help, if it differs from the description of the action.
    """

    words: str
    says: str | Callable[[Done], Iterable[str]] | Table | None = None
    _: KW_ONLY
    given: Mapping[str, Any] = field(default_factory=dict)
    secret: str = ""
    summary: str = ""


@dataclass(frozen=True)
class Offer:
    """Form of an action as the page of a survey offers it now.

    Attributes
    ----------
    text : str
        What to know before.
    button : str
        Label of the button; without it, there is only the text.
    aim : str
        What typing the id is for, such as "close it", if the action has to be confirmed now.
    """

    text: str
    button: str = ""
    aim: str = ""


@dataclass(frozen=True)
class Form:
    """Form of an action on the page of a survey.

    Attributes
    ----------
    path : str
        Last part of the address.
    section : str
        Heading.
    offer : callable
        Returns what is offered in the present state of the survey; None for nothing.
    given : mapping
        Arguments that the form fixes.
    """

    path: str
    section: str
    offer: Callable[[SurveyState], Offer | None]
    _: KW_ONLY
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Action(Generic[P, R]):
    """An action, which is called like its function.

    Attributes
    ----------
    function : callable
        Its arguments are the store, the subject if there is one, those of the message by name, and
        `confirm` if it is final. Its docstring describes the action on all ways to it.
    name : str
        Name in the audit log; empty if it writes no entry.
    about : Subject or None
    arguments : type
        Message with the arguments, whose fields have their ranges and descriptions.
    call : Call or None
    commands : tuple of Command
    forms : tuple of Form
    undone : str
        Why it need not be confirmed, if it is not final.
    """

    function: Callable[P, R]
    _: KW_ONLY
    name: str = ""
    about: Subject | None = None
    arguments: type[Request] = Request
    call: Call | None = None
    commands: tuple[Command, ...] = ()
    forms: tuple[Form, ...] = ()
    undone: str = ""
    is_final: bool = field(init=False)
    #: Name of the function, which is also that of its call.
    __name__: str = field(init=False)

    def __post_init__(self) -> None:
        confirm = inspect.signature(self.function).parameters.get("confirm")
        self.is_final = confirm is not None
        if confirm is not None and (confirm.kind, confirm.default) != (confirm.KEYWORD_ONLY, None):
            raise TypeError(f"{self.function.__qualname__}: expected confirm=None, by keyword")
        if self.is_final == bool(self.undone):
            raise TypeError(f"{self.function.__qualname__}: expected either confirm, or undone")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Perform the action."""
        return self.function(*args, **kwargs)

    @property
    def description(self) -> str:
        """Its docstring, without the sections for programmers."""
        return _SECTION.split(inspect.getdoc(self.function) or "")[0]

    def run(
        self,
        store: OpenStore,
        subject: str | Survey | None,
        arguments: Request,
        confirm: str | None = None,
    ) -> Any:
        """Perform the action with a message of arguments."""
        function: Callable[..., Any] = self.function
        about = () if subject is None else (subject,)
        named = {name: getattr(arguments, name) for name in arguments.__struct_fields__}
        if self.is_final:
            named["confirm"] = confirm
        return function(store, *about, **named)

    def log(self, store: OpenStore, connection: Connection, subject: str, detail: str = "") -> None:
        """Write its entry of the audit log in a transaction."""
        store.audit.record(connection, self.name, subject, detail)


#: All actions, in the order of their declaration.
ACTIONS: list[Action[..., Any]] = []


def action(
    name: str = "",
    *,
    about: Subject | None = None,
    arguments: type[Request] = Request,
    call: Call | None = None,
    command: Command | tuple[Command, ...] = (),
    form: Form | tuple[Form, ...] = (),
    undone: str = "",
) -> Callable[[Callable[P, R]], Action[P, R]]:
    """Return the decorator that declares an action; see :class:`Action`."""

    def declare(function: Callable[P, R]) -> Action[P, R]:
        declared = Action(
            function,
            name=name,
            about=about,
            arguments=arguments,
            call=call,
            commands=command if isinstance(command, tuple) else (command,),
            forms=form if isinstance(form, tuple) else (form,),
            undone=undone,
        )
        update_wrapper(declared, function)
        ACTIONS.append(declared)
        return declared

    return declare


def number(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
