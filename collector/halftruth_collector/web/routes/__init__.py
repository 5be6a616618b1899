"""The views of HTTP calls, each with its declaration; see :mod:`~..calls`."""

from ..calls import AUDIENCES
from . import operations, operators, planning, results, surveys

blueprints = tuple(audience.blueprint for audience in AUDIENCES)

__all__ = ["blueprints", "operations", "operators", "planning", "results", "surveys"]
