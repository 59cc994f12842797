"""Settings of the servers; `config.web_worker` is what gunicorn's worker does differently."""
