"""Finds out what was changed while a form was open: by another admin, or by a command. No I/O.

A form carries the values that it was opened with. Without this, it would set back, unseen, what
was changed in the meantime.
"""

import json
from collections.abc import Mapping

from app.dashboard.admin.action import Field, Problems, Values, text_of, with_defaults

#: The field that holds the values with which the form was opened.
SEEN = Field("seen", is_fixed=True, is_hidden=True)


def opened(values: Values, current: Mapping[str, str]) -> Values:
    """Return a form's first values: the current ones, unless a link says otherwise."""
    found = with_defaults(values, current)
    found[SEEN.name] = json.dumps(current)
    return found


def check_seen(values: Values, current: Mapping[str, str]) -> None:
    """Check that nothing was changed since the form was opened; a form without `seen` passes.

    If something was, `values` become those of a form that is opened now: a field that was not
    edited has its current value, and an edited one what was entered.
    Raises: Problems, which say of each changed field what it was, and what it is.
    """
    seen, found = _decoded(values), dict[str, str]()
    for name, was in seen.items():
        now = current.get(name, was)
        if now == was:
            continue
        entered = text_of(values, name)
        if entered in (was, now):
            values[name], said = now, "which is shown here"
        else:
            said = f"and you entered {_shown(entered)}"
        found[name] = f"Changed meanwhile from {_shown(was)} to {_shown(now)}, {said}."
    values[SEEN.name] = json.dumps(current)
    if found:
        about = "This was changed while the form was open. Check the fields, and review it again."
        raise Problems({"": about, **found})


def _decoded(values: Values) -> dict[str, str]:
    try:
        seen = json.loads(values.get(SEEN.name, ""))
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in seen.items()} if isinstance(seen, dict) else {}


def _shown(text: str) -> str:
    return f"“{text}”" if text else "empty"
