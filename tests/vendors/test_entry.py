"""One entry of the vendor table: which values are valid, and how the others are reported."""

import pytest
from marshmallow import ValidationError

from app.gateways.families import GATEWAY_SPECS
from app.vendors.entry import load_entry
from tests.vendors.loading import Load, wrong


@pytest.mark.parametrize(
    ("text", "env", "value"),
    [
        ("http://${HOST}/v1", {"HOST": "h"}, "http://h/v1"),
        ("http://${HOST:-local}/v1", {}, "http://local/v1"),
        ("http://${HOST:-local}/v1", {"HOST": ""}, "http://local/v1"),
        ("http://${HOST:-local}/v1", {"HOST": "h"}, "http://h/v1"),
    ],
)
def test_a_variable_in_a_text_is_replaced(text: str, env: dict[str, str], value: str) -> None:
    vendor = load_entry("v", {"gateway": "openai", "base_url": text}, env, GATEWAY_SPECS)
    assert (vendor.base_url, vendor.missing) == (value, None)


def test_the_first_variable_without_a_value_is_missing() -> None:
    table = {"gateway": "openai", "base_url": "${B_URL}", "headers": {"x": "${A_KEY}"}}
    vendor = load_entry("v", {**table, "api_key_env": "KEY"}, {}, GATEWAY_SPECS)
    assert vendor.missing == "A_KEY"
    assert load_entry("v", table, {"A_KEY": "1"}, GATEWAY_SPECS).missing == "B_URL"


def test_a_signed_vendor_needs_no_key() -> None:
    table = {"gateway": "gemini", "base_url": "http://v", "auth": "google", "api_key_env": "KEY"}
    assert load_entry("v", table, {}, GATEWAY_SPECS).missing is None
    assert load_entry("v", {**table, "auth": "bearer"}, {}, GATEWAY_SPECS).missing == "KEY"


@pytest.mark.parametrize(
    ("quirks", "keys"),
    [
        ({"statuses": {"498": 503}, "moderation": ["flagged"]}, None),
        ({"statuses": {"498": 200}}, {"statuses"}),
        ({"statuses": {"x": 503}, "moderation": "flagged"}, {"statuses", "moderation"}),
        ({"api_version": "1"}, {"api_version"}),
    ],
)
def test_quirks_are_those_of_the_gateway(quirks: dict[str, object], keys: set[str] | None) -> None:
    table = {"gateway": "openai", "base_url": "http://v", "quirks": quirks}
    if keys is None:
        assert load_entry("v", table, {}, GATEWAY_SPECS).quirks["statuses"] == {498: 503}
        return
    with pytest.raises(ValidationError) as caught:
        load_entry("v", table, {}, GATEWAY_SPECS)
    assert set(caught.value.messages_dict["quirks"]) == keys


@pytest.mark.parametrize("slashes", ["", "/", "//"])
def test_a_base_url_may_end_in_a_slash(load: Load, slashes: str) -> None:
    entry = f'[vendors.mine]\ngateway = "openai"\nbase_url = "http://h/v1{slashes}"'
    assert load(entry).find("mine").base_url == "http://h/v1"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://vllm:8000/v1",
        "http://vllm_1:8000/v1",
        "http://my-vllm.models.svc.cluster.local/v1",
        "http://localhost:1/v1",
        "http://127.0.0.1",
        "http://[::1]:8000/v1",
        "https://x.example/openai/v1/accounts/a%20b",
    ],
)
def test_a_base_url_may_name_any_host(load: Load, url: str) -> None:
    entry = '[vendors.mine]\ngateway = "openai"\nbase_url = "${MINE}"'
    assert load(entry, MINE=url).find("mine").base_url == url


# What is wrong with it.


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "vllm",
        "ftp://h/v1",
        "http://",
        "http:///v1",
        "http://h:port/v1",
        "http://h:99999/v1",
        "http://[::1/v1",
        "http://user:secret@h/v1",
        "http://h/v1?key=secret",
        "http://h/v1#x",
        "http://h/v1 ",
        "http://h/v1\nhost: x",
        "http://hé/v1",
    ],
)
def test_a_base_url_that_cannot_be_called_is_told_at_the_start(load: Load, url: str) -> None:
    [line] = wrong(load, "", VLLM_BASE_URL=url)
    assert line.startswith("vendors.vllm.base_url: Not an http")
    assert "secret" not in line


@pytest.mark.parametrize("key", ["sk-secret\n", "sk-secret\r\nx: y", "sk-secrét", "sk-\0secret"])
def test_a_key_that_fits_no_header_is_told_by_its_variable_and_not_shown(
    load: Load, key: str
) -> None:
    assert wrong(load, "", OPENAI_API_KEY=key) == [
        "vendors.openai.api_key_env: The value of OPENAI_API_KEY is not printable ASCII."
    ]


def test_a_family_of_bedrocks_must_exist() -> None:
    quirks = {"region": "eu-west-1", "families": {"x*": "gpt"}}
    table = {"gateway": "bedrock", "base_url": "http://v", "quirks": quirks}
    with pytest.raises(ValidationError, match="families"):
        load_entry("v", table, {}, GATEWAY_SPECS)


#: Every kind of mistake, in several entries.
WRONG = """
[vendors.one]
gateway = "nonsense"
base_url = "nowhere"
api_key_env = "BAD_KEY"
colour = "red"
models = []
on_disconnect = "wait"
unsupported = ["suffix", "sufix"]
token_prompts = "yes"
[vendors.one.headers]
"a b" = "x"
good = "two\\nlines"
[vendors.one.timeouts]
idle_s = 0
total_s = inf
nap_s = 3
[vendors.two]
base_url = "http://two/v1"
quirks = 5
[vendors.three]
gateway = "openai"
base_url = "http://three/v1"
fallbacks = ["two/m", "nobody"]
quirks = {colour = "red"}
[vendors.openai]
timeouts = {idle_s = -1}
"""

WRONG_KEYS = [
    "vendors.one.gateway",
    "vendors.one.base_url",
    "vendors.one.api_key_env",
    "vendors.one.colour",
    "vendors.one.models",
    "vendors.one.on_disconnect",
    "vendors.one.unsupported.1",
    "vendors.one.token_prompts",
    "vendors.one.headers.a b.key",
    "vendors.one.headers.good.value",
    "vendors.one.timeouts.idle_s",
    "vendors.one.timeouts.total_s",
    "vendors.one.timeouts.nap_s",
    "vendors.two.gateway",
    "vendors.two.quirks",
    "vendors.three.quirks.colour",
    "vendors.openai.timeouts.idle_s",
]


def test_every_wrong_key_of_every_entry_is_listed_at_once(load: Load) -> None:
    lines = wrong(load, WRONG, BAD_KEY="\u00e9")
    assert sorted(line.partition(": ")[0] for line in lines) == sorted(WRONG_KEYS)
    assert any("openai" in line for line in lines if line.startswith("vendors.one.gateway"))
