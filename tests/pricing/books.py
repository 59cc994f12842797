"""Price books for the tests of this room."""

from datetime import UTC, datetime
from pathlib import Path

from app.pricing.price_book import PriceBook, load_prices
from app.vocabulary.completion import Usage

TOKENS = Usage(prompt_tokens=1_000_000, completion_tokens=0, total_tokens=1_000_000)


def ms(*day: int) -> int:
    return int(datetime(*day, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc, arg-type]


def book(tmp_path: Path, text: str) -> PriceBook:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return load_prices(path)


def row(model: str, dollars: str, more: str = "") -> str:
    return f'[[prices]]\nmodel = "{model}"\ninput = {dollars}\noutput = {dollars}\n{more}\n'
