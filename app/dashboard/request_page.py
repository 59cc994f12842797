"""`GET /dashboard/requests/ID`: everything that the ledger has of one request."""

from flask import Response, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from app.container import services
from app.dashboard.choices import read_choices
from app.dashboard.preferences import stored_zone
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint, page
from app.dashboard.time_ranges import find_zone
from app.ledger.reports.used_prices import UsedPrice, read_used_prices
from app.vocabulary.completion import USAGE_COUNTS

#: The counts in the order of the page -> their names; parts follow what includes them.
COUNT_NAMES = {
    "prompt_tokens": "Prompt",
    "cached_tokens": "of it cached",
    "cache_write_tokens": "of it written to the cache",
    "cache_write_1h_tokens": "of it written to the cache for an hour",
    "audio_prompt_tokens": "of it audio",
    "image_prompt_tokens": "of it images",
    "completion_tokens": "Completion",
    "reasoning_tokens": "of it reasoning",
    "audio_completion_tokens": "of it audio",
    "image_completion_tokens": "of it images",
    "accepted_prediction_tokens": "of it accepted predictions",
    "rejected_prediction_tokens": "of it rejected predictions",
    "total_tokens": "Total",
    "web_search_calls": "Web searches",
}
#: Counts with a rate -> the rate's name in a price.
RATE_OF = {
    "prompt_tokens": "input",
    "cached_tokens": "cached",
    "cache_write_tokens": "cache_write",
    "cache_write_1h_tokens": "cache_write_1h",
    "audio_prompt_tokens": "input_audio",
    "image_prompt_tokens": "input_image",
    "completion_tokens": "output",
    "reasoning_tokens": "reasoning",
    "audio_completion_tokens": "output_audio",
    "image_completion_tokens": "output_image",
    "web_search_calls": "web_search",
}


@dashboard_blueprint.get("/find-request")
def find_request() -> AnyResponse:
    """Lead to the page of the request with the `id`; without one, to the list."""
    if any_id := request.args.get("id", "").strip():
        return redirect(url_for("dashboard.request_page", any_id=any_id), 303)
    return redirect(url_for("dashboard.requests"), 303)


@dashboard_blueprint.get("/requests/<path:any_id>")
def request_page(any_id: str) -> Response:
    """Show a request, found by its id, the vendor's or the event's.

    If several have the id, the newest, or the one whose event is named by `event`.
    """
    zone = request.args.get("zone", "") or stored_zone()
    source = services().reports.open()
    found = source.lookup.find(any_id, current_user().account_ids)
    event_id = request.args.get("event", "")
    chosen = [it for it in found if not event_id or it.event.event_id == event_id]
    if not chosen:
        return _not_found(any_id)
    entry = chosen[0]
    prices = read_used_prices(source.engine, entry)
    return page(
        "request.html",
        it=entry.event,
        entry=entry,
        prices=prices,
        heads=_heads(prices),
        others=[other.event for other in found if other is not entry],
        counts={name: getattr(entry.event, name) for name in (*COUNT_NAMES, *USAGE_COUNTS)},
        count_names=COUNT_NAMES,
        rate_of=RATE_OF,
        choices=read_choices(),
        zone=find_zone(zone),
        zone_name=zone,
    )


def _not_found(any_id: str) -> Response:
    message = (
        f'No request with the id "{any_id}" is recorded. A request appears once a worker has posted'
        " it. One that was refused before a vendor was called is only counted, by reason, and in"
        " the log."
    )
    return page("error.html", 404, title="Request not found", message=message)


def _heads(prices: list[UsedPrice]) -> list[str]:
    """Return the heads of the columns of rates."""
    if len(prices) == 1:
        return ["Price per million"]
    return [f"{it.name}, per million" for it in prices]
