"""Settings from the environment."""

from pathlib import Path

import pytest

from app.settings import NUMBERS, ConfigError, Settings, database_url, prices_file

REDIS = {"REDIS_URL": "redis://:secret@localhost:6379/0"}


def test_the_least_that_a_deployment_needs_is_redis() -> None:
    settings = Settings.from_env(REDIS)
    assert settings.redis_url == REDIS["REDIS_URL"]
    assert settings.database_url == f"sqlite:///{Path('var').resolve() / 'ledger.db'}"
    assert settings.vendors_file is None
    assert settings.body_limit_bytes == 10 * 1024 * 1024


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("postgres://u:p@h:5432/d?sslmode=require", "postgresql+psycopg://u:p@h:5432/d?sslmode=require"),
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
        ("sqlite:////var/lib/ledger.db", "sqlite:////var/lib/ledger.db"),
    ],
)  # fmt: skip
def test_a_database_url_may_be_spelled_as_hosting_platforms_do(url: str, spelled: str) -> None:
    assert database_url({"DATABASE_URL": url}) == spelled
    assert Settings.from_env({**REDIS, "DATABASE_URL": url}).database_url == spelled


@pytest.mark.parametrize("field", NUMBERS)
def test_every_number_can_be_set(field: str) -> None:
    settings = Settings.from_env({**REDIS, NUMBERS[field]: "7"})
    assert getattr(settings, field) == 7
    whole = field in ("body_limit_bytes", "proxies")
    assert type(getattr(settings, field)) is (int if whole else float)
    unset = Settings.from_env({**REDIS, NUMBERS[field]: ""})
    assert getattr(unset, field) == getattr(Settings.from_env(REDIS), field)


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("value", ["-1", "nan", "inf", "1e999", "ten", "5s", " "])
def test_a_number_that_is_none_is_named(field: str, value: str) -> None:
    with pytest.raises(ConfigError, match=NUMBERS[field]):
        Settings.from_env({**REDIS, NUMBERS[field]: value})


@pytest.mark.parametrize("field", NUMBERS)
def test_only_proxies_may_number_0(field: str) -> None:
    env = {**REDIS, NUMBERS[field]: "0"}
    if field == "proxies":
        assert Settings.from_env(env).proxies == 0
        return
    with pytest.raises(ConfigError, match=NUMBERS[field]):
        Settings.from_env(env)


@pytest.mark.parametrize("value", ["0.5", "1048576.5"])
def test_bytes_are_whole(value: str) -> None:
    with pytest.raises(ConfigError, match="must be a whole number above 0"):
        Settings.from_env({**REDIS, "TOLLGATE_BODY_LIMIT_BYTES": value})


@pytest.mark.parametrize(("value", "form"), [("json", "json"), ("text", "text"), ("", None)])
def test_the_form_of_the_log_can_be_set(value: str, form: str | None) -> None:
    assert Settings.from_env({**REDIS, "TOLLGATE_LOG_FORMAT": value}).log_format == form


def test_a_form_of_the_log_that_there_is_not_is_named() -> None:
    with pytest.raises(
        ConfigError, match="TOLLGATE_LOG_FORMAT must be `json` or `text`, not 'xml'"
    ):
        Settings.from_env({**REDIS, "TOLLGATE_LOG_FORMAT": "xml"})


@pytest.mark.parametrize("value", ["tollgate", "requests", ""])
def test_the_http_adapter_can_be_chosen(value: str) -> None:
    settings = Settings.from_env({**REDIS, "TOLLGATE_HTTP_ADAPTER": value})
    assert settings.http_adapter == (value or "tollgate")


def test_an_unknown_http_adapter_is_named() -> None:
    with pytest.raises(ConfigError, match="must be `tollgate` or `requests`, not 'curl'"):
        Settings.from_env({**REDIS, "TOLLGATE_HTTP_ADAPTER": "curl"})


