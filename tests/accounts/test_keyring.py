"""The key ring: which keys are authenticated, and how long the ledger's result is trusted."""

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Event, Thread

import pytest
from sqlalchemy import Engine, event

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey, secret_digest
from app.accounts.keyring import (
    OUTAGE_TRUST_S,
    REVOCATION_BOUND_S,
    KeyRing,
    revocation_bound_s,
)
from app.storage.sql.tables import api_keys
from app.vocabulary.errors import (
    InvalidAPIKey,
    LedgerUnavailable,
)
from tests.accounts.outage import Clocks, Ledger

CACHE_S = 5.0
DEADLINE_S = 60.0


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def ledger(sqlite_url: str) -> Iterator[Ledger]:
    ledger = Ledger(Path(sqlite_url.removeprefix("sqlite:///")))
    yield ledger
    ledger.engine.dispose()


@pytest.fixture
def accounts(ledger: Ledger, clocks: Clocks) -> Accounts:
    accounts = Accounts(ledger.engine, now_s=lambda: clocks.wall_s)
    accounts.create("acme", "n")
    return accounts


@pytest.fixture
def ring(accounts: Accounts, clocks: Clocks) -> KeyRing:
    return new_ring(accounts, clocks)


def new_ring(accounts: Accounts, clocks: Clocks, cache_s: float = CACHE_S) -> KeyRing:
    return KeyRing(
        accounts, cache_s, clock_s=lambda: clocks.monotonic_s, now_s=lambda: clocks.wall_s
    )


def new_key(accounts: Accounts, expires_at_ms: int | None = None) -> tuple[ApiKey, str]:
    return accounts.create_key(["acme"], ["completions"], expires_at_ms=expires_at_ms)


def test_a_live_key_is_authenticated_as_text_or_bytes(engine: Engine) -> None:
    accounts = Accounts(engine)
    accounts.create("acme", "n")
    key, secret = new_key(accounts)
    ring = KeyRing(accounts, CACHE_S)
    assert ring.authenticate(secret) == ring.authenticate(secret.encode()) == key


def test_every_invalid_key_gets_the_same_error(
    accounts: Accounts, ring: KeyRing, clocks: Clocks
) -> None:
    """Cases E06 and E07."""
    revoked, revoked_secret = new_key(accounts)
    accounts.revoke(revoked.key_id)
    _, expired_secret = new_key(accounts, int(clocks.wall_s * 1000) + 1)
    clocks.pass_s(1)
    _, secret = new_key(accounts)
    wrong: list[str | bytes] = [
        *("", " ", secret[:-1], f" {secret}", f"{secret}\n", secret.upper(), "sk-other-123"),
        *("ключ", "\ud800", "tg_" + "é" * 43, "\0", "x" * 1_000_000, "tg_" + "A" * 43),
        *(b"", b"\xff\xfe", "tg_é".encode("latin-1"), revoked_secret, expired_secret),
    ]
    heard = set()
    for each in wrong:
        with pytest.raises(InvalidAPIKey) as raised:
            ring.authenticate(each)
        heard.add(repr(raised.value.body()))
    assert len(heard) == 1
    assert not re.search(r"sk-other|tg_|key_|sha", heard.pop(), re.IGNORECASE)


def test_text_without_a_keys_format_never_reaches_the_ledger(ledger: Ledger, ring: KeyRing) -> None:
    for wrong in ("", "sk-other-123", "x" * 1_000_000, b"\xff"):
        with pytest.raises(InvalidAPIKey):
            ring.authenticate(wrong)
    assert ledger.questions == 0


def test_the_ledger_is_asked_once_while_its_answer_is_fresh(
    accounts: Accounts, ledger: Ledger, ring: KeyRing, clocks: Clocks
) -> None:
    _, secret = new_key(accounts)
    unknown = "tg_" + "A" * 43
    before = ledger.questions
    for _ in range(10):
        ring.authenticate(secret)
        with pytest.raises(InvalidAPIKey):
            ring.authenticate(unknown)
    assert ledger.questions - before == 2
    clocks.pass_s(CACHE_S)
    ring.authenticate(secret)
    assert ledger.questions - before == 3


@pytest.mark.parametrize("cache_s", [0.5, CACHE_S, 3600.0])
def test_a_revoked_key_stops_working_within_the_bound(
    accounts: Accounts, clocks: Clocks, cache_s: float
) -> None:
    """Case F01, with any setting of the cache."""
    rings = [new_ring(accounts, clocks, cache_s) for _ in range(3)]
    key, secret = new_key(accounts)
    for ring in rings:
        ring.authenticate(secret)
    accounts.revoke(key.key_id)
    clocks.pass_s(REVOCATION_BOUND_S)
    for ring in rings:
        with pytest.raises(InvalidAPIKey):
            ring.authenticate(secret)


