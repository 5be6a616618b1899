"""The HTTP interface described as OpenAPI 3.1, from the types of its messages."""

from .assembly import document
from .operations import OPERATIONS

__all__ = ["OPERATIONS", "document"]
