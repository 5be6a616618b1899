"""The collector: counts perturbed reports and serves what can be concluded from them."""

from typing import TYPE_CHECKING, Any

from .estimation import Counts, Estimator

if TYPE_CHECKING:
    from .web.app import create_app

__all__ = ["Counts", "Estimator", "create_app"]


def __getattr__(name: str) -> Any:
    # Estimates need no web server, so it is imported only by who asks for it.
    if name == "create_app":
        from .web.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
