"""Pages for people: what a collector asks, its forms, and what came of them."""

from . import design, forms, operate, results, session

blueprints = tuple(page.blueprint for page in (forms, session, results, operate, design))

__all__ = ["blueprints"]
