"""Fixtures of all tests are in tests/support, since the tests of add-ons use them, too."""

pytest_plugins = ("common_fixtures", "collector_fixtures")
