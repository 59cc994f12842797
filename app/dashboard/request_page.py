"""`GET /dashboard/requests/REQUEST_ID`: everything that the ledger has of one request."""

from flask import Response, request

from app.container import services
from app.dashboard.choices import read_choices
from app.dashboard.preferences import stored_zone
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint, page
from app.dashboard.time_ranges import find_zone
from app.ledger.reports.entry_details import read_entries

#: A count's rates: its name in the ledger -> the rate's name, and what of it has a rate of its own.
COUNT_NAMES = {
    "prompt_tokens": "Prompt",
    "cached_tokens": "of it cached",
    "cache_write_tokens": "of it written to the cache",
    "audio_prompt_tokens": "of it audio",
    "completion_tokens": "Completion",
    "reasoning_tokens": "of it reasoning",
    "audio_completion_tokens": "of it audio",
    "accepted_prediction_tokens": "of it accepted predictions",
    "rejected_prediction_tokens": "of it rejected predictions",
    "total_tokens": "Total",
}
RATE_OF = {
    "prompt_tokens": "input",
    "cached_tokens": "cached",
    "cache_write_tokens": "cache_write",
    "audio_prompt_tokens": "input_audio",
    "completion_tokens": "output",
    "reasoning_tokens": "reasoning",
    "audio_completion_tokens": "output_audio",
}


@dashboard_blueprint.get("/requests/<path:request_id>")
def request_page(request_id: str) -> Response:
    """Show a request; if several have the id, the one whose event is named, or the newest."""
    zone = request.args.get("zone", "") or stored_zone()
    engine = services().reports.open().engine
    found = read_entries(engine, request_id, current_user().account_ids)
    event_id = request.args.get("event", "")
    chosen = [it for it in found if not event_id or it.columns["event_id"] == event_id]
    if not chosen:
        message = f"No request {request_id} is recorded. A request appears once a worker posted it."
        return page("error.html", 404, title="Request not found", message=message)
    return page(
        "request.html",
        it=chosen[0].columns,
        details=chosen[0],
        others=[other.columns for other in found if other is not chosen[0]],
        count_names=COUNT_NAMES,
        rate_of=RATE_OF,
        choices=read_choices(),
        zone=find_zone(zone),
        zone_name=zone,
    )
