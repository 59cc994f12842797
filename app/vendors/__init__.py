"""The vendor table, config/vendors.toml, as values: entries, and rules for models.

Does not know any API format, and calls nobody. Read `vendor` first.
"""
