"""A request's page: all that the ledger has of it, and who may see it."""

from app.usage.messages.call_attempt import CallAttempt
from app.usage.messages.call_usage import CallUsage
from tests.dashboard.site import DashboardSite, at, plain, table


def test_a_request_shows_its_counts_its_price_and_its_ids(site: DashboardSite) -> None:
    event = at(
        5,
        request_id="req_5",
        vendor="openai",
        model="gpt-4o-mini",
        prompt_tokens=1000,
        completion_tokens=500,
        total_tokens=1500,
        cached_tokens=200,
        vendor_request_id="chatcmpl-5",
        user="u-5",
    )
    site.post(event)
    site.sign_in("usage")
    page = site.page("/requests/req_5", zone="Europe/Berlin")
    assert table(page, "counts") == [
        ["Prompt", "1,000", "$1,000.00"],
        ["of it cached", "200", "$1,000.00"],
        ["Completion", "500", "$2,000.00"],
        ["Total", "1,500", ""],
    ]
    text = plain(page)
    assert "2026-09-01 02:00:05 Europe/Berlin" in text
    for fact in (
        "Price per million",
        "$2.00",
        "chatcmpl-5",
        event.event_id,
        "u-5",
        "completed",
        "mini#",
    ):
        assert fact in text


def test_images_searches_and_the_endpoint_are_shown(site: DashboardSite) -> None:
    counts = {"image_prompt_tokens": 2, "image_completion_tokens": 1, "web_search_calls": 4}
    chat = {"model": "gpt-4o-mini", "endpoint": "chat.completions"}
    site.post(at(5, request_id="req_5", **chat, **counts), at(6, request_id="req_6", **chat))
    site.sign_in("admin")
    page = site.page("/requests/req_5")
    assert table(page, "counts") == [
        ["Prompt", "3"],
        ["of it images", "2"],
        ["Completion", "2"],
        ["of it images", "1"],
        ["Total", "5"],
        ["Web searches", "4"],
    ]
    text = plain(page)
    assert "chat.completions" in text
    assert "a price is unknown" in text  # the model has one of its text alone
    assert "a price is unknown" not in plain(site.page("/requests/req_6"))
    assert "endpoint=chat.completions" in page


def test_each_call_of_a_request_is_shown(site: DashboardSite) -> None:
    calls = (
        CallUsage("openai", "gpt-4o-mini", prompt_tokens=10, total_tokens=10),
        CallUsage("openai", "m", completion_tokens=7, total_tokens=7),
    )
    site.post(at(5, request_id="req_5", attempts=2, calls=calls))
    site.sign_in("admin")
    page = site.page("/requests/req_5")
    assert [row[:3] for row in table(page, "calls")] == [
        ["openai/gpt-4o-mini", "\N{EN DASH}", "10"],
        ["openai/m", "\N{EN DASH}", "0"],
    ]


def test_a_request_that_used_nothing_has_no_column_of_rates(site: DashboardSite) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    site.post(at(5, request_id="req_5", status="failed", source="none", **nothing))
    site.sign_in("admin")
    page = site.page("/requests/req_5")
    assert table(page, "counts") == [["Prompt", "0"], ["Completion", "0"], ["Total", "0"]]
    assert "per million" not in plain(page)


def test_a_request_that_only_searched_has_an_unknown_cost(site: DashboardSite) -> None:
    tokens = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    site.post(at(5, request_id="req_5", model="gpt-4o-mini", web_search_calls=4, **tokens))
    site.sign_in("admin")
    text = plain(site.page("/requests/req_5"))
    assert "a price is unknown" in text
    assert "nothing was used" not in text


def test_requests_of_the_same_id_lead_to_each_other(site: DashboardSite) -> None:
    older, newer = at(5, request_id="twice"), at(6, request_id="twice")
    site.post(older, newer)
    site.sign_in("admin")
    page = site.page("/requests/twice")
    assert newer.event_id in plain(page)
    assert f"event={older.event_id}" in page
    assert older.event_id in plain(site.page("/requests/twice", event=older.event_id))


def test_a_request_is_found_by_an_id_that_is_pasted(site: DashboardSite) -> None:
    site.post(at(5, request_id="req_5", vendor_request_id="chat/5"))
    site.sign_in("admin")
    assert 'action="/dashboard/find-request"' in site.page("/requests")
    for pasted, path in (
        (" req_5 ", "/dashboard/requests/req_5"),
        ("chat/5", "/dashboard/requests/chat/5"),
        ("", "/dashboard/requests"),
    ):
        response = site.get("/find-request", id=pasted)
        assert (response.status_code, response.location) == (303, path)
        assert site.get(path.removeprefix("/dashboard")).status_code == 200


def test_anothers_request_is_not_found(site: DashboardSite) -> None:
    site.sign_in("usage")
    for request_id in ("req_of_beta", "nothing"):
        answer = site.get(f"/requests/{request_id}")
        assert answer.status_code == 404
        assert "No request" in answer.text
    site.sign_in("beta")
    assert site.get("/requests/req_of_beta").status_code == 200


def test_a_failed_request_says_why(site: DashboardSite) -> None:
    first = CallAttempt("openai", "m", 0, 120, 429, "req-1", "rate_limited", "Slow down.")
    second = CallAttempt("groq", "m", 130, 40, 503, None, "vendor_unavailable", "Overloaded.")
    failed = {"status": "failed", "error_code": "vendor_unavailable", "attempts": 2}
    site.post(
        at(
            5,
            request_id="req_5",
            error_message="The vendor is overloaded.",
            attempt_log=(first, second),
            **failed,
        )
    )
    site.sign_in("admin")
    page = site.page("/requests/req_5")
    assert "vendor_unavailable The vendor is overloaded." in plain(page)
    assert table(page, "attempts") == [
        ["1. openai/m", "rate_limited Slow down.", "429", "after 0 ms", "120 ms", "req-1"],
        [
            "2. groq/m",
            "vendor_unavailable Overloaded.",
            "503",
            "after 130 ms",
            "40 ms",
            "\N{EN DASH}",
        ],
    ]
    assert table(site.page("/requests", status="failed"), "list")[-1][2].endswith(
        "vendor_unavailable"
    )


def test_a_request_is_found_by_the_vendors_id_and_the_events(site: DashboardSite) -> None:
    event = at(5, request_id="req_5", vendor_request_id="chatcmpl-5")
    site.post(event)
    site.sign_in("usage")
    for any_id in ("chatcmpl-5", event.event_id):
        assert "Request req_5" in plain(site.page(f"/requests/{any_id}"))
