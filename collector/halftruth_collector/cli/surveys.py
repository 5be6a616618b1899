"""``halftruth survey``: what is done with surveys."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from halftruth_shared import ParameterError, Protection, read_survey
from halftruth_shared.analyses.reading import fields, make, read
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.terms import Signature, SignedTerms, Terms
from msgspec import UNSET, UnsetType

from .. import operations
from ..collector_store import Store, open_existing_store
from ..dry_run import check_survey, why_form_refuses
from ..operations import Changes
from ..ops.settings import Config
from ..store.surveys import SurveyState, describe_limits
from . import Commands, options
from .output import json_text, print_table, write

C = TypeVar("C", bound=Callable[..., Any] | click.Command)

_terms = click.option(
    "--terms",
    "terms_file",
    type=click.Path(),
    metavar="FILE",
    help="How reports are taken, as 'survey sign' wrote it.",
)


#: Options of terms that have a value: their names, and what stands for the value in help.
_VALUES = {
    "sealing_key": ("sealed-to", "KEY"),
    "closes_at": ("closes-at", "MOMENT"),
    "max_reports": ("max-reports", "NUMBER"),
}


def _chosen(command: C) -> C:
    """Add an option for each of the terms, and one by which it is dropped."""
    for name, field in reversed(fields(Terms).items()):
        option, metavar = _VALUES.get(name, (name.replace("_", "-"), None))
        if metavar is None:
            both = f"--{option}/--no-{option}"
            command = click.option(both, name, default=None, help=field.description)(command)
        else:
            drop = click.option(f"--no-{option}", f"no_{name}", is_flag=True, help="None any more.")
            give = click.option(f"--{option}", name, metavar=metavar, help=field.description)
            command = give(drop(command))
    return command


@click.group(cls=Commands, places={"invite": "invite:invite"})
def survey() -> None:
    """Import, check, publish, sign, list, open, close and delete surveys."""


@survey.command()
@click.argument("file", type=click.Path())
@click.option(
    "--max-gamma",
    envvar="HALFTRUTH_MAX_GAMMA",
    default=Config().max_gamma,
    show_default=True,
    metavar="NUMBER",
    help="Largest amplification that the collector's own forms ask with.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(file: str, max_gamma: str, as_json: bool) -> None:
    """Say what publishing the survey of a TOML FILE would come to; nothing is changed.

    What it promises, and whether the form that a collector hosts would ask it.
    """
    terms = check_survey(read_survey(file), max_gamma)
    if as_json:
        click.echo(json_text(terms))
        return
    click.echo(f"{terms.id}: {terms.title}, {terms.questions} questions, digest {terms.digest}")
    click.echo("\n".join(terms.sentences()))


@survey.command("import")
@click.argument("file", type=click.Path())
@click.option("--id", help="Id of the survey; made of the file's name by default.")
@click.option(
    "--gamma",
    default="19",
    show_default=True,
    metavar="NUMBER",
    help="Amplification of the survey.",
)
@click.option(
    "--toml", type=click.Path(), metavar="FILE", help="Write the survey there, not to the terminal."
)
@click.option(
    "--map",
    "names",
    type=click.Path(),
    metavar="FILE",
    help="Write there names and values of the questionnaire with ours, for SurveyJS's own pages.",
)
@click.option("--verbose", is_flag=True, help="A line for each thing that is left out.")
def import_(
    file: str, id: str | None, gamma: str, toml: str | None, names: str | None, verbose: bool
) -> None:
    """Turn the questionnaire of a FILE into a survey's TOML.

    The file is one of SurveyJS (JSON) or LimeSurvey (.lss), or an XLSForm (.xlsx, .csv). What of it
    cannot be in a survey, such as questions with free text, is told on standard error, by kind.
    Nothing is published.
    """
    from ..importing import import_questionnaire

    made = import_questionnaire(file, id, gamma)
    if toml is None:
        click.echo(made.text)
    else:
        write(toml, made.text.encode(), "toml")
        click.echo(f"{made.survey.id}: {len(made.survey.schema.questions)} questions in {toml}")
    if names is not None:
        write(names, json_text(made.names).encode(), "map")
    for sentence in made.left_out if verbose else made.summary:
        click.echo(f"halftruth: {sentence}", err=True)


@survey.command()
@click.argument("file", type=click.Path())
@_terms
@_chosen
@click.option(
    "--unlisted", is_flag=True, help="Tell only those of it who know its address; see 'unlist'."
)
@options.database
def publish(
    file: str, terms_file: str | None, unlisted: bool, database: str, **chosen: Any
) -> None:
    """Publish the survey of a TOML FILE."""
    new = read_survey(file)
    terms, signature = _read_terms(terms_file, chosen)
    # Before anything is published, so that a wrong setting leaves nothing half done.
    max_gamma = Config.from_environment(only=["max_gamma"]).max_gamma
    refused = why_form_refuses(new, max_gamma)
    sentences = Protection.of(new).sentences()
    with Store(database, sealing_keys=_known_keys) as store:
        changed = operations.publish_survey(
            store,
            new,
            terms,
            signature,
            listed=False if unlisted else None,
        )
        taken = store.surveys.state(new.id)
    click.echo("\n".join([f"published {new.id}, digest {new.digest}", *changed]))
    click.echo(f"reports are taken {_taken(taken)}")
    click.echo("\n".join(sentences))
    if refused is not None:
        click.echo(f"halftruth: the hosted form refuses it: {refused}", err=True)


@survey.command()
@click.argument("file", type=click.Path())
@click.option("--key", "key_file", type=click.Path(), required=True, help="Private key to sign by.")
@_chosen
def sign(file: str, key_file: str, **chosen: Any) -> None:
    """Sign the survey of a TOML FILE, and print how its reports are to be taken.

    What is printed goes to 'survey publish --terms' or 'survey terms'. It is no secret. The private
    key is not needed there: sign on a machine of your own.
    """
    # Imported here: few commands need cryptography, and the library takes a while.
    from halftruth_shared.protocol.signing import OperatorKey
    from halftruth_shared.protocol.signing import sign as make_signature

    terms = make(Terms, _changes(chosen))
    signature = make_signature(OperatorKey.read(key_file), read_survey(file).digest, terms)
    click.echo(msgspec.json.encode(SignedTerms(terms=terms, signature=signature)).decode())


@survey.command()
@click.argument("id")
@click.argument("file", required=False, type=click.Path())
@_chosen
@click.option("--no-signature", is_flag=True, help="Not signed any more.")
@options.database
def terms(id: str, file: str | None, no_signature: bool, database: str, **chosen: Any) -> None:
    """Change how reports of the survey ID are taken, to what 'survey sign' wrote into FILE.

    Without FILE, the options that are given change; everything else stays. What changed is printed
    with its old and new value. A change of signed terms needs another signature, or --no-signature.
    """
    new, signature = _read_terms(file, chosen)
    if no_signature:
        signature = None
    with open_existing_store(database, _known_keys) as store:
        changed = operations.set_terms(store, id, new, signature)
        taken = store.surveys.state(id)
    click.echo("\n".join(f"{id}: {line}" for line in changed or ["nothing changed"]))
    click.echo(f"{id}: {_taken(taken)}")


@survey.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@options.database
def list_surveys(as_json: bool, database: str) -> None:
    """List the surveys with their status and how many reports they have."""
    with open_existing_store(database) as store:
        states = store.surveys.states()
    if as_json:
        for state in states:
            click.echo(msgspec.json.encode(state).decode())
        return
    print_table(
        ["id", "status", "reports", "listed", "title", "mechanism", "taken", "digest"],
        [
            [
                state.id,
                state.status,
                state.reports,
                "yes" if state.listed else "no",
                state.title,
                state.mechanism,
                _taken(state),
                state.digest,
            ]
            for state in states
        ],
    )


def _command(name: str, done: str, change: Callable[[Store, str], None], help: str) -> None:
    @survey.command(name, help=help)
    @click.argument("id")
    @options.database
    def run(id: str, database: str) -> None:
        with open_existing_store(database, _known_keys) as store:
            change(store, id)
        click.echo(f"{done} {id}")


_command("close", "closed", operations.close_survey, "Take no more reports for the survey ID.")
_command(
    "reopen",
    "reopened",
    operations.reopen_survey,
    "Take reports again for the survey ID, which was closed before its first one.",
)
_command(
    "unlist",
    "unlisted",
    lambda store, id: operations.set_listing(store, id, False),
    "Take the survey ID out of the public list; who knows its address can still answer it.",
)
_command(
    "relist",
    "listed",
    lambda store, id: operations.set_listing(store, id, True),
    "Put the survey ID into the public list again.",
)


@survey.command()
@click.argument("id")
@click.option("--confirm", metavar="ID", help="The id once more, instead of typing it when asked.")
@options.database
def delete(id: str, confirm: str | None, database: str) -> None:
    """Delete the survey ID with its reports, their ids and counts, its invitations and tokens.

    Nothing brings them back but a back-up, and back-ups that you have keep what they hold. To keep
    the counts and delete only what tells who took part, see 'halftruth admin purge'.
    """
    with open_existing_store(database) as store:
        if confirm is None:
            state = store.surveys.state(id)
            click.echo(f"{id} has {state.reports} reports: {state.title}")
            confirm = click.prompt(f"Type {id} to delete it")
        done = operations.delete_survey(store, id, confirm=confirm)
    click.echo(
        f"deleted {id}: {done.reports} reports, {done.ids} ids, {done.invitations} unused"
        f" invitations, {done.tokens} tokens"
    )


def _read_terms(
    file: str | None, chosen: dict[str, Any]
) -> tuple[Changes, Signature | UnsetType | None]:
    """The terms of a file with their signature, or else those that options name."""
    changes = _changes(chosen)
    if file is None:
        return changes, UNSET
    if changes:
        raise ParameterError(
            "terms: expected either a file or options that say the same", field="terms"
        )
    try:
        signed = msgspec.json.decode(Path(file).read_bytes(), type=SignedTerms)
        _check_key("sealing_key", signed.terms.sealing_key)
    except OSError as error:
        raise ParameterError(f"{file}: cannot be read: {error.strerror}", field="terms") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ParameterError):
        raise ParameterError(
            f"{file}: expected what 'halftruth survey sign' prints", field="terms"
        ) from None
    return signed.terms, signed.signature


def _changes(chosen: dict[str, Any]) -> dict[str, Any]:
    """The terms that options name; those that are dropped are None."""
    _check_key("sealed-to", chosen["sealing_key"])
    given = {name: [str(value).lower()] for name, value in chosen.items() if value is not None}
    dropped = {name for name in fields(Terms) if given.pop(f"no_{name}", None) == ["true"]}
    for name in dropped & given.keys():
        raise ParameterError(f"{name}: expected either a value or none", field=name)
    terms = read(Terms, given)
    return {name: getattr(terms, name) for name in (*given, *dropped)}


def _check_key(field: str, key: str | None) -> None:
    if key is not None:
        check_hexadecimal(field, key)


def _known_keys() -> Sequence[str]:
    """Return the public keys of this machine's file of sealing keys."""
    from halftruth_shared.protocol.sealing import SealingKeys

    path = Config.from_environment(only=["sealing_keys"]).sealing_keys
    return () if path is None else SealingKeys.read(path).public


def _taken(state: SurveyState) -> str:
    """How the reports of a survey are taken, in a few words."""
    terms, relay = state.terms, state.relay
    source = "with invitations" if terms.invitations else "from anyone"
    if relay is not None:
        source = f"from the relay {relay.url} in batches of at least {relay.batch}"
    return ", ".join(
        [
            source,
            "sealed" if terms.sealing_key or relay else "not sealed",
            *describe_limits(terms),
            "signed" if state.signed_by else "not signed",
        ]
    )
