"""The schemas of chat responses, for the API's description only.

Source: OpenAI's descriptions of the same objects. Vendors' own fields, such as `citations`, are
kept beside these.
"""

from marshmallow import INCLUDE, Schema, fields, validate

from app.api.openapi.response_parts import (
    MODEL,
    CompletionTokensDetails,
    CompletionUsage,
    EndedChoice,
    PromptTokensDetails,
    constant,
    count,
    string,
)


class ChatPromptTokensDetails(PromptTokensDetails):
    """Parts of `prompt_tokens`."""

    cache_write_tokens = count("Written to the vendor's cache.")
    image_tokens = fields.Integer(metadata={"description": "Images, if there are any."})


class ChatCompletionTokensDetails(CompletionTokensDetails):
    """Parts of `completion_tokens`."""

    image_tokens = fields.Integer(metadata={"description": "Images, if there are any."})


class ChatCompletionUsage(CompletionUsage):
    """The tokens of one request, for all its choices."""

    prompt_tokens_details = fields.Nested(ChatPromptTokensDetails, required=True)
    completion_tokens_details = fields.Nested(ChatCompletionTokensDetails, required=True)


class Open(Schema):
    """An object in which vendors may have fields of their own."""

    class Meta:
        """They are passed on."""

        unknown = INCLUDE


class CalledFunction(Open):
    """The function that is called. In a stream, a delta of it."""

    name = fields.String()
    arguments = string("JSON, as the model wrote it.")


class CalledCustomTool(Open):
    """The custom tool that is called."""

    name = fields.String()
    input = string("The input, as the model wrote it.")


class ChatToolCall(Open):
    """A call of a tool."""

    id = string("The call's id; send it back as `tool_call_id` with the result.")
    type = string("`function` or `custom`.")
    function = fields.Nested(CalledFunction)
    custom = fields.Nested(CalledCustomTool)


class ChatToolCallDelta(Open):
    """A piece of a call; its id, its type and its name are in the first one."""

    index = count("Counts the calls of the choice.")
    id = fields.String()
    type = fields.String()
    function = fields.Nested(CalledFunction)
    custom = fields.Nested(CalledCustomTool)


class ChatMessage(Open):
    """The reply. It can be sent back as it is."""

    role = constant("assistant")
    content = string("The text; null beside tool calls or a refusal.", allow_none=True)
    refusal = string("Why the model refused; null if it did not.", allow_none=True)
    reasoning_content = fields.String(
        metadata={"description": "The model's reasoning, if the vendor shows it."}
    )
    tool_calls = fields.List(fields.Nested(ChatToolCall))


class ChatDelta(Open):
    """A delta of the reply. The first one of a choice has the role."""

    role = fields.String(validate=validate.Equal("assistant"))
    content = fields.String(allow_none=True)
    refusal = fields.String(allow_none=True)
    reasoning_content = fields.String()
    tool_calls = fields.List(fields.Nested(ChatToolCallDelta))


class ChatLogprobs(Open):
    """The log probabilities of the tokens."""

    content = fields.List(fields.Dict(), required=True, allow_none=True)
    refusal = fields.List(fields.Dict(), required=True, allow_none=True)


class _Ended(EndedChoice, Open):
    index = count("The sample's index.")
    logprobs = fields.Nested(ChatLogprobs, required=True, allow_none=True)


class ChatChoice(_Ended):
    """One choice."""

    message = fields.Nested(ChatMessage, required=True)


class ChatChunkChoice(_Ended):
    """A delta of one choice."""

    delta = fields.Nested(ChatDelta, required=True)


class _Head(Open):
    id = string("The vendor's id; Tollgate's if the vendor sends none.")
    created = count("Unix seconds.")
    model = string(MODEL)
    system_fingerprint = fields.String()
    service_tier = fields.String(
        metadata={"description": "The service tier that the vendor reports."}
    )


class ChatCompletion(_Head):
    """A chat completion."""

    object = constant("chat.completion")
    choices = fields.List(fields.Nested(ChatChoice), required=True)
    usage = fields.Nested(ChatCompletionUsage)


class ChatCompletionChunk(_Head):
    """One chunk of a stream. The last one, if `include_usage` is set, has no choices."""

    object = constant("chat.completion.chunk")
    choices = fields.List(fields.Nested(ChatChunkChoice), required=True)
    usage = fields.Nested(ChatCompletionUsage, allow_none=True)


class ChatModel(Schema):
    """A model, or a pattern of models, for chat."""

    model_name = string("`vendor/name`, or `vendor/*` for any name that the vendor knows.")
    model_type = constant("chat_completion")
    model_vendor = string("The vendor.")
    model_availability = constant("available")


class ChatModelList(Schema):
    """The models for chat."""

    object = constant("list")
    items = fields.List(fields.Nested(ChatModel), required=True)
    has_more = fields.Boolean(required=True)
