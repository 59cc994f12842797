"""A vendor's bill compared with the ledger."""

import pytest
from sqlalchemy import Engine

from app.ledger.bill import read_bill
from app.ledger.bill_check import BillDifference, compare
from app.ledger.posting import Ledger
from app.ledger.retention import prune
from app.ledger.slots import DAY_S
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from app.vocabulary.errors import UsagePruned
from tests.ledger.bills import CSV, TODAY, bucket, page, pages
from tests.ledger.ledgers import MIDNIGHT_S, at


def test_a_bill_that_is_the_same_has_no_difference(engine: Engine) -> None:
    Ledger(engine).post(
        [
            at(0),
            at(DAY_S - 0.001, vendor="azure", model="x"),  # served by openai all the same
            at(0, model_served=None, model="plain"),
            at(0, vendor_served="vllm"),
            at(DAY_S),
            at(
                0, model="none", source="none", prompt_tokens=0, completion_tokens=0, total_tokens=0
            ),
        ]
    )
    raw = pages(page(bucket(("m-2026-01-01", 6, 4), ("openai/plain", 3, 2))))
    assert compare(engine, read_bill(raw), ["openai"]) == []
    text = "day,model,tokens\n2026-05-28,m-2026-01-01,10\n2026-05-28,plain,5\n"
    assert compare(engine, read_bill(text.encode()), ["openai"]) == []


def test_each_count_that_differs_is_a_line(engine: Engine) -> None:
    Ledger(engine).post([at(0), at(1, source="estimated"), at(2, model_served="ours")])
    raw = pages(page(bucket(("m-2026-01-01", 7, 4), ("theirs", 1, 0), ("nothing", 0, 0))))
    assert compare(engine, read_bill(raw), ["openai"]) == [
        BillDifference(TODAY, "m-2026-01-01", "input_tokens", 7, 6, 1),
        BillDifference(TODAY, "ours", "input_tokens", None, 3, 0),
        BillDifference(TODAY, "ours", "output_tokens", None, 2, 0),
        BillDifference(TODAY, "theirs", "input_tokens", 1, None, 0),
    ]


def test_several_vendor_entries_may_be_on_one_bill(engine: Engine) -> None:
    Ledger(engine).post([at(0), at(0, vendor_served="openai-eu")])
    raw = pages(page(bucket(("m-2026-01-01", 6, 4))))
    assert compare(engine, read_bill(raw), ["openai", "openai-eu"]) == []
    assert len(compare(engine, read_bill(raw), ["openai"])) == 2


def test_each_call_of_a_request_is_on_its_own_vendors_bill(engine: Engine) -> None:
    usage = Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)
    calls = (
        CallUsage.of("openai", "x", "m-2026-01-01", None, usage),
        CallUsage.of("openai", "plain", None, "flex", usage),
        CallUsage.of("azure", "x", "m-2026-01-01", None, usage),
    )
    Ledger(engine).post([at(0), at(1, calls=calls, vendor_served="azure")])
    raw = pages(page(bucket(("m-2026-01-01", 6, 4), ("plain", 3, 2))))
    assert compare(engine, read_bill(raw), ["openai"]) == []
    raw = pages(page(bucket(("m-2026-01-01", 3, 2))))
    assert compare(engine, read_bill(raw), ["azure"]) == []


def test_an_empty_bill_lacks_all_that_the_ledger_has(engine: Engine) -> None:
    Ledger(engine).post([at(0)])
    found = compare(engine, read_bill(pages(page(bucket()))), ["openai"])
    assert [(it.measure, it.billed, it.recorded) for it in found] == [
        ("input_tokens", None, 3),
        ("output_tokens", None, 2),
    ]


def test_a_bill_of_days_that_were_pruned_cannot_be_checked(engine: Engine) -> None:
    list(prune(engine, MIDNIGHT_S + DAY_S))
    with pytest.raises(UsagePruned):
        compare(engine, read_bill(CSV.encode()), ["openai"])
