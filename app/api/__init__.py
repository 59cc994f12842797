"""Views: HTTP in and out. No SQL, no vendor names."""

from flask import Flask

from app.api.completions import completions_blueprint
from app.api.docs import docs_blueprint
from app.api.errors import register_errors
from app.api.health import health_blueprint
from app.api.metrics import metrics_blueprint
from app.api.models import models_blueprint
from app.api.usage import usage_blueprint
from app.dashboard import dashboard_blueprint
from app.observability.request_log import register_request_log


def register_views(app: Flask) -> None:
    """Register every route, the error handlers, the request id and the log."""
    # A path is served or it is not: a redirect would be made of whatever the caller says our host
    # is, and no client repeats a POST there.
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    for blueprint in (
        completions_blueprint,
        models_blueprint,
        usage_blueprint,
        health_blueprint,
        metrics_blueprint,
        docs_blueprint,
        dashboard_blueprint,
    ):
        app.register_blueprint(blueprint)
    register_errors(app)
    register_request_log(app)