def test_every_problem_is_listed_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.from_env(
            {
                "TOLLGATE_VENDORS": "/no/such/file.toml",
                "TOLLGATE_PRICES": "/no/such/prices.toml",
                "TOLLGATE_KEEP_ALIVE_S": "never",
                "TOLLGATE_BODY_LIMIT_BYTES": "10MiB",
            }
        )
    lines = str(caught.value).splitlines()
    assert [line.split()[0] for line in lines] == [
        "REDIS_URL",
        "TOLLGATE_VENDORS",
        "TOLLGATE_PRICES",
        "TOLLGATE_BODY_LIMIT_BYTES",
        "TOLLGATE_KEEP_ALIVE_S",
    ]


def test_a_file_that_is_there_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "vendors.toml"
    file.touch()
    assert Settings.from_env({**REDIS, "TOLLGATE_VENDORS": str(file)}).vendors_file == file
    assert Settings.from_env({**REDIS, "TOLLGATE_PRICES": str(file)}).prices_file == file
    assert prices_file({"TOLLGATE_PRICES": str(file)}) == file
    assert prices_file({}) is None
    with pytest.raises(ConfigError, match="must be the path of a file"):
        Settings.from_env({**REDIS, "TOLLGATE_VENDORS": str(tmp_path)})


@pytest.mark.parametrize(
    ("url", "cert", "used"),
    [
        ("rediss://h:1/0", "", "rediss://h:1/0"),
        ("rediss://h:1/0", "required", "rediss://h:1/0"),
        ("rediss://h:1/0", "none", "rediss://h:1/0?ssl_cert_reqs=none"),
        ("rediss://h:1/0?db=3", "none", "rediss://h:1/0?db=3&ssl_cert_reqs=none"),
        ("rediss://h:1/0?ssl_cert_reqs=required", "none", "rediss://h:1/0?ssl_cert_reqs=required"),
        ("redis://h:1/0", "none", "redis://h:1/0"),
        (
            "rediss+sentinel://:s@h,i/m?sentinel_password=t",
            "none",
            "rediss+sentinel://:s@h,i/m?sentinel_password=t&ssl_cert_reqs=none",
        ),
        ("redis+sentinel://:s@h/m", "none", "redis+sentinel://:s@h/m"),
    ],
)
def test_the_check_of_rediss_certificate_is_the_urls_or_a_setting(
    url: str, cert: str, used: str
) -> None:
    env = {"REDIS_URL": url, "TOLLGATE_REDIS_CERT": cert}
    assert Settings.from_env(env).redis_url == used


@pytest.mark.parametrize(
    ("env", "problem"),
    [
        ({"REDIS_URL": "secret"}, "REDIS_URL must start with"),
        ({"REDIS_URL": "sentinel://:secret@h:26379"}, r"redis\+sentinel:// or rediss\+sentinel://"),
        ({"REDIS_URL": "redis+cluster://:secret@h:6379"}, "several keys in one step"),
        ({"REDIS_URL": "rediss+cluster://:secret@h:6379"}, "docs/scaling.md"),
        ({**REDIS, "TOLLGATE_REDIS_CERT": "off"}, "TOLLGATE_REDIS_CERT must be"),
        ({**REDIS, "DATABASE_READ_URL": "mysql://secret"}, "DATABASE_READ_URL must begin with"),
    ],
)
def test_a_server_that_cannot_be_reached_so_is_refused_at_the_start(
    env: dict[str, str], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        Settings.from_env(env)
    assert "secret" not in str(caught.value)


def test_the_address_of_a_read_replica_is_in_sqlalchemys_format() -> None:
    assert Settings.from_env(REDIS).database_read_url is None
    found = Settings.from_env({**REDIS, "DATABASE_READ_URL": "postgres://h/d"})
    assert found.database_read_url == "postgresql+psycopg://h/d"


def test_secrets_do_not_print() -> None:
    url = "postgres://u:secret@h/d"
    env = {**REDIS, "DATABASE_URL": url, "DATABASE_READ_URL": url, "OPENAI_API_KEY": "sk-secret"}
    assert "secret" not in repr(Settings.from_env(env))
