"""Storage of a collector: one module for each kind of data, the database, and its files.

The stores only read. Operators write with `operations`, and reports are counted by `intake`.
"""
