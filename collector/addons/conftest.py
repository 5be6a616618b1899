"""The fixtures of all tests, for those of add-ons."""

pytest_plugins = ("common_fixtures", "collector_fixtures")
