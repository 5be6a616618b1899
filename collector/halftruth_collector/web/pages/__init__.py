"""Pages for people: what a collector asks, its forms, and what came of them."""

from . import design
from . import forms as respondents
from . import operate as operators
from . import results as analysts

blueprints = (
    respondents.blueprint,
    analysts.blueprint,
    operators.blueprint,
    design.blueprint,
)

__all__ = ["blueprints"]
