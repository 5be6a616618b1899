"""The HTTP server: the application under gunicorn's gevent worker."""
