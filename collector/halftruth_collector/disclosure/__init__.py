"""What a survey discloses about a person, and under which assumptions: pure functions."""
