"""REDIS_URL with sentinels: its parts, and what is wrong with an invalid one."""

import pytest

from app.settings import ConfigError
from app.storage.redis.url import RedisURL, parse_redis_url


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("redis://:pw@host/1", RedisURL("redis://:pw@host/1")),
        (
            "redis+sentinel://a:1,b,c:3/tollgate",
            RedisURL("redis://@/0", (("a", 1), ("b", 26379), ("c", 3)), "tollgate"),
        ),
        (
            "redis+sentinel://me:p%40%2Fw@[::1]:1,[fe80::2]/my%20own/7?client_name=x"
            "&sentinel_username=he&sentinel_password=h%26m&max_connections=5",
            RedisURL(
                "redis://me:p%40%2Fw@/7?client_name=x&max_connections=5",
                (("::1", 1), ("fe80::2", 26379)),
                "my own",
                {"username": "he", "password": "h&m"},
            ),
        ),
        (
            "rediss+sentinel://:p@w@a/m/?ssl_ca_certs=/my%20ca.pem",
            RedisURL("rediss://:p@w@/0?ssl_ca_certs=/my%20ca.pem", (("a", 26379),), "m"),
        ),
    ],
)
def test_a_url_names_the_sentinels_the_master_and_the_database(url: str, parts: RedisURL) -> None:
    assert parse_redis_url(url) == parts
    assert parts.has_tls == url.startswith("rediss")


@pytest.mark.parametrize("end", ["", "/", "/0", "/15?ssl_ca_certs=/a/b.pem", "?db=3", "/ ", "/0\n"])
def test_a_database_may_be_left_out(end: str) -> None:
    assert parse_redis_url(f"redis://:pw@host:1{end}").server_url.endswith(end)


@pytest.mark.parametrize("end", ["/zero", "/-1", "/1/2", "/0x?db=3"])
def test_a_database_is_a_number(end: str) -> None:
    with pytest.raises(ConfigError, match="must end with the number of a database") as error:
        parse_redis_url(f"redis://:hunter2@host:1{end}")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        (":hunter2@a:1,b:2", "name by which the sentinels know the master is missing"),
        (":hunter2@a:1/", "name by which the sentinels know the master is missing"),
        (":hunter2@a:1,,b:2/m", "number 2 of its sentinels is not a host:port"),
        (":hunter2@/m", "number 1 of its sentinels"),
        (":hunter2@a:0/m", "number 1 of its sentinels"),
        (":hunter2@a:1,b:65536/m", "number 2 of its sentinels"),
        (":hunter2@a:1,[::1/m", "number 2 of its sentinels"),
        (":hunter2/9@a:1,b:2/m", "In a password, write / . # , and @ as %2F %3F %23 %2C and %40"),
        (":hun,ter2@a:1/m/hunter2", "what follows the master's name is not the number"),
        (":hunter2@a:1/m/0/1", "what follows the master's name is not the number"),
        (":hunter2[@a:1/m", "write ., . and all that is not ASCII as %XX"),
        (":hunter2\u2100@a:1/m", "all that is not ASCII as %XX"),
        (":hunter2#@a:1/m", "it has a `#`: write %23 in a password"),
        (":hunter2@a/m?sentinel_pasword=hunter2", "sentinel_username and sentinel_password"),
        (":hunter2@a/m?db=3", "the database follows the master's name"),
    ],
)
def test_an_invalid_url_gets_the_problem_and_no_password(rest: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as error:
        parse_redis_url(f"redis+sentinel://{rest}")
    assert "REDIS_URL is not a Sentinel URL" in str(error.value)
    assert "hunter2" not in str(error.value)
    assert "hunter2" not in repr(parse_redis_url("redis+sentinel://:hunter2@a/m"))


def test_the_password_of_the_sentinels_is_in_no_repr() -> None:
    url = "redis+sentinel://:hunter2@a/m?sentinel_password=hunter2"
    assert "hunter2" not in repr(parse_redis_url(url))
