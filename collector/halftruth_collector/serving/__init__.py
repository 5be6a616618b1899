"""The HTTP server: gunicorn with workers that receive whole requests before they answer."""
