"""Alembic's entry point: migrates on the connection that `app.storage.sql.migrations` gives."""

from alembic import context

from app.storage.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite can alter little in place; alembic then copies the table.
    render_as_batch=True,
)
context.run_migrations()
