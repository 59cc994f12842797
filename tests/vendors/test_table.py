"""The vendor table: the built-in entries, overlays, and configuration errors."""

from pathlib import Path

import pytest

from app.accounts.apikey import new_secret
from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.settings import ConfigError
from app.vendors.table import load_vendors
from app.vendors.vendor import Timeouts
from app.vocabulary.chat.parameters import ALL_PARAMETERS
from app.vocabulary.errors import ModelNotFound
from tests.vendors.loading import Load, wrong

# What ships.


def test_the_table_that_ships_is_whole_and_its_names_are_plain() -> None:
    vendors = list(load_vendors(None, {}, GATEWAY_SPECS))
    names = [vendor.name for vendor in vendors]
    assert names == sorted(names)
    assert {"openai", "vllm", "llamacpp", "sandbox"} <= set(names)
    for vendor in vendors:
        assert vendor.gateway in GATEWAYS
        assert not vendor.base_url.endswith("/")
        assert vendor.unsupported <= set(ALL_PARAMETERS)


def test_without_an_environment_nothing_that_needs_one_is_configured() -> None:
    configured = {vendor.name for vendor in load_vendors(None, {}, GATEWAY_SPECS).configured()}
    assert configured.isdisjoint({"openai", "vllm", "llamacpp", "sandbox", "anthropic"})


def test_a_key_or_a_url_in_the_environment_makes_a_vendor_work(load: Load) -> None:
    table = load(TOLLGATE_SANDBOX_URL="http://127.0.0.1:9000/v1")
    assert {"openai", "vllm", "sandbox"} <= {vendor.name for vendor in table.configured()}
    assert table.find("openai").api_key == "sk-ours"
    assert table.find("vllm").base_url == "http://vllm_1:8000/v1"
    assert table.find("vllm").api_key is None
    assert table.find("vllm").unsupported == {"best_of", "suffix"}


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("llamacpp", "LLAMACPP_BASE_URL"),
        ("sandbox", "TOLLGATE_SANDBOX_URL"),
        ("anthropic", "ANTHROPIC_API_KEY"),
    ],
)
def test_the_setting_that_a_vendor_lacks_is_named(load: Load, name: str, setting: str) -> None:
    for table in (load(), load(**{setting: ""})):
        with pytest.raises(ModelNotFound, match=f"{setting} is not set") as caught:
            table.find(name)
        assert (caught.value.status, caught.value.param) == (404, "model")


