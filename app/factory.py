"""Builds the web application. Only this module constructs stores, readers and clients for it."""

from dataclasses import dataclass

from flask import Flask
from redis import Redis
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.accounts.keyring import KeyRing
from app.accounts.last_used import LastUsed
from app.accounts.sessions import Sessions
from app.admission.limiter import Limiter
from app.admission.reservations import Reservations
from app.admission.spending import Spending
from app.admission.unchecked import UncheckedRequests
from app.api import register_api
from app.api.application import Application
from app.container import EXTENSION, Services
from app.dashboard import dashboard_blueprint
from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.source import Reports
from app.observability.alarms import Alarms
from app.observability.backlog import BacklogCollector
from app.observability.budget_metrics import BudgetCollector
from app.observability.disk_alarms import DiskAlarms
from app.observability.metrics.metrics import Metrics
from app.observability.refusals import Refusals
from app.observability.request_log import register_request_log
from app.pricing.live_prices import LivePrices
from app.pricing.price_book import PriceBook
from app.serving.circuit_breaker import CircuitBreaker
from app.serving.routing import Router
from app.serving.service import CompletionService
from app.settings import Settings
from app.storage.redis.cluster import reject_cluster
from app.storage.redis.connection import connect
from app.storage.sql.engine import create_engine
from app.tracing.setup import tracing
from app.transport.call import Transport
from app.transport.watchdog import Watchdog
from app.usage.recording.recorder import Recorder
from app.usage.redis.idempotency_keys import IdempotencyKeys
from app.usage.redis.refusal_counts import RefusalCounts
from app.usage.redis.stores import Stores
from app.vendors.table import VendorTable, load_vendors


def create_app(settings: Settings | None = None) -> Flask:
    """Return the web application.

    Raises: ConfigError if the environment or the vendor table is incomplete or invalid, or Redis is
    a cluster.
    """
    settings = settings or Settings.from_env()
    app = _application(settings)
    app.extensions[EXTENSION] = services = _services(settings, _storage(settings))
    register_api(app)
    app.register_blueprint(dashboard_blueprint)
    register_request_log(
        app, services.metrics, services.refusals, services.tracing, settings.proxies
    )
    services.metrics.begin_routes({rule.rule for rule in app.url_map.iter_rules()})
    return app


def _application(settings: Settings) -> Application:
    app = Application("tollgate", static_folder=None)
    # No path is redirected: the target would be built from the host that the caller sent, and no
    # client repeats a POST there.
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit_bytes
    return app


@dataclass(frozen=True, slots=True)
class _Storage:
    """The connections to the database and to Redis, and what is built on both.

    When Redis is full, either requests are admitted and their events go to the spool, or requests
    are rejected and Redis takes the events of those in flight.
    """

    engine: Engine
    redis: "Redis"
    stores: Stores
    reservations: Reservations


def _storage(settings: Settings) -> _Storage:
    redis = connect(settings.redis_url, settings.redis_timeout_s)
    reject_cluster(redis)
    serves = settings.on_redis_down == "serve"
    stores = Stores.of(redis, serves_if_full=serves)
    reservations = Reservations(stores.commit, even_if_full=serves)
    return _Storage(create_engine(settings.database_url), redis, stores, reservations)


def _services(settings: Settings, storage: _Storage) -> Services:
    vendors = load_vendors(settings.vendors_file, settings.env, GATEWAY_SPECS)
    metrics = Metrics(vendors)
    unchecked = UncheckedRequests(storage.redis, metrics.unlimited)
    prices = _watched_prices(settings)
    recorder = _recorder(settings, storage, unchecked, prices)
    circuit_breaker = CircuitBreaker(storage.redis)
    accounts, usage_reader = Accounts(storage.engine), UsageReader(storage.engine)
    return Services(
        settings=settings,
        vendors=vendors,
        completions=_completions(settings, vendors, prices.book, circuit_breaker, recorder),
        accounts=accounts,
        keyring=KeyRing(accounts, settings.key_cache_s, last_used=LastUsed(storage.engine)),
        sessions=Sessions(storage.engine),
        usage_reader=usage_reader,
        reports=Reports(storage.engine, _replica(settings)),
        stores=storage.stores,
        recorder=recorder,
        alarms=_alarms(settings, storage, recorder, unchecked, prices),
        idempotency=_idempotency(storage, recorder),
        engine=storage.engine,
        circuit_breaker=circuit_breaker,
        metrics=metrics,
        refusals=Refusals(RefusalCounts(storage.redis), metrics),
        backlog=_backlog(settings, storage, usage_reader, circuit_breaker, vendors),
        budgets=BudgetCollector(accounts, usage_reader),
        tracing=tracing(settings.env),
        live_prices=prices,
    )


def _watched_prices(settings: Settings) -> LivePrices:
    prices = LivePrices(settings.prices_file)
    prices.watch()
    return prices


def _alarms(
    settings: Settings,
    storage: _Storage,
    recorder: Recorder,
    unchecked: UncheckedRequests,
    prices: LivePrices,
) -> Alarms:
    keeps_journal = settings.journal == "on"
    disk = DiskAlarms(settings.spool_dir, True, keeps_journal, lambda: recorder.journal_fault)
    return Alarms(storage.redis, disk, unchecked=unchecked, price_fault=lambda: prices.fault)


def _replica(settings: Settings) -> Engine | None:
    return create_engine(settings.database_read_url) if settings.database_read_url else None


def _recorder(
    settings: Settings, storage: _Storage, unchecked: UncheckedRequests, prices: LivePrices
) -> Recorder:
    return Recorder(
        storage.stores,
        settings.spool_dir,
        serve_without_redis=settings.on_redis_down == "serve",
        keeps_journal=settings.journal == "on",
        cell=settings.cell,
        limiter=Limiter(storage.reservations, prices.book, Spending(storage.engine)),
        unchecked=unchecked,
    )


def _completions(
    settings: Settings,
    vendors: VendorTable,
    prices: PriceBook,
    circuit_breaker: CircuitBreaker,
    recorder: Recorder,
) -> CompletionService:
    watchdog = Watchdog()
    return CompletionService(
        Router(vendors, GATEWAYS, prices.context),
        Transport(watchdog, settings.env, settings.http_adapter),
        circuit_breaker,
        recorder,
        watchdog,
    )


def _idempotency(storage: _Storage, recorder: Recorder) -> IdempotencyKeys:
    return IdempotencyKeys(storage.redis, storage.stores.records, lambda: recorder.owner)


def _backlog(
    settings: Settings,
    storage: _Storage,
    usage_reader: UsageReader,
    circuit_breaker: CircuitBreaker,
    vendors: VendorTable,
) -> BacklogCollector:
    return BacklogCollector(
        storage.stores,
        usage_reader,
        circuit_breaker,
        vendors,
        settings.spool_dir,
    )