@pytest.mark.parametrize("cache_s", [0.001, 0.5, CACHE_S, 3600.0])
def test_every_process_knows_of_a_disabled_account_when_its_bound_has_passed(
    accounts: Accounts, clocks: Clocks, cache_s: float
) -> None:
    rings = [new_ring(accounts, clocks, cache_s) for _ in range(3)]
    _, secret = new_key(accounts)
    for ring in rings:
        assert not ring.authenticate(secret).is_disabled
    accounts.disable("acme")
    clocks.pass_s(revocation_bound_s(cache_s))
    assert all(ring.authenticate(secret).is_disabled for ring in rings)


def test_a_new_key_works_though_its_secret_was_unknown_a_moment_ago(
    accounts: Accounts, ledger: Ledger, ring: KeyRing, clocks: Clocks
) -> None:
    key, secret = new_key(accounts)
    digest = secret_digest(secret)
    with ledger.engine.begin() as connection:
        connection.execute(api_keys.update().values(secret_sha256=b""))
    with pytest.raises(InvalidAPIKey):
        ring.authenticate(secret)
    with ledger.engine.begin() as connection:
        connection.execute(api_keys.update().values(secret_sha256=digest))
    clocks.pass_s(CACHE_S)
    assert ring.authenticate(secret) == key


def test_a_key_expires_even_while_it_is_cached(
    accounts: Accounts, ledger: Ledger, ring: KeyRing, clocks: Clocks
) -> None:
    _, secret = new_key(accounts, int(clocks.wall_s * 1000) + 1000)
    ring.authenticate(secret)
    before = ledger.questions
    clocks.pass_s(0.999)
    ring.authenticate(secret)
    clocks.pass_s(0.001)
    with pytest.raises(InvalidAPIKey):
        ring.authenticate(secret)
    assert ledger.questions == before


def test_a_known_key_is_trusted_for_a_while_when_the_ledger_is_down(
    accounts: Accounts, ledger: Ledger, ring: KeyRing, clocks: Clocks
) -> None:
    key, secret = new_key(accounts)
    _, never_seen = new_key(accounts)
    ring.authenticate(secret)
    ledger.take_away()
    clocks.pass_s(OUTAGE_TRUST_S)
    assert ring.authenticate(secret) == key
    with pytest.raises(LedgerUnavailable):
        ring.authenticate(never_seen)
    clocks.pass_s(0.1)
    with pytest.raises(LedgerUnavailable):
        ring.authenticate(secret)
    with pytest.raises(LedgerUnavailable):
        ring.authenticate(secret)
    ledger.bring_back()
    assert ring.authenticate(secret) == key


def test_a_key_known_to_be_revoked_is_never_trusted_again_by_an_outage(
    accounts: Accounts, ledger: Ledger, ring: KeyRing, clocks: Clocks
) -> None:
    key, secret = new_key(accounts)
    ring.authenticate(secret)
    accounts.revoke(key.key_id)
    clocks.pass_s(CACHE_S)
    with pytest.raises(InvalidAPIKey):
        ring.authenticate(secret)
    ledger.take_away()
    clocks.pass_s(CACHE_S)
    with pytest.raises(InvalidAPIKey):
        ring.authenticate(secret)


def test_guesses_do_not_evict_a_valid_key(
    accounts: Accounts, ledger: Ledger, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.accounts.keyring.CACHE_SIZE", 3)
    ring = new_ring(accounts, clocks)
    _, secret = new_key(accounts)
    ring.authenticate(secret)
    for letter in "ABCDEFGH":
        with pytest.raises(InvalidAPIKey):
            ring.authenticate("tg_" + letter * 43)
    before = ledger.questions
    ring.authenticate(secret)
    assert ledger.questions == before
    with pytest.raises(InvalidAPIKey):
        ring.authenticate("tg_" + "A" * 43)  # forgotten: only so many are remembered
    assert ledger.questions == before + 1


def test_one_request_asks_the_ledger_and_the_others_do_not_wait(
    accounts: Accounts, ledger: Ledger, ring: KeyRing, clocks: Clocks
) -> None:
    key, secret = new_key(accounts)
    ring.authenticate(secret)
    clocks.pass_s(CACHE_S)
    asking, answer = Barrier(2), Event()

    def stall(*arguments: object) -> None:
        if str(arguments[2]).startswith("SELECT"):
            asking.wait(DEADLINE_S)
            answer.wait(DEADLINE_S)

    event.listen(ledger.engine, "before_cursor_execute", stall)
    first = Thread(target=ring.authenticate, args=(secret,))
    first.start()
    asking.wait(DEADLINE_S)
    assert ring.authenticate(secret) == key  # would stall, were the ledger asked again
    answer.set()
    first.join(DEADLINE_S)
    assert not first.is_alive()
