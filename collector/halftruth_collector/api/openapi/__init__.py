"""The HTTP interface described as OpenAPI 3.1, from the types of its messages."""

from .assembly import document
from .routes import blueprint

__all__ = ["blueprint", "document"]
