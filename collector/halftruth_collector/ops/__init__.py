"""Running a collector: settings, server, metrics, logs."""
