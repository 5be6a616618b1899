"""Operation of a collector: settings, metrics and logs."""
