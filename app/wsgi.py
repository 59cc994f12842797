"""The WSGI entry point: `gunicorn --config config/gunicorn.conf.py app.wsgi:app`."""

from app.factory import create_app
from app.observability.logs import configure
from app.settings import Settings

settings = Settings.from_env()
configure(settings.log_format)
app = create_app(settings)
