"""An audit entry's detail as text."""

from app.accounts.audit_text import detail_text


def test_values_and_changes_are_shown_in_their_units() -> None:
    detail = {
        "name": ["A", "B"],
        "budget_nanousd": [None, 1_500_000_000],
        "disabled_at_ms": [None, 1000],
        "entries_before_s": 60,
        "scopes": "admin, usage",
        "events": 3,
    }
    assert detail_text(detail) == (
        "name: A → B; budget: none → $1.50; disabled: none → 1970-01-01T00:00:01Z;"
        " entries before: 1970-01-01T00:01:00Z; scopes: admin, usage; events: 3"
    )
    assert detail_text({}) == ""
