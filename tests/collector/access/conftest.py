"""What tests of access share with those of the store."""

from ..store.conftest import dump, published, raw, rows

__all__ = ["dump", "published", "raw", "rows"]
