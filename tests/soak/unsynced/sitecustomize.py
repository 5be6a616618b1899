"""Disables syncing of SQLite; imported by Python if this folder is on its path."""

from disks import wait_for_no_disk

wait_for_no_disk()
