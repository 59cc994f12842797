"""Fixtures: the real services that tests run against."""

import gc
import os
import threading
from collections.abc import Iterator
from itertools import compress, groupby, zip_longest
from pathlib import Path

import hypothesis
import pytest
from redis import Redis
from sqlalchemy import Engine

from app.pricing.price_book import PriceBook, load_prices
from app.settings import Settings
from app.storage.sql.engine import create_engine
from tests.support.gateway import Gateway, deployment, running
from tests.support.processes import obey_interrupts
from tests.support.services.lent import LentDatabases
from tests.support.services.postgres import Postgres, find_binaries
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

pytest_plugins = [
    "tests.support.browser",
    "tests.support.measured",
    "tests.support.redis",
    "tests.support.vendor_entries",
]

# A timing is no verdict: machines are shared.
hypothesis.settings.register_profile("tollgate", deadline=None)
hypothesis.settings.load_profile("tollgate")


#: What takes long, the longest first; the rest is short, or many tests that are.
_LONG = (
    "tests/chaos/",
    "tests/contract/test_contract.py",
    "tests/workers/test_worker.py",
    "tests/dashboard/test_browser.py",
    "tests/api/openapi/test_live.py",
    "tests/rolling/",
    "tests/cli/test_dev.py",
    "tests/cli/test_output.py",
    "tests/workers/",
    "tests/api/test_vendor_statuses.py",
    "tests/contract/wild/test_wild.py",
    "tests/storage/sql/test_start_check.py",
    "tests/fuzz/",
    "tests/e2e/",
    "tests/api/test_docs_browser.py",
    "tests/contract/chat/test_features.py",
    "tests/contract/chat/test_matrix.py",
    "tests/dashboard/",
    "tests/cli/",
    "tests/api/",
    "tests/contract/",
    "tests/ledger/",
    "tests/storage/",
    "tests/usage/",
    "tests/transport/",
)

#: What mostly waits: for processes that it starts, kills and upgrades.
_WAITING = (
    "tests/bench/",
    "tests/chaos/",
    "tests/cli/test_dev.py",
    "tests/e2e/",
    "tests/rolling/",
    "tests/server/",
    "tests/startup/",
    "tests/workers/",
)


def pytest_configure() -> None:
    """Let Ctrl-C and Ctrl-\\ be tested in a run that a shell has started in the background, too."""
    obey_interrupts()
    gc.disable()  # until every test is collected: garbage collections took a quarter of that time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that no core is left alone with one at the end.

    Every other file is one that waits, as long as there are any: one kind alone would leave a core
    idle, or overload both.
    """
    items.sort(key=lambda item: [not item.nodeid.startswith(path) for path in _LONG])
    kinds = [item.nodeid.startswith(_WAITING) for item in items]
    files = [
        [list(tests) for _, tests in groupby(compress(items, kind), lambda item: item.path)]
        for kind in (kinds, [not waits for waits in kinds])
    ]
    items[:] = [item for turn in zip_longest(*files, fillvalue=[]) for it in turn for item in it]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays for the whole run: the tests, and what they import."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _no_timers() -> Iterator[None]:
    """Let no timer outlive its tests: an app that is not closed would use their database later."""
    yield
    timers = [it for it in threading.enumerate() if isinstance(it, threading.Timer)]
    left = [it.function for it in timers if not it.finished.is_set()]
    assert not left


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """One Valkey for the whole run."""
    server = Valkey(tmp_path_factory.mktemp("valkey"))
    yield server.start()
    server.stop()


@pytest.fixture
def redis_url(valkey: Valkey) -> str:
    """An empty Redis, as REDIS_URL spells it."""
    with Redis.from_url(valkey.url) as redis:
        redis.flushall()
    return valkey.url


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for the whole run; a laptop without one skips its tests."""
    binaries = find_binaries()
    if binaries is None:
        assert "CI" not in os.environ, "CI tests PostgreSQL: install its server"
        pytest.skip("no PostgreSQL server here")
    server = Postgres(binaries)
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def lent_databases(postgres: Postgres) -> LentDatabases:
    """Databases on it, used again and again."""
    return LentDatabases(postgres)


@pytest.fixture
def postgres_url(lent_databases: LentDatabases) -> Iterator[str]:
    """A migrated PostgreSQL database of the test's own."""
    url = lent_databases.lend()
    yield url
    lent_databases.take_back(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A migrated SQLite database of the test's own."""
    folder = tmp_path / "ledger"
    folder.mkdir()
    return new_ledger(folder / "ledger.db")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated database: the test runs on each kind."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """An engine on `database_url`."""
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def prices_file(tmp_path: Path) -> Path:
    """Prices of three models of openai: `m`, `dear` and `free`."""
    path = tmp_path / "prices.toml"
    rates = {"m": ("0.15", "0.60"), "dear": ("1_000", "1_000"), "free": ("0", "0")}
    path.write_text(
        "".join(
            f'[[prices]]\nmodel = "openai/{model}"\ninput = {paid_in}\noutput = {paid_out}\n'
            for model, (paid_in, paid_out) in rates.items()
        )
    )
    return path


@pytest.fixture
def prices(prices_file: Path) -> PriceBook:
    """The prices that come with Tollgate, and those of `prices_file`."""
    return load_prices(prices_file)


@pytest.fixture
def vendor() -> Iterator[SimulatedVendor]:
    """A vendor that answers as the test says."""
    server = SimulatedVendor()
    yield server
    server.stop()


@pytest.fixture
def settings(tmp_path: Path, redis_url: str, vendor: SimulatedVendor) -> Settings:
    """A deployment whose vendors are all the simulated one, each with a trait."""
    return deployment(tmp_path, redis_url, vendor.url)


@pytest.fixture
def gateway(settings: Settings) -> Iterator[Gateway]:
    """A Tollgate served by threads of this process, with an account `acme`."""
    with running(settings) as gateway:
        yield gateway
