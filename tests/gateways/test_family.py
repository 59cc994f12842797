"""A family's traits, and which gateway takes which requests."""

from typing import Any

import pytest
from marshmallow import fields

from app.gateways.base import ChatGateway, Gateway
from app.gateways.bridge import Bridge
from app.gateways.family import Family
from app.gateways.openai.chat import OpenAIChatGateway
from app.gateways.openai.completions import OpenAIGateway

NATIVE, CHAT = fields.String(), fields.Integer()


class Native(OpenAIGateway):
    """A gateway with a quirk."""

    quirks = {"a": NATIVE, "both": NATIVE}  # noqa: RUF012


class Chat(OpenAIChatGateway):
    """A gateway with other quirks."""

    quirks = {"b": CHAT, "both": CHAT}  # noqa: RUF012


@pytest.mark.parametrize(
    ("native", "chat", "takes_prompts", "quirks"),
    [
        (Native(), None, True, {"a": NATIVE, "both": NATIVE}),
        (None, Chat(), False, {"b": CHAT, "both": CHAT}),
        (Native(), Chat(), True, {"a": NATIVE, "b": CHAT, "both": CHAT}),
        (None, None, False, {}),
    ],
)
def test_an_entry_of_a_family_may_have_the_quirks_of_both_gateways(
    native: Gateway[Any] | None,
    chat: ChatGateway | None,
    takes_prompts: bool,
    quirks: dict[str, Any],
) -> None:
    spec = Family(native=native, chat=chat).spec()
    assert (spec.takes_prompts, dict(spec.quirks)) == (takes_prompts, quirks)


def test_texts_are_completed_over_chat_and_chat_is_never_made_of_texts() -> None:
    native, chat = Native(), Chat()
    direct, bridge = Family(native=native, chat=chat).doors("completions")
    assert direct is native
    assert isinstance(bridge, Bridge)
    assert Family(native=native, chat=chat).doors("chat.completions") == (chat, None)
    assert Family(native=native).doors("completions") == (native, None)
    assert Family(native=native).doors("chat.completions") == (None, None)
