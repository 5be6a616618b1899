"""Charts as files and parts of pages, and that of a plan.

``rendering`` is imported where something is drawn, for Matplotlib is too slow to load for those who
draw nothing.
"""
