"""Price files: which row has priority, and the problems of a file."""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from app.pricing.price_file import PriceFile
from app.settings import ConfigError
from app.vocabulary.completion import Usage
from tests.pricing.books import TOKENS, book, ms, row


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_newest_row_that_has_begun_is_effective_in_any_order(
    tmp_path: Path, order: Sequence[int]
) -> None:
    rows = (
        row("openai/gpt-4o", "9", "from = 2026-10-01"),
        row("openai/*", "8", "from = 2026-09-01"),
        row("openai/gpt-4o", "7", "from = 2026-09-15"),
        row("openai/old", "6") + row("openai/old", "5", "from = 2026-09-01"),
    )
    own = book(tmp_path, "".join(rows[n] for n in order))
    found = [
        own.cost_nanousd("openai", "gpt-4o", TOKENS, at_ms=at_ms)
        for at_ms in (ms(2026, 8, 31), ms(2026, 9, 1), ms(2026, 9, 20), ms(2026, 10, 1))
    ]
    assert found == [2_500_000_000, 8 * 10**9, 7 * 10**9, 9 * 10**9]
    assert own.cost_nanousd("openai", "o-x", TOKENS, at_ms=ms(2026, 8, 31)) is None
    old = [own.cost_nanousd("openai", "old", TOKENS, ms(2026, month, 1)) for month in (8, 9)]
    assert old == [6 * 10**9, 5 * 10**9]


def test_a_name_comes_before_a_glob_and_the_first_glob_before_others(tmp_path: Path) -> None:
    rows = row("x/*", "1", "from = 2026-09-01") + row("x/m*", "2") + row("x/mine", "3")
    own = book(tmp_path, rows)
    at_ms = ms(2026, 9, 1)
    found = [own.cost_nanousd("x", name, TOKENS, at_ms) for name in ("mine", "more", "other")]
    assert found == [3 * 10**9, 10**9, 10**9]
    assert own.cost_nanousd("x", "more", TOKENS, at_ms=ms(2026, 8, 31)) == 2 * 10**9


def test_numbers_of_a_file_are_exact(tmp_path: Path) -> None:
    own = book(tmp_path, row("x/m", "0.1") + row("x/n", "[[0, 0.3], [10, 0.7]]"))
    assert own.cost_nanousd("x", "m", Usage(prompt_tokens=3)) == 300
    assert own.cost_nanousd("x", "n", Usage(prompt_tokens=11)) == 7_700


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "cannot be read"),
        ("[price]\n", "price is unknown"),
        ("prices = 5\n", "prices must be tables"),
        ("[providers]\nopenai = 5\n", "name of a provider"),
        ('[[prices]]\nmodel = "openai/x"\ninput = 1\n', "number 1: input and output are required"),
        (row("openai", "1"), "model must be"),
        (row("openai/x", "-1"), "input must be from 0"),
        (row("openai/x", "1", "from = 5"), "from must be a day"),
        (row("openai/x", "1", "from = 2026-01-01T00:00:00Z"), "from must be a day"),
        (row("openai/x", "1", "cahced = 1"), "cahced is unknown"),
        (row("openai/x", "nan"), "input must be from 0"),
        (row("openai/x", "1", "service_tier = 5"), "service_tier must be"),
        (row("openai/x", "1", 'service_tier = " "'), "service_tier must be"),
        ("[unknown]\ninput = 1\n", r"\[unknown\]: input and output are required"),
        ("unknown = 1\n", r"\[unknown\]: must be a table"),
        ("[unknown]\ninput = 1\noutput = 1\nfrom = 1\n", "from is unknown"),
        (row("a/*", "1") + row("a/b", "1") + row("a/*", "2"), r"numbers 1 and 3 differ for a/\*"),
        (
            row("a/b", "1", "from = 2026-10-01") + row("a/b", "2", "from = 2026-10-01"),
            "numbers 1 and 2 differ for a/b, from 2026-10-01",
        ),
        (
            row("a/b", "1", 'service_tier = "flex"') + row("a/b", "2", 'service_tier = "FLEX"'),
            "numbers 1 and 2 differ for a/b in the tier flex, without a `from`",
        ),
    ],
)
def test_an_invalid_file_is_rejected_with_its_problem(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        book(tmp_path, text)


def test_rows_with_the_same_price_are_no_contradiction(tmp_path: Path) -> None:
    same = row("a/b", "1") + row("a/b", "1.0") + row("a/b", "2", "from = 2026-10-01")
    assert book(tmp_path, same + row("a/b", "3", 'service_tier = "flex"')).price("a", "b")


def test_all_problems_of_a_file_are_listed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        book(tmp_path, row("openai", "1", "x = 1") + row("b/c", "-1"))
    assert len(str(refusal.value).splitlines()) == 3


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, f"x = {'9' * 5_000}"])
def test_a_file_that_no_parser_ends_well_with_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"prices\.toml cannot be read"):
        PriceFile.read(path)


def test_a_file_of_windows_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(b'\xef\xbb\xbf[[prices]]\nmodel = "a/b"\ninput = 1\noutput = 2\n')
    assert [row.model for row in PriceFile.read(path).rows] == ["a/b"]
