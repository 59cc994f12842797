"""Settings of gunicorn and Celery. `app.server.worker` is gunicorn's worker class."""
