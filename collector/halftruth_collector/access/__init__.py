"""Who may do what: tokens, keys, and a record of it."""
