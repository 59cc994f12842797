"""What callers do wrong, and what the answers say."""
