"""Other ways to protect records, held beside halftruth's own: pure functions."""
