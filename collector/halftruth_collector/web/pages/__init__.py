"""HTML pages: forms, results, operation and design of surveys."""

from . import design, forms, operate, results, session

blueprints = tuple(page.blueprint for page in (forms, session, results, operate, design))

__all__ = ["blueprints"]
