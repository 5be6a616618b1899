"""The HTTP interface, with a blueprint for each audience."""

from .app import create_app

__all__ = ["create_app"]
