"""Weighted records as files of other programs, with a codebook and scripts; covariances."""

from .covariance import Covariance
from .records import check_file, export_content, write_records

__all__ = ["Covariance", "check_file", "export_content", "write_records"]
