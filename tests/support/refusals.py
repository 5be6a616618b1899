"""Assertions about commands that fail."""


def assert_one_line(ended, *said, never=()):
    """Assert that a command failed with one line that contains `said` and nothing of `never`."""
    status, printed, complaint = ended
    assert (status, printed, complaint.count("\n")) == (2, "", 1)
    for words in said:
        assert words in complaint
    for secret in never:
        assert secret not in complaint
