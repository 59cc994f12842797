"""Conversations that end with the assistant, whose message a model continues, or begin with one."""

from app.gateways.conversation.omissions import unsupported
from app.gateways.conversation.turns import Conversation
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter

#: The trait of a model that does not continue an assistant's last message.
NO_PREFILL = "no_prefill"


def check_prefill(vendor: Vendor, model_name: str, talk: Conversation) -> None:
    """Refuse a conversation that ends with the assistant where the model does not continue it.

    Nothing is deleted: a text that ends in white space, which vendors of Claude reject, is refused,
    too.
    Raises: UnsupportedParameter, InvalidRequest.
    """
    if talk.turns[-1].side != "assistant":
        return
    last = talk.turns[-1].messages[-1]
    if NO_PREFILL in rules_of(vendor, model_name).traits:
        raise UnsupportedParameter(
            f"The model `{model_name[:64]}` of the vendor `{vendor.name}` does not continue a "
            f"message of the assistant, as `{last.path}`: end with a message of the user.",
            param=last.path,
        )
    if last.text != last.text.rstrip():
        path = f"{last.path}.content"
        raise InvalidRequest(
            f"`{path}` must not end in white space: the vendor `{vendor.name}` rejects that in "
            "the last message of the assistant.",
            param=path,
        )


def check_first(vendor: Vendor, talk: Conversation, *, is_call: bool = False) -> None:
    """Refuse a conversation that begins with the assistant; `is_call`: only if it calls tools.

    Raises: UnsupportedParameter.
    """
    first = talk.turns[0]
    if first.side != "assistant":
        return
    if not is_call or any(message.tool_calls for message in first.messages):
        hint = "a conversation begins with a message of the user"
        raise unsupported(vendor, first.messages[0].path, hint)
