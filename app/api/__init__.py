"""The HTTP API: completions, chat completions, models, usage, costs, health, metrics, /docs.

Contains no SQL and no vendor's name. Read `door` first.
"""

from flask import Flask

from app.api.chat import chat_blueprint
from app.api.completions import completions_blueprint
from app.api.docs import docs_blueprint
from app.api.errors import register_errors
from app.api.health import health_blueprint
from app.api.index import index_blueprint
from app.api.metrics import metrics_blueprint
from app.api.models import models_blueprint
from app.api.refusals import refusals_blueprint
from app.api.requests import requests_blueprint
from app.api.usage import usage_blueprint


def register_api(app: Flask) -> None:
    """Register every route of the API, the error handlers and the request id."""
    for blueprint in (
        completions_blueprint,
        chat_blueprint,
        models_blueprint,
        requests_blueprint,
        usage_blueprint,
        refusals_blueprint,
        health_blueprint,
        metrics_blueprint,
        docs_blueprint,
        index_blueprint,
    ):
        app.register_blueprint(blueprint)
    register_errors(app)
