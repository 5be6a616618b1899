"""Weighted records as files, with codebook and scripts for R and Python."""
