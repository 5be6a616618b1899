"""Pages for people: what a collector asks, and its forms."""

from .respondents import blueprint

__all__ = ["blueprint"]
