"""Settings of the servers; `app.server.worker` is what gunicorn's worker does differently."""
