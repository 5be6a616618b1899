"""Expected precision of estimates before field work, and recommended mechanisms."""
