"""Messages to turns of the user and the assistant, as formats with strict turns require.

- The texts of system and developer messages stand apart, in their order, wherever they came. Where
  the model takes later ones in their place, after a turn of the user, they are turns of their own.
- Consecutive messages of one side are one turn; each message keeps its own parts.
- The results of an assistant's calls begin the next turn, in the order of the calls.
- Blank texts are left out, and so are assistant's messages without anything. A user's message
  without anything is an error, and so are calls without a result and results without a call.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from app.gateways.conversation.omissions import Omissions, unsupported
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import Part, TextPart
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.errors import InvalidRequest

#: Fields of an assistant's message that are a turn by themselves.
SPOKEN = ("refusal", "thinking_blocks", "images")

Side = Literal["user", "assistant", "system"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The message that answers a call, and the call."""

    call: ToolCall
    message: Message


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive messages of one side; `results` come before the user's own messages.

    The side `system` has later instructions, in their place.
    """

    side: Side
    messages: tuple[Message, ...]
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request's messages: those with instructions, and the turns, of alternating sides.

    Between a turn of the user and one of the assistant, or at the end, may be one of instructions.
    """

    instructions: tuple[Message, ...]
    turns: tuple[Turn, ...]


def conversation(
    vendor: Vendor,
    messages: Sequence[Message],
    omissions: Omissions,
    *,
    keeps_later: bool = False,
) -> Conversation:
    """Return the messages of a request in turns.

    `keeps_later`: the model takes instructions after a turn of the user.
    Raises: InvalidRequest with the path of the message or the call that cannot be placed.
    """
    _check_heads(vendor, messages, omissions)
    instructions, spoken = _apart(list(_kept(messages)), keeps_later=keeps_later)
    turns = tuple(_turns(spoken))
    if not turns:
        raise InvalidRequest(
            f"The vendor `{vendor.name}` needs `messages` of a user beside the instructions.",
            param="messages",
        )
    return Conversation(tuple(instructions), turns)


def _check_heads(vendor: Vendor, messages: Sequence[Message], omissions: Omissions) -> None:
    """Check the authors' names, and that instructions are texts."""
    for message in messages:
        if message.name is not None and message.role not in ("tool", "function"):
            omissions.leave_out_hint("name")
        for part in message.parts if _side(message) == "system" else ():
            if not isinstance(part, TextPart):
                raise unsupported(vendor, f"{part.path}.type", "instructions are texts")


def _apart(
    messages: Sequence[Message], *, keeps_later: bool
) -> tuple[list[Message], list[Message]]:
    """Return the instructions that stand apart, and the rest."""
    groups = [(side, list(found)) for side, found in groupby(messages, _side)]
    instructions: list[Message] = []
    spoken: list[Message] = []
    for at, (side, group) in enumerate(groups):
        around = [it for it, _ in groups[max(at - 1, 0) : at + 2]]
        in_place = keeps_later and around in (["user", side], ["user", side, "assistant"])
        (spoken if side != "system" or in_place else instructions).extend(group)
    return instructions, spoken


def call_path(message: Message, position: int) -> str:
    """Return the path of an assistant's call."""
    return f"{message.path}.tool_calls[{position}]"


def solid_parts(message: Message) -> list[Part]:
    """Return a message's parts without blank texts, which formats with blocks reject."""
    return [part for part in message.parts if not _is_blank(part)]


def _is_blank(part: Part) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()


def _side(message: Message) -> Side:
    if message.role in ("system", "developer"):
        return "system"
    return "assistant" if message.role == "assistant" else "user"


def _kept(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages that hold something that the model could read.

    Raises: InvalidRequest if a user's message does not.
    """
    for message in messages:
        if message.role == "tool" or message.tool_calls or solid_parts(message):
            yield message
        elif message.role == "assistant":
            if any(message.source.get(name) for name in SPOKEN):
                yield message
        elif _side(message) == "user":
            raise InvalidRequest(
                f"`{message.path}.content` must not be blank.", param=f"{message.path}.content"
            )


def _turns(messages: Iterable[Message]) -> Iterator[Turn]:
    open_calls: dict[str, tuple[str, ToolCall]] = {}
    for side, group in groupby(messages, _side):
        said = tuple(group)
        if side == "assistant":
            open_calls = _calls(said)
            yield Turn(side, said)
        elif side == "system":
            yield Turn(side, said)
        else:
            results = tuple(_results(open_calls, said))
            open_calls = {}
            yield Turn(side, said[len(results) :], results)
    _fail_unanswered(open_calls)


def _calls(messages: Iterable[Message]) -> dict[str, tuple[str, ToolCall]]:
    """Return the calls of an assistant's turn by their ids, each with its path."""
    calls: dict[str, tuple[str, ToolCall]] = {}
    for message in messages:
        for position, call in enumerate(message.tool_calls):
            path = call_path(message, position)
            if call.id is None or call.id in calls:
                raise InvalidRequest(f"`{path}.id` must be an id of its own.", param=f"{path}.id")
            calls[call.id] = path, call
    return calls


def _results(
    calls: dict[str, tuple[str, ToolCall]], messages: Sequence[Message]
) -> list[ToolResult]:
    """Return the results at the start of a user's turn, in the order of the calls."""
    found: dict[str, Message] = {}
    is_over = False
    for message in messages:
        is_over = is_over or message.role != "tool"
        if message.role != "tool":
            continue
        name = message.tool_call_id or ""
        if is_over and name in calls and name not in found:
            _fail_unanswered({name: calls[name]})
        if name not in calls or name in found:
            raise InvalidRequest(
                f"`{message.path}.tool_call_id` names no open call of the assistant's message "
                "before it.",
                param=f"{message.path}.tool_call_id",
            )
        found[name] = message
    _fail_unanswered({name: call for name, call in calls.items() if name not in found})
    return [ToolResult(call, found[name]) for name, (_, call) in calls.items()]


def _fail_unanswered(calls: dict[str, tuple[str, ToolCall]]) -> None:
    """Fail for the first of these calls, if any.

    Raises: InvalidRequest.
    """
    for name, (path, _) in calls.items():
        raise InvalidRequest(
            f"The tool call `{name[:64]}` at `{path}` has no result: a message of the role `tool` "
            "with its id must follow, before any other message.",
            param=path,
        )
