"""Other methods of protecting records, compared with halftruth in `docs/studies`."""
