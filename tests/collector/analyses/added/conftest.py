"""These files are added to copies of the packages; they are no tests."""

collect_ignore_glob = ["*.py", "*/*.py"]
