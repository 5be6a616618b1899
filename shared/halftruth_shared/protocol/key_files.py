"""Files of private keys, which only their owner can read.

A file is created atomically and never overwritten, and a change replaces it atomically: a lost
private key cannot be recovered.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from ..errors import KeyFileError
from ..private_files import open_new, write_durably

_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_key_file(path: str | Path, content: bytes, *, for_folder: bool = False) -> None:
    """Write private keys to a new file with mode 0600; KeyFileError if it exists.

    With `for_folder`, a file that root creates belongs to the owner of its folder.
    """
    try:
        _write_new(Path(path), content, for_folder)
    except FileExistsError:
        raise KeyFileError(f"{path}: exists; expected the name of a new file") from None
    except (OSError, ValueError) as error:
        raise _unusable(path, "written", error) from None


def read_key_file(path: str | Path) -> bytes:
    """Read private keys from a file; KeyFileError if anyone but its owner can read it."""
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & _FOR_OTHERS:
                raise KeyFileError(
                    f"{path}: others may read this private key (mode {mode:04o}); expected mode"
                    " 0600"
                )
            return file.read()
    except (OSError, ValueError) as error:
        raise _unusable(path, "read", error) from None


def parse_private_key(pem: bytes) -> PrivateKeyTypes | None:
    """Parse a private key (PKCS #8, not encrypted); None for anything else."""
    try:
        return load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        return None


def format_private_key(private: X25519PrivateKey | Ed25519PrivateKey) -> bytes:
    """Write a private key as a PEM block (PKCS #8, not encrypted)."""
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def change_key_file(path: str | Path, change: Callable[[bytes], bytes]) -> bytes:
    """Apply a change to the keys in a file, atomically, and return its new content.

    The new file is written beside the old one, under a name that only one change can use at a time,
    and gets the same owner. Raises KeyFileError if the file cannot be read or written, or if
    another change is in progress.
    """
    old = Path(path)
    new = old.with_name(old.name + ".new")
    try:
        return _replace(old, new, change)
    except FileExistsError:
        raise KeyFileError(
            f"{path}: is being changed; expected no file {new}, which an interrupted change may"
            " have left"
        ) from None
    except (OSError, ValueError) as error:
        raise _unusable(path, "written", error) from None


def _replace(old: Path, new: Path, change: Callable[[bytes], bytes]) -> bytes:
    descriptor = open_new(new)
    try:
        with open(descriptor, "wb") as file:
            content = change(read_key_file(old))
            write_durably(file, content)
            owner = old.stat()
            if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        os.replace(new, old)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    _sync_folder(old)
    return content


def _write_new(path: Path, content: bytes, for_folder: bool) -> None:
    with open(open_new(path, for_folder=for_folder), "wb") as file:
        try:
            # A public key must not outlive its private one.
            write_durably(file, content)
            _sync_folder(path)
        except BaseException:
            # An incomplete file would block the next attempt.
            path.unlink(missing_ok=True)
            raise


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _unusable(path: str | Path, action: str, error: Exception) -> KeyFileError:
    reason = error.strerror if isinstance(error, OSError) else "expected the name of a file"
    return KeyFileError(f"{path}: cannot be {action}: {reason}")
