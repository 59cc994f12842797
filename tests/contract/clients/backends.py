"""The models that clients ask through Tollgate: those of simulated vendors, and the sandbox's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.gateways.families import GATEWAY_SPECS
from app.settings import Settings
from app.vendors.table import load_vendors
from tests.contract.clients.scenes import RESULTS
from tests.support.gateway import Gateway, gunicorn, with_account
from tests.support.services.sqlite import new_ledger
from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.anthropic import AnthropicChat
from tests.support.vendors.chat.bedrock import BedrockChat
from tests.support.vendors.chat.cohere import CohereChat
from tests.support.vendors.chat.gemini import GeminiChat, VertexChat
from tests.support.vendors.chat.script import Answer
from tests.support.vendors.chat.scripted import Speaking, speak

#: Vendor entry -> its model and its wire.
VENDORS: Mapping[str, tuple[str, Speaking]] = {
    "anthropic": ("claude-haiku-4-5", AnthropicChat()),
    "bedrock": ("anthropic.claude-sonnet-4-5-20250929-v1:0", BedrockChat()),
    "cohere": ("command-a-03-2025", CohereChat()),
    "gemini": ("gemini-2.5-flash", GeminiChat()),
    "vertex_ai": ("gemini-2.5-flash", VertexChat()),
}
#: Those that give JSON by a schema alone.
NO_JSON_MODE = ("anthropic", "bedrock")
#: The sandbox makes two calls where it may.
SANDBOX = "sandbox/echo?calls=2"

VARIABLES = {
    "AWS_REGION": "eu-west-1",
    "GOOGLE_CLOUD_PROJECT": "acme",
    "CLIENTS_KEY": "sk-test",
    "TOLLGATE_JOURNAL": "off",  # no worker posts: it would send again what a test has removed
}


@dataclass
class Backend:
    """A model, the vendor that has it, and the Tollgate in front of it."""

    gateway: Gateway
    vendor: SimulatedVendor
    name: str

    @property
    def model(self) -> str:
        """The model as callers name it."""
        return f"{self.name}/{VENDORS[self.name][0]}" if self.is_scripted else SANDBOX

    @property
    def address(self) -> dict[str, str]:
        """What a client in another process needs."""
        gateway = self.gateway
        return {"base_url": gateway.base_url, "api_key": gateway.api_key, "model": self.model}

    @property
    def is_scripted(self) -> bool:
        """Whether it says what a test wants, and tells what it was asked."""
        return self.name in VENDORS

    @property
    def has_json_mode(self) -> bool:
        """Whether the vendor gives any JSON without a schema."""
        return self.name not in NO_JSON_MODE

    @property
    def is_google(self) -> bool:
        """Whether its vendor is Google."""
        return self.name in ("gemini", "vertex_ai")

    def says(self, *answers: Answer) -> None:
        """Have the model answer the next requests; the sandbox needs no script."""
        if self.is_scripted:
            speak(self.vendor, VENDORS[self.name][1], *answers)

    def check_usage(self, prompt: int, completion: int, total: int) -> None:
        """Check that a client's counts are those of the vendor and of the last event."""
        event = self.gateway.events()[-1]
        assert (event.status, event.source, event.endpoint) == (
            "completed",
            "vendor",
            "chat.completions",
        )
        counts = (event.prompt_tokens, event.completion_tokens, event.total_tokens)
        assert (prompt, completion, total) == counts
        if self.is_scripted:
            told = Answer().counts
            assert counts == (told.prompt, told.completion, told.total)

    def check_loop(self) -> None:
        """Check that a loop of tools were two requests, the second with the tool's results."""
        events = self.gateway.events(2)
        assert [event.status for event in events] == ["completed"] * 2
        if self.is_scripted:
            assert len(self.vendor.asked) == 2
            assert all(result.encode() in self.vendor.asked[-1].raw for result in RESULTS.values())


@contextmanager
def tollgate(
    root: Path, redis_url: str, sandbox_url: str
) -> Iterator[tuple[Gateway, SimulatedVendor]]:
    """Run the web process, with all these entries at one simulated vendor."""
    vendor = SimulatedVendor()
    (root / "vendors.toml").write_text(_overlay(vendor.url.removesuffix("/v1")))
    env = {
        **VARIABLES,
        "REDIS_URL": redis_url,
        "DATABASE_URL": new_ledger(root / "ledger.db"),
        "TOLLGATE_VENDORS": str(root / "vendors.toml"),
        "TOLLGATE_SPOOL_DIR": str(root / "spool"),
        "TOLLGATE_SANDBOX_URL": sandbox_url,
    }
    try:
        with (
            gunicorn(env, root / "web.log") as (url, _),
            with_account(url, Settings.from_env(env)) as gateway,
        ):
            yield gateway, vendor
    finally:
        vendor.stop()


def _overlay(host: str) -> str:
    """Return entries that lead to the simulated vendor and are the built-in ones otherwise."""
    rows = {row.name: row for row in load_vendors(None, VARIABLES, GATEWAY_SPECS)}
    lines = list[Any]()
    for name, (_, wire) in VENDORS.items():
        path = urlsplit(rows[name].base_url).path
        lines += [f"[vendors.{name}]", f'base_url = "{host}{path}"', 'api_key_env = "CLIENTS_KEY"']
        lines += ['auth = "bearer"'] if isinstance(wire, VertexChat) else []
    return "\n".join(lines)
