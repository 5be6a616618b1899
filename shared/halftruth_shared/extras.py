"""Parts that need NumPy or cryptography, which a light client does without.

They are imported where they are used, so that the client of a respondent starts fast, and so that a
missing library is an error in one line that names what to install.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from .errors import ParameterError

#: By library: its name in messages, the extra of halftruth-client that brings it, and a module that
#: older versions do not have.
_EXTRAS = {
    "numpy": ("NumPy", "analyst", "numpy"),
    "cryptography": (
        "cryptography 47 or newer",
        "sealed",
        "cryptography.hazmat.primitives.hpke",
    ),
}


class MissingExtra(ParameterError, ImportError):
    """A library is not installed; the message names the extra that brings it.

    Parameters
    ----------
    library : {"numpy", "cryptography"}
    what : str, optional
        What needs the library.
    field : str, optional
        The field that asks for it; by default the library.
    """

    def __init__(self, library: str, what: str = "", *, field: str | None = None) -> None:
        name, extra, _ = _EXTRAS[library]
        about = f"{what} needs {name}, which is not installed" if what else f"{name} is missing"
        super().__init__(
            f"{field or library}: {about}; expected pip install 'halftruth-client[{extra}]'",
            field=field or library,
        )


def require_extra(library: str, what: str, *, field: str) -> None:
    """Raise `MissingExtra` unless a library is installed, without importing all of it."""
    *_, module = _EXTRAS[library]
    try:
        is_missing = find_spec(module) is None
    except ModuleNotFoundError:
        is_missing = True
    if is_missing:
        raise MissingExtra(library, what, field=field)


def import_extra(module: str, what: str = "", *, field: str | None = None) -> ModuleType:
    """Return a module that needs an optional library.

    Parameters
    ----------
    module : str
        Its full name.
    what, field : str, optional
        For the message of `MissingExtra`.

    Raises
    ------
    MissingExtra
        If NumPy or cryptography is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _EXTRAS:
            raise
        raise MissingExtra(library, what, field=field) from None
