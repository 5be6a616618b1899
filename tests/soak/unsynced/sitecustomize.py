"""Lets SQLite wait for no disk; imported by every Python that has this folder on its path."""

from disks import wait_for_no_disk

wait_for_no_disk()
