"""``python -m halftruth_collector`` is the command ``halftruth``."""

from .cli import main

main()
