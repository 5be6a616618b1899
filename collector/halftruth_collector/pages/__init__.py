"""Pages for people: what a collector asks, its forms, and what came of them."""

from . import analysts, respondents

blueprints = (respondents.blueprint, analysts.blueprint)

__all__ = ["blueprints"]
