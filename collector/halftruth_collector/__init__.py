"""The collector: counts perturbed reports and serves what can be concluded from them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analyses.field_records import regress_records
    from .estimation import Counts, Estimator
    from .web.app import create_app

__all__ = ["Counts", "Estimator", "create_app", "regress_records"]


def __getattr__(name: str) -> Any:
    # Estimates need no web server, and what needs neither starts at once.
    if name in ("Counts", "Estimator"):
        from . import estimation

        return getattr(estimation, name)
    if name == "regress_records":
        from .analyses.field_records import regress_records

        return regress_records
    if name == "create_app":
        from .web.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
