"""The HTTP server: the application under waitress, in one process or several."""
