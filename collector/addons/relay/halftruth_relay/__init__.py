"""The relay: an independent server that passes on sealed reports in shuffled batches.

It sees addresses, times and ciphertext of constant length. It stores a random id of each report,
which the sender drew, and the report sealed for the collector until the collector has acknowledged
it (outbox). It stores neither address nor time, and compaction erases the order of arrival when a
survey closes.
"""
