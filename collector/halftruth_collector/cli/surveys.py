"""``halftruth survey``: manage surveys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from halftruth_shared import HalftruthError, ParameterError, Protection, read_survey
from halftruth_shared.analyses.reading import fields, make, read
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.terms import Signature, SignedTerms, Terms
from msgspec import UNSET, UnsetType

from .. import operations
from ..collector_store import Store
from ..dry_run import check_survey, why_form_refuses
from ..operations import Changes
from ..ops.settings import Config, FormLimits
from ..store.surveys import describe_taking
from . import Commands, options
from .output import json_text, write

C = TypeVar("C", bound=Callable[..., Any] | click.Command)

_terms = click.option(
    "--terms",
    "terms_file",
    type=click.Path(),
    metavar="FILE",
    help="Signed terms, the output of 'survey sign'.",
)


#: Options of terms that have a value: their names, placeholders of the value, and the help of the
#: options that drop them.
_VALUES = {
    "sealing_key": ("sealed-to", "KEY", "Reports are no longer sealed."),
    "opens_at": ("opens-at", "MOMENT", "Open the survey now."),
    "closes_at": ("closes-at", "MOMENT", "Remove the deadline."),
    "max_reports": ("max-reports", "NUMBER", "Remove the limit."),
}


def _chosen(command: C) -> C:
    """Add an option to set and an option to drop each of the terms."""
    for name, field in reversed(fields(Terms).items()):
        option, metavar, dropped = _VALUES.get(name, (name.replace("_", "-"), None, None))
        if metavar is None:
            both = f"--{option}/--no-{option}"
            command = click.option(both, name, default=None, help=field.description)(command)
        else:
            drop = click.option(f"--no-{option}", f"no_{name}", is_flag=True, help=dropped)
            give = click.option(f"--{option}", name, metavar=metavar, help=field.description)
            command = give(drop(command))
    return command


@click.group(
    cls=Commands,
    places={
        "from-csv": "from_csv:from_csv",
        "invite": "invite:invite",
        "new": "new_survey:new",
    },
    words="survey",
)
def survey() -> None:
    """Write, import, check, publish, sign, list and close surveys."""


@survey.command()
@click.argument("file", type=click.Path())
@click.option(
    "--max-gamma",
    envvar="HALFTRUTH_MAX_GAMMA",
    default=FormLimits().max_gamma,
    show_default=True,
    metavar="NUMBER",
    help="Largest amplification that hosted forms accept.",
)
@click.option(
    "--max-answer-gamma",
    envvar="HALFTRUTH_MAX_ANSWER_GAMMA",
    metavar="NUMBER",
    help="Largest amplification of an answer that hosted forms accept of surveys that promise by"
    " answer.",
)
@click.option(
    "--max-total-gamma",
    envvar="HALFTRUTH_MAX_TOTAL_GAMMA",
    metavar="NUMBER",
    help="Largest amplification that hosted forms accept of all reports of a browser together.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(file: str, as_json: bool, **limits: Any) -> None:
    """Check the survey of a TOML FILE without publishing it.

    The output states its guarantees, and whether the hosted form would accept it.
    """
    terms = check_survey(read_survey(file), FormLimits(**limits))
    if as_json:
        click.echo(json_text(terms))
        return
    click.echo(f"{terms.id}: {terms.title}, {terms.questions} questions, digest {terms.digest}")
    click.echo("\n".join(terms.sentences()))


@survey.command("import")
@click.argument("file", type=click.Path())
@options.survey_id
@options.gamma
@options.output("Write the survey to this file, not to the terminal.")
@click.option(
    "--map",
    "names",
    type=click.Path(),
    metavar="FILE",
    help="Also write the mapping of names and values to this file, for pages with SurveyJS.",
)
@click.option("--verbose", is_flag=True, help="Print each change, instead of a summary.")
def import_(
    file: str, id: str | None, gamma: str, output: str | None, names: str | None, verbose: bool
) -> None:
    """Convert the questionnaire in FILE to a survey file.

    The survey is not published. Formats are SurveyJS (JSON), LimeSurvey (.lss) and XLSForm (.xlsx,
    .csv). Parts that cannot be converted, such as questions with free text, are listed on standard
    error by kind.
    """
    from ..importers import import_questionnaire

    made = import_questionnaire(file, id, gamma)
    if output is None:
        click.echo(made.text)
    else:
        write(output, made.text.encode(), "output")
        click.echo(f"{made.id}: {made.questions} questions in {output}")
    if names is not None:
        write(names, json_text(made.names).encode(), "map")
    for sentence in made.left_out if verbose else made.summary:
        click.echo(f"halftruth: {sentence}", err=True)
    try:
        made.survey  # noqa: B018
    except HalftruthError as error:
        click.echo(f"halftruth: 'halftruth survey check' refuses the file: {error}", err=True)


@survey.command()
@click.argument("file", type=click.Path())
@_terms
@_chosen
@click.option("--unlisted", is_flag=True, help="Publish unlisted (link only); see 'unlist'.")
@options.database
def publish(
    file: str, terms_file: str | None, unlisted: bool, database: str, **chosen: Any
) -> None:
    """Publish the survey of a TOML FILE."""
    new = read_survey(file)
    terms, signature = _read_terms(terms_file, chosen)
    # Read the settings first, so that an error leaves everything unchanged.
    limits = Config.from_environment(only=FormLimits._fields).form_limits
    sentences = Protection.of(new).sentences()
    with options.naming(Store(database, sealing_keys=options.known_keys)) as store:
        changed = operations.publish_survey(
            store,
            new,
            terms,
            signature,
            unlisted=unlisted,
        )
        taken = store.surveys.state(new.id)
    refused = why_form_refuses(new, limits, taken.terms)
    click.echo("\n".join([f"published {new.id}, digest {new.digest}", *changed]))
    click.echo(f"reports are taken {describe_taking(taken)}")
    click.echo("\n".join(sentences))
    if refused is not None:
        click.echo(f"halftruth: the hosted form refuses it: {refused}", err=True)


@survey.command()
@click.argument("file", type=click.Path())
@click.option(
    "--key",
    "key_file",
    type=click.Path(),
    required=True,
    metavar="FILE",
    help="Private key for signing, from 'halftruth admin key create'.",
)
@_chosen
def sign(file: str, key_file: str, **chosen: Any) -> None:
    """Sign the survey of a TOML FILE and its terms.

    The signed terms are printed. They are for 'survey publish --terms' or 'survey terms', and are
    not secret. These commands do not need the private key, so keep it on another machine.
    """
    # Import here, since few commands need cryptography, which is slow to import.
    from halftruth_shared.protocol.signing import OperatorKey
    from halftruth_shared.protocol.signing import sign as make_signature

    terms = make(Terms, _changes(chosen))
    signature = make_signature(OperatorKey.read(key_file), read_survey(file).digest, terms)
    click.echo(msgspec.json.encode(SignedTerms(terms=terms, signature=signature)).decode())


@survey.command()
@click.argument("id")
@click.argument("file", required=False, type=click.Path())
@_chosen
@click.option("--no-signature", is_flag=True, help="Remove the signature.")
@options.store
def terms(id: str, file: str | None, no_signature: bool, store: Store, **chosen: Any) -> None:
    """Change the terms of the survey ID.

    FILE contains signed terms, the output of 'survey sign', which replace all terms. Without FILE,
    only the given options change. All changes are printed with their old and new values. A change
    of signed terms needs a new signature, or --no-signature.
    """
    new, signature = _read_terms(file, chosen)
    if no_signature:
        signature = None
    changed = operations.set_terms(store, id, new, signature)
    taken = store.surveys.state(id)
    click.echo("\n".join(f"{id}: {line}" for line in changed or ["nothing changed"]))
    click.echo(f"{id}: {describe_taking(taken)}")


def _read_terms(
    file: str | None, chosen: dict[str, Any]
) -> tuple[Changes, Signature | UnsetType | None]:
    """Return the terms of a file with their signature, or the terms from options."""
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
    """Return the terms from options, with None for dropped terms."""
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
