"""Weighted records as files of other programs, with a codebook and scripts."""

from .files import check_file, write_records

__all__ = ["check_file", "write_records"]
