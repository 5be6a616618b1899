"""Pages for people: what a collector asks, its forms, and what came of them."""

from . import analysts, reference, respondents

blueprints = (respondents.blueprint, analysts.blueprint, reference.blueprint)

__all__ = ["blueprints"]
