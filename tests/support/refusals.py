"""Commands that are refused."""


def assert_one_line(ended, *said, never=()):
    """A command ended with one line of complaint, which says this and nothing of that."""
    status, printed, complaint = ended
    assert (status, printed, complaint.count("\n")) == (2, "", 1)
    for words in said:
        assert words in complaint
    for secret in never:
        assert secret not in complaint
