"""The relay: another party that passes sealed reports on to a collector in one shuffled batch.

It sees addresses, times and ciphertext of one length. It keeps, of each report, an id that the
sender drew at random and the report still sealed to the collector, the latter until the collector
has acknowledged it; no address, no time, no order of arrival.
"""

from .app import create_app

__all__ = ["create_app"]
