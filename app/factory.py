"""The web application, wired together here alone."""

import re
from collections.abc import Callable
from typing import Any

from flask import Flask, Response

from app.accounts.accounts import Accounts
from app.accounts.keyring import KeyRing
from app.admission.limiter import Limiter
from app.admission.reservations import Reservations
from app.admission.spending import Spending
from app.api import register_api
from app.container import EXTENSION, Services
from app.dashboard import dashboard_blueprint
from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.ledger.reports.reader import UsageReader
from app.observability.alarms import Alarms
from app.observability.backlog import BacklogCollector
from app.observability.metrics.metrics import Metrics
from app.observability.request_log import register_request_log
from app.pricing.price_book import load_prices
from app.serving.circuit_breaker import CircuitBreaker
from app.serving.routing import Router
from app.serving.service import CompletionService
from app.settings import Settings
from app.storage.redis.connection import connect
from app.storage.redis.group_commit import GroupCommit
from app.storage.sql.engine import create_engine
from app.tracing.trace_context import tracing
from app.transport.call import Transport
from app.transport.watchdog import Watchdog
from app.usage.recorder import Recorder
from app.usage.redis.idempotency_keys import IdempotencyKeys
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.vendors.table import load_vendors

_SLASHES = re.compile("/{2,}")


class Application(Flask):
    """Flask, but for doubled slashes, and what becomes of a response that cannot be finished.

    No view is async.
    """

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Answer a request; doubled slashes, as a base URL that ends in one makes, are one."""
        if "//" in environ["PATH_INFO"]:
            environ["PATH_INFO"] = _SLASHES.sub("/", environ["PATH_INFO"])
        return super().wsgi_app(environ, start_response)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function: Flask would look into it, at each call, for what none of ours is."""
        return func

    def process_response(self, response: Response) -> Response:
        """Close it, so that what it used is recorded; another takes its place."""
        try:
            return super().process_response(response)
        except BaseException:
            response.close()
            raise


def create_app(settings: Settings | None = None) -> Flask:
    """Return the web application, wired together; the only place that does so.

    Raises: ConfigError when the environment or the vendor table does not describe a deployment.
    """
    settings = settings or Settings.from_env()
    engine = create_engine(settings.database_url)
    redis = connect(settings.redis_url, settings.redis_timeout_s)
    commit = GroupCommit(redis)  # one for all: what they write together goes in one round trip
    stream, open_records = EventStream(redis, commit), OpenRecords(redis, commit)
    prices = load_prices(settings.prices_file)
    recorder = Recorder(
        stream,
        open_records,
        settings.spool_dir,
        serve_without_redis=settings.on_redis_down == "serve",
        limiter=Limiter(Reservations(commit), prices, Spending(engine)),
    )
    circuit_breaker, watchdog = CircuitBreaker(redis), Watchdog()
    vendors = load_vendors(settings.vendors_file, settings.env, GATEWAY_SPECS)
    usage_reader = UsageReader(engine)
    app = Application("tollgate", static_folder=None)
    # A path is served or it is not: a redirect would be made of whatever the caller says our host
    # is, and no client repeats a POST there.
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit_bytes
    app.extensions[EXTENSION] = services = Services(
        settings=settings,
        vendors=vendors,
        completions=CompletionService(
            Router(vendors, GATEWAYS),
            Transport(watchdog, settings.env),
            circuit_breaker,
            recorder,
            watchdog,
        ),
        keyring=KeyRing(Accounts(engine), settings.key_cache_s),
        usage_reader=usage_reader,
        stream=stream,
        open_records=open_records,
        recorder=recorder,
        alarms=Alarms(redis, settings.spool_dir, spools=True),
        idempotency=IdempotencyKeys(redis, open_records, lambda: recorder.owner),
        engine=engine,
        circuit_breaker=circuit_breaker,
        metrics=Metrics(vendors),
        backlog=BacklogCollector(
            stream, open_records, usage_reader, circuit_breaker, vendors, settings.spool_dir
        ),
        tracing=tracing(settings.env),
    )
    register_api(app)
    app.register_blueprint(dashboard_blueprint)
    register_request_log(app, services.metrics, services.tracing, settings.proxies)
    services.metrics.begin_routes({rule.rule for rule in app.url_map.iter_rules()})
    return app
