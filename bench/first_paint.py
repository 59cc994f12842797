"""Measures the dashboard's pages over a filled ledger, in headless Chromium.

`python -m bench.first_paint DATABASE_URL`: the ledger that `python -m bench.month DATABASE_URL`
has filled with 10,000,000 entries. Prints, for each page, the size of its HTML, the time in which
the server answered, and the time from the click to the first paint. Needs chromium and
chromedriver, and the packages of the tests.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
from selenium import webdriver

from app.accounts.accounts import Accounts
from app.cli.tables import Cell, format_table
from app.settings import database_url
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import upgrade
from bench.machine import load, machine
from bench.month import DAYS, START_S
from tests.support.gateway import gunicorn
from tests.support.services.valkey import Valkey

ROUNDS = 7

_MONTH = f"since={time.strftime('%Y-%m-%d', time.gmtime(START_S))}"
_MONTH += f"&until={time.strftime('%Y-%m-%d', time.gmtime(START_S + (DAYS - 1) * 86_400))}"
_DAY = "since=2026-10-20&until=2026-10-20"
#: What is measured -> the page.
PAGES = {
    "the month by model": f"?{_MONTH}",
    "the month by key": f"?{_MONTH}&by=key",
    "half a month, compared with the other": "?since=2026-10-16&until=2026-10-30",
    "the month by model in Berlin's days": f"?{_MONTH}&zone=Europe/Berlin",
    "a day by hour": f"?{_DAY}",
    "an hour by minute": "?since=2026-10-20T10:00&until=2026-10-20T11:00",
    "a day by user, from entries": f"?{_DAY}&by=user",
    "a day by status, from entries": f"?{_DAY}&by=status",
    "the last requests": f"/requests?{_MONTH}",
    "the last requests of a key": f"/requests?{_MONTH}&key=key_3",
    "the last requests that failed, of which there are none": f"/requests?{_MONTH}&status=failed",
    "accounts": "/accounts",
}
_PAINT = """
const [load] = performance.getEntriesByType('navigation');
const paint = performance.getEntriesByName('first-contentful-paint')[0];
return [load.decodedBodySize, load.responseEnd - load.requestStart, paint?.startTime ?? null];
"""


@dataclass(frozen=True, slots=True)
class Load:
    """One load of a page: bytes of HTML, and milliseconds."""

    size: int
    answer_ms: float
    paint_ms: float


@click.command()
@click.argument("url")
def main(url: str) -> None:
    """Load each page several times, and print the medians."""
    url = database_url({"DATABASE_URL": url})
    click.echo(f"{machine()}\nload before: {load():.1f}")
    rows: list[list[Cell]] = []
    with _served(url) as (root, secret), _browser() as chrome:
        chrome.get(f"{root}/sign-in")
        chrome.find_element("id", "api_key").send_keys(f"{secret}\n")
        for name, page in PAGES.items():
            loads = [_load(chrome, root + page) for _ in range(ROUNDS)]
            middle = (median(it.answer_ms for it in loads), median(it.paint_ms for it in loads))
            worst = max(it.paint_ms for it in loads)
            kilobytes = f"{loads[0].size / 1000:.0f}"
            rows.append([name, kilobytes, *(f"{it:.0f}" for it in (*middle, worst))])
    heads = ("page", "kB", "answer ms", "first paint ms", "worst ms")
    for line in format_table(heads, rows, pretty=True):
        click.echo(line)


def _load(chrome: webdriver.Chrome, page: str) -> Load:
    chrome.get(page)
    deadline_s = time.monotonic() + 60
    while True:
        size, answer_ms, paint_ms = chrome.execute_script(_PAINT)
        if paint_ms is not None:
            return Load(size, answer_ms, paint_ms)
        if time.monotonic() > deadline_s:
            raise click.ClickException(f"{page} was not painted")


@contextmanager
def _served(url: str) -> Iterator[tuple[str, str]]:
    """Serve the dashboard with gunicorn; yield its address and an admin's key."""
    upgrade(url)
    engine = create_engine(url)
    accounts = Accounts(engine)
    key, secret = accounts.create_key([], ["admin"], "bench")
    with tempfile.TemporaryDirectory() as folder:
        valkey = Valkey(Path(folder)).start()
        env = {
            "REDIS_URL": valkey.url,
            "DATABASE_URL": url,
            "TOLLGATE_SPOOL_DIR": str(Path(folder) / "spool"),
            "WEB_CONCURRENCY": "1",
        }
        try:
            with gunicorn(env, Path(folder) / "web.log") as (base_url, _):
                yield f"{base_url.removesuffix('/v5')}/dashboard", secret
        finally:
            valkey.stop()
            accounts.revoke(key.key_id)
            engine.dispose()


@contextmanager
def _browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    chrome = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver") or ""))
    try:
        yield chrome
    finally:
        chrome.quit()


if __name__ == "__main__":
    main()
