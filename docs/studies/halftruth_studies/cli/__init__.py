"""Commands of ``halftruth study``: entry points of the group ``halftruth.studies``."""
