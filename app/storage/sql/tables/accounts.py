"""Accounts, API keys, sessions of the dashboard, and limits."""

from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, Table, Text, UniqueConstraint

from app.storage.sql.tables.columns import BYTEWISE, metadata

accounts = Table(
    "accounts",
    metadata,
    Column("account_id", BYTEWISE, primary_key=True),
    Column("name", Text, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("description", Text),
    #: Null while its keys are accepted.
    Column("disabled_at_ms", BigInteger),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", BYTEWISE, primary_key=True),
    Column("secret_sha256", LargeBinary, nullable=False, unique=True),
    Column("name", Text),
    #: Scopes in alphabetical order, separated by single spaces.
    Column("scopes", Text, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger),
    Column("revoked_at_ms", BigInteger),
    Column("rotated_from", BYTEWISE, ForeignKey("api_keys.key_id")),
    Column("operation_id", BYTEWISE),
    #: Written at most once a minute.
    Column("last_used_at_ms", BigInteger),
    #: The first characters of the secret. Null for a key that was created before they were stored,
    #: until it is used.
    Column("secret_prefix", BYTEWISE),
    #: When a rotation with an overlap set the key's expiry; null otherwise.
    Column("retired_at_ms", BigInteger),
    UniqueConstraint("rotated_from", "operation_id", name="api_keys_one_per_operation"),
)

api_key_accounts = Table(
    "api_key_accounts",
    metadata,
    Column("key_id", BYTEWISE, ForeignKey("api_keys.key_id"), primary_key=True),
    Column("account_id", BYTEWISE, ForeignKey("accounts.account_id"), primary_key=True),
)

#: Sessions of the dashboard. Only digests of tokens are stored, which cannot be used to sign in.
sessions = Table(
    "sessions",
    metadata,
    Column("token_sha256", LargeBinary, primary_key=True),
    Column("key_id", BYTEWISE, ForeignKey("api_keys.key_id"), nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
)

#: Limits of accounts and keys: `kind` is `account` or `key`, and null means no limit. Budgets are
#: in nano-dollars per `period`, which is `day` or `month`.
limits = Table(
    "limits",
    metadata,
    Column("kind", BYTEWISE, primary_key=True),
    Column("subject_id", BYTEWISE, primary_key=True),
    Column("requests_per_minute", BigInteger),
    Column("tokens_per_minute", BigInteger),
    Column("streams", BigInteger),
    Column("budget_nanousd", BigInteger),
    Column("soft_nanousd", BigInteger),
    Column("period", BYTEWISE, nullable=False),
)
