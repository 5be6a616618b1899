"""``halftruth survey``: publish, sign, list and close surveys."""

from pathlib import Path

import click
import msgspec
from halftruth_shared import ParameterError, Protection, read_survey
from halftruth_shared.protocol.terms import SignedTerms, Terms

from ..store import Store
from . import options
from .output import print_table

_terms = click.option(
    "--terms",
    "terms_file",
    type=click.Path(),
    metavar="FILE",
    help="How reports are taken, as 'survey sign' wrote it.",
)
_invitations = click.option(
    "--invitations", is_flag=True, help="Each report needs an invitation; see 'halftruth invite'."
)
_sealed_to = click.option(
    "--sealed-to",
    metavar="KEY",
    help="Public sealing key that reports are encrypted to; see 'halftruth sealing-key'.",
)


@click.group()
def survey() -> None:
    """Publish, sign, list and close surveys."""


@survey.command()
@click.argument("file", type=click.Path())
@_terms
@_invitations
@_sealed_to
@options.database
def publish(
    file: str, terms_file: str | None, invitations: bool, sealed_to: str | None, database: str
) -> None:
    """Publish the survey of a TOML FILE."""
    new = read_survey(file)
    signed = _read_terms(terms_file, invitations, sealed_to)
    with Store(database) as store:
        if signed is None:
            store.surveys.publish(new)
        else:
            store.surveys.publish(new, signed.terms, signed.signature)
        taken = store.surveys.get(new.id)
    click.echo(f"published {new.id}, digest {new.digest}")
    said = _said(SignedTerms(terms=taken.terms, signature=taken.signature))
    click.echo(f"reports are taken {said}")
    click.echo("\n".join(Protection.of(new).sentences()))


@survey.command()
@click.argument("file", type=click.Path())
@click.option("--key", "key_file", type=click.Path(), required=True, help="Private key to sign by.")
@_invitations
@_sealed_to
def sign(file: str, key_file: str, invitations: bool, sealed_to: str | None) -> None:
    """Sign the survey of a TOML FILE, and print how its reports are to be taken.

    What is printed goes to 'survey publish --terms' or 'survey terms'. It is no secret. The private
    key is not needed there: sign on a machine of your own.
    """
    # Imported here: few commands need cryptography, and the library takes a while.
    from halftruth_shared.protocol.signing import OperatorKey
    from halftruth_shared.protocol.signing import sign as make_signature

    chosen = _terms_of(invitations, sealed_to)
    signature = make_signature(OperatorKey.read(key_file), read_survey(file).digest, chosen)
    click.echo(msgspec.json.encode(SignedTerms(terms=chosen, signature=signature)).decode())


@survey.command()
@click.argument("id")
@click.argument("file", required=False, type=click.Path())
@_invitations
@_sealed_to
@options.database
def terms(
    id: str, file: str | None, invitations: bool, sealed_to: str | None, database: str
) -> None:
    """Change how reports of the survey ID are taken, to what 'survey sign' wrote into FILE.

    Without FILE the options say it, and the survey is not signed any more.
    """
    signed = _read_terms(file, invitations, sealed_to) or SignedTerms(terms=Terms())
    with Store(database) as store:
        store.surveys.set_terms(id, signed.terms, signed.signature)
    click.echo(f"{id}: {_said(signed)}")


@survey.command("list")
@options.database
def list_surveys(database: str) -> None:
    """List the surveys with their status."""
    with Store(database) as store:
        surveys = store.surveys.all()
    print_table(
        ["id", "status", "title", "mechanism", "reports", "digest"],
        [
            [
                stored.id,
                stored.status,
                stored.survey().title_in(),
                stored.survey().mechanism.kind,
                _said(SignedTerms(terms=stored.terms, signature=stored.signature)),
                stored.digest,
            ]
            for stored in surveys
        ],
    )


@survey.command()
@click.argument("id")
@options.database
def close(id: str, database: str) -> None:
    """Take no more reports for the survey ID."""
    with Store(database) as store:
        store.surveys.close(id)
    click.echo(f"closed {id}")


def _read_terms(file: str | None, invitations: bool, sealed_to: str | None) -> SignedTerms | None:
    """The terms of a file, or else of the options; None where neither says anything."""
    if file is None:
        if not invitations and sealed_to is None:
            return None
        return SignedTerms(terms=_terms_of(invitations, sealed_to))
    if invitations or sealed_to is not None:
        raise ParameterError(
            "terms: expected either a file or --invitations and --sealed-to", field="terms"
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
    return signed


def _terms_of(invitations: bool, sealed_to: str | None) -> Terms:
    _check_key("sealed-to", sealed_to)
    return Terms(invitations=invitations, sealing_key=sealed_to)


def _check_key(field: str, key: str | None) -> None:
    if key is not None:
        from halftruth_shared.protocol.signing import check_hexadecimal

        check_hexadecimal(field, key)


def _said(signed: SignedTerms) -> str:
    """How reports are taken, in a few words."""
    return ", ".join(
        [
            "with invitations" if signed.terms.invitations else "from anyone",
            "sealed" if signed.terms.sealing_key else "not sealed",
            "signed" if signed.signature else "not signed",
        ]
    )
