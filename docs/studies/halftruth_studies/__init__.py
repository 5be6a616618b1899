"""Other ways to protect records, beside halftruth's own: what `docs/studies` is computed with."""
