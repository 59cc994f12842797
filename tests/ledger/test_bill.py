"""A vendor's bill, read and held against the ledger."""

import json
from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine

from app.ledger.bill import BillError, read_bill
from app.ledger.bill_check import BillDifference, compare
from app.ledger.posting import Ledger
from app.ledger.retention import prune
from app.usage.call_usage import CallUsage
from app.vocabulary.completion import Usage
from app.vocabulary.errors import UsagePruned
from tests.ledger.reports.test_query import DAY_S, MIDNIGHT_S, at

TODAY = date(2026, 5, 28)
NOTHING = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
CSV = "day,model,tokens\n2026-05-28,m-2026-01-01,5\n"


def bucket(*results: tuple[str, int, int], start_s: int = MIDNIGHT_S) -> dict[str, Any]:
    """Return a bucket of OpenAI's usage API, with other fields as well."""
    return {
        "object": "bucket",
        "start_time": start_s,
        "end_time": start_s + DAY_S,
        "results": [
            {"model": model, "input_tokens": a, "output_tokens": b, "num_model_requests": 1}
            for model, a, b in results
        ],
    }


def page(*buckets: dict[str, Any]) -> dict[str, Any]:
    return {"object": "page", "data": list(buckets), "has_more": False, "next_page": None}


def pages(*found: Any) -> bytes:
    return "\n".join(json.dumps(it) for it in found).encode()


def test_pages_come_one_alone_in_a_list_or_line_by_line() -> None:
    first, second = page(bucket(("a", 1, 2))), page(bucket(("a", 3, 4), ("b", 5, 6)))
    whole = json.dumps(page(*first["data"], *second["data"])).encode()
    listed = json.dumps([first, second], indent=2).encode()
    for raw in (whole, listed, pages(first, second), b"\xef\xbb\xbf" + whole):
        bill = read_bill(raw)
        assert bill.lines == {
            (TODAY, "a"): {"input_tokens": 4, "output_tokens": 6},
            (TODAY, "b"): {"input_tokens": 5, "output_tokens": 6},
        }
        assert (bill.first, bill.last) == (TODAY, TODAY)


def test_hours_are_summed_to_days_and_days_without_usage_are_days_of_the_bill() -> None:
    bill = read_bill(
        pages(page(*(bucket(("a", 1, 1), start_s=MIDNIGHT_S + h * 3600) for h in range(24))))
    )
    assert bill.lines[TODAY, "a"]["input_tokens"] == 24
    empty = read_bill(pages(page(bucket(), bucket(start_s=MIDNIGHT_S + 2 * DAY_S))))
    assert (empty.first, empty.last, empty.lines) == (TODAY, date(2026, 5, 30), {})


def test_csv_has_tokens_or_both_kinds_of_them() -> None:
    assert read_bill(CSV.encode()).measures == ("tokens",)
    text = "model,output_tokens,day,input_tokens,other\nm,2,2026-05-28,3,x\nm,2,2026-05-28,3,x\n"
    bill = read_bill(text.encode())
    assert bill.lines == {(TODAY, "m"): {"input_tokens": 6, "output_tokens": 4}}


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "columns"),
        (b"day,model\n2026-05-28,m\n", "columns"),
        (b"day,model,tokens\n", "no day"),
        (b"day,model,tokens\n28.5.2026,m,5\n", "line 2"),
        (b"day,model,tokens\n2026-05-28,m,five\n", "line 2"),
        (b"day,model,tokens\n2026-05-28\n", "line 2"),
        (b"{", "cannot be read"),
        (b"{}", "no page"),
        (b"[5]", "no page"),
        (pages(page(bucket(("a", 1, 2)) | {"start_time": "x"})), "not OpenAI's"),
        (pages(page({"start_time": 5})), "not OpenAI's"),
        (pages(page(bucket((None, 1, 2)))), "group_by=model"),  # type: ignore[arg-type]
        (pages(page(bucket(("a", 1.5, 2)))), "no whole numbers"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_bill_is_refused_with_where_it_is_wrong(raw: bytes, problem: str) -> None:
    with pytest.raises(BillError, match=problem):
        read_bill(raw)


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


def test_several_entries_of_the_table_may_be_one_company(engine: Engine) -> None:
    Ledger(engine).post([at(0), at(0, vendor_served="openai-eu")])
    raw = pages(page(bucket(("m-2026-01-01", 6, 4))))
    assert compare(engine, read_bill(raw), ["openai", "openai-eu"]) == []
    assert len(compare(engine, read_bill(raw), ["openai"])) == 2


def test_of_a_request_of_several_calls_each_is_on_its_vendors_bill(engine: Engine) -> None:
    usage = Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)
    calls = (
        CallUsage("openai", "x", "m-2026-01-01", None, usage),
        CallUsage("openai", "plain", None, "flex", usage),
        CallUsage("azure", "x", "m-2026-01-01", None, usage),
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
