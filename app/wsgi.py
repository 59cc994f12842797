"""The WSGI entry point: `gunicorn -c config/gunicorn.conf.py app.wsgi:app`."""

from app.web import create_app

app = create_app()