@pytest.mark.parametrize("name", ["nope", "OpenAI", "openai ", "x" * 100_000])
def test_an_unknown_vendor_is_answered_with_the_known_ones(load: Load, name: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        load('[vendors.mine]\ngateway = "openai"\nbase_url = "http://m/v1"').find(name)
    assert ", mine, " in str(caught.value)
    assert "sandbox" in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_keys_and_headers_do_not_print(load: Load) -> None:
    table = load('[vendors.openai.headers]\nx-token = "${MY_TOKEN}"', MY_TOKEN="hush")
    assert table.find("openai").headers == {"x-token": "hush"}
    for vendor in table:
        assert "sk-ours" not in repr(vendor)
        assert "hush" not in repr(vendor)


# What a deployment lays over it.

MINE = '[vendors.mine]\ngateway = "openai"\nbase_url = "http://mine:8000/v1"\n'


def test_an_overlay_adds_an_entry_with_defaults_for_all_it_does_not_say(load: Load) -> None:
    mine = load(MINE).find("mine")
    assert mine.base_url == "http://mine:8000/v1"
    assert (mine.api_key, mine.missing, mine.headers) == (None, None, {})
    assert (mine.models, mine.unsupported, mine.drop_unsupported) == (("*",), frozenset(), False)
    assert (mine.on_disconnect, mine.token_prompts, mine.asks_usage) == ("cancel", False, True)
    assert mine.booked_name("m?a=1") == "m?a=1"
    assert mine.timeouts == Timeouts()


def test_an_overlay_says_everything_about_an_entry(load: Load) -> None:
    entry = """
        api_key_env = "MY_KEY"
        models = ["a", "b"]
        unsupported = ["suffix"]
        drop_unsupported = true
        token_prompts = true
        asks_usage = false
        model_queries = true
        on_disconnect = "read"
        headers = {x-a = "1", X-B = "two words"}
        timeouts = {connect_s = 1, first_token_s = 2.5, idle_s = 3, total_s = 4}
    """
    mine = load(MINE + entry, MY_KEY="k").find("mine")
    assert (mine.api_key, mine.models) == ("k", ("a", "b"))
    assert mine.unsupported == {"suffix"}
    assert (mine.drop_unsupported, mine.token_prompts, mine.asks_usage) == (True, True, False)
    assert (mine.booked_name("m"), mine.booked_name("m?a=1")) == ("m", "m")
    assert mine.on_disconnect == "read"
    assert mine.headers == {"x-a": "1", "X-B": "two words"}
    assert mine.timeouts == Timeouts(connect_s=1, first_token_s=2.5, idle_s=3, total_s=4)


def test_an_overlay_overrides_one_key_alone(load: Load) -> None:
    before, after = (
        load().find("openai"),
        load("[vendors.openai]\non_disconnect = 'read'").find("openai"),
    )
    assert after.on_disconnect == "read"
    assert (after.base_url, after.api_key) == (before.base_url, before.api_key)
    assert (after.token_prompts, after.timeouts) == (before.token_prompts, before.timeouts)


def test_an_overlay_overrides_one_key_of_an_inner_table_alone(load: Load) -> None:
    table = load(
        """
        [vendors.openai.timeouts]
        idle_s = 7
        [vendors.anthropic.quirks]
        default_max_tokens = 99
        """,
        ANTHROPIC_API_KEY="k",
    )
    assert table.find("openai").timeouts == Timeouts(idle_s=7)
    before, after = load(ANTHROPIC_API_KEY="k").find("anthropic"), table.find("anthropic")
    assert after.quirks == {**before.quirks, "default_max_tokens": 99}


def test_an_overlay_takes_another_key_or_none(load: Load) -> None:
    table = load("[vendors.openai]\napi_key_env = 'OTHER'", OTHER="other")
    assert table.find("openai").api_key == "other"
    assert load("[vendors.openai]\napi_key_env = ''").find("openai").api_key is None


def test_a_fallback_to_nobody_is_told(load: Load) -> None:
    assert wrong(load, MINE + 'fallbacks = ["openai", "openai/m", "nobody/m"]') == [
        "vendors.mine.fallbacks: There is no vendor for 'nobody/m'."
    ]


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        ("[vendors.mine", "vendors.toml"),
        ("[vendor.mine]\n", r"only \[vendors.NAME\] tables are allowed"),
        ("vendors = 5", r"only \[vendors.NAME\] tables are allowed"),
        ("[vendors]\nmine = 5", "than A-Z, a-z, 0-9 and _.-: 'mine'"),
        ('[vendors."a/b"]\n', "than A-Z, a-z, 0-9 and _.-: 'a/b'"),
        ('[vendors.""]\n', "than A-Z, a-z, 0-9 and _.-: ''"),
        ('[vendors."a b"]\n', "than A-Z, a-z, 0-9 and _.-: 'a b'"),
        ('[vendors."é"]\n', "not a table, or a name with other characters"),
    ],
)
def test_a_file_of_another_form_is_refused_by_name(load: Load, overlay: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(overlay)


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(ConfigError, match=str(path)):
            load_vendors(path, {}, GATEWAY_SPECS)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="binary"):
        load_vendors(binary, {}, GATEWAY_SPECS)


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, f"x = {'9' * 5_000}"])
def test_a_file_that_no_parser_ends_well_with_is_a_fault_of_the_file(load: Load, text: str) -> None:
    with pytest.raises(ConfigError):
        load(text)


def test_a_key_of_tollgate_is_not_the_key_of_a_vendor_but_may_be_that_of_another_tollgate(
    load: Load,
) -> None:
    own = new_secret()
    table = {it.name: it for it in load(OPENAI_API_KEY=own, ANTHROPIC_API_KEY=own)}
    for name in ("openai", "anthropic"):
        assert (table[name].missing, table[name].api_key) == (f"{name.upper()}_API_KEY", None)
    elsewhere = '[vendors.openai]\nbase_url = "https://tollgate.example/v5"\n'
    assert load(elsewhere, OPENAI_API_KEY=own).find("openai").api_key == own
    new = elsewhere.replace("openai", "other") + 'gateway = "openai"\n'
    new += 'api_key_env = "OPENAI_API_KEY"\n'
    assert load(new, OPENAI_API_KEY=own).find("other").api_key == own
    assert load(OPENAI_API_KEY="sk-vendor").find("openai").api_key == "sk-vendor"


def test_a_file_of_windows_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "vendors.toml"
    path.write_bytes(b'\xef\xbb\xbf[vendors.mine]\ngateway = "openai"\nbase_url = "http://h/v1"\n')
    assert load_vendors(path, {}, GATEWAY_SPECS).find("mine").base_url == "http://h/v1"
