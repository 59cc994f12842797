"""The models: `GET /v5/models`, `/v5/models/{id}` and `/v5/chat/completions/models`.

In the shapes of both official clients, with what `model_cards` adds. OpenAI's reads all of `data`.
Scale's reads `items` page by page, with the last id as cursor; the models for chat have a shape of
their own there.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from flask import Blueprint, request
from marshmallow import EXCLUDE, Schema, ValidationError, validates_schema

from app.api.auth import authenticate
from app.api.mistakes.models import meant_model
from app.api.model_cards import card
from app.api.schemas.fields import VALUE, Problem
from app.api.schemas.problems import first_problem
from app.api.schemas.query_fields import Integer, OneOf, Scalar
from app.container import services
from app.serving.routing import is_pattern
from app.vocabulary.errors import ModelNotFound
from app.vocabulary.request import Endpoint
from app.vocabulary.suggestion import did_you_mean

models_blueprint = Blueprint("models", __name__)

PAGE_LIMIT = 10_000

#: A vendor, and its name for a model or a pattern of models.
Name = tuple[str, str]


class ModelListParams(Schema):
    """The query string of the list; unknown parameters are ignored."""

    class Meta:
        """Both clients may send more parameters, such as an order."""

        unknown = EXCLUDE

    limit = Integer(1, PAGE_LIMIT, load_default=PAGE_LIMIT)
    starting_after = Scalar(load_default=None)
    ending_before = Scalar(load_default=None)
    name = Scalar(load_default=None)
    model_vendor = Scalar(load_default=None)

    @validates_schema
    def _check_together(self, values: dict[str, Any], **_: Any) -> None:
        if values["starting_after"] is not None and values["ending_before"] is not None:
            problem = Problem(VALUE, "cannot be given with `starting_after`")
            raise ValidationError([problem], "ending_before")


class ChatModelListParams(ModelListParams):
    """The query string of the list of models for chat."""

    class Meta:
        """The client may send what to sort by; there is only the name."""

        unknown = EXCLUDE
        exclude = ("name",)

    sort_order = OneOf({"asc": False, "desc": True}, load_default=False)


_PARAMS = ModelListParams()
_CHAT_PARAMS = ChatModelListParams()


@models_blueprint.get("/v5/models")
def list_models() -> dict[str, Any]:
    """List `vendor/name`, or `vendor/*` if the vendor's models are not listed."""
    authenticate("completions")
    params = _load(_PARAMS)
    names, has_more = _page(list(_models(params)), params)
    page = [card(*name) for name in names]
    return {"object": "list", "data": page, "items": page, "has_more": has_more}


@models_blueprint.get("/v5/chat/completions/models")
def list_chat_models() -> dict[str, Any]:
    """List the models for chat, as Scale's client reads them."""
    authenticate("completions")
    params = _load(_CHAT_PARAMS)
    found = list(_models({"name": None, **params}, "chat.completions"))
    found.sort(key="/".join, reverse=params["sort_order"])
    page, has_more = _page(found, params)
    return {"object": "list", "items": [_definition(*name) for name in page], "has_more": has_more}


@models_blueprint.get("/v5/models/<path:model_id>")
def retrieve_model(model_id: str) -> dict[str, Any]:
    """Return one model. A pattern such as `vendor/*` is not a model."""
    authenticate("completions")
    vendor_name, _, name = model_id.partition("/")
    if not name:
        meant = meant_model(model_id, services().vendors)
        raise _no_model(model_id, f" Did you mean `{meant}`?" if meant else "")
    vendor = services().vendors.find(vendor_name)
    if not is_pattern(name):
        name = vendor.booked_name(name)
    if name in vendor.models and is_pattern(name):
        raise ModelNotFound(
            f"`{model_id[:64]}` is a pattern, and not a model. Put a name that the vendor has for "
            "a model in the place of `*`.",
            param="model",
        )
    if is_pattern(name) or not any(fnmatchcase(name, pattern) for pattern in vendor.models):
        listed = (f"{vendor.name}/{it}" for it in vendor.models)
        raise _no_model(model_id, did_you_mean(model_id, listed))
    return card(vendor_name, name)


def _no_model(model_id: str, hint: str) -> ModelNotFound:
    sentence = f"There is no model `{model_id[:64]}`.{hint} `GET /v5/models` lists the models."
    return ModelNotFound(sentence, param="model")


def _load(schema: Schema) -> dict[str, Any]:
    try:
        params: dict[str, Any] = schema.load(request.args.to_dict())
    except ValidationError as exc:
        raise first_problem(exc) from exc
    return params


def _models(params: dict[str, Any], endpoint: Endpoint = "completions") -> Iterator[Name]:
    """Yield the models of the vendors that serve the endpoint: the vendor and its name."""
    for vendor in services().vendors.configured():
        if not services().completions.serves(vendor, endpoint):
            continue
        if params["model_vendor"] in (None, vendor.name):
            for name in vendor.models:
                if params["name"] in (None, f"{vendor.name}/{name}"):
                    yield vendor.name, name


def _definition(vendor: str, name: str) -> dict[str, Any]:
    """Return a model as Scale's client reads it for chat."""
    return {
        "model_name": f"{vendor}/{name}",
        "model_type": "chat_completion",
        "model_vendor": vendor,
        "model_availability": "available",
    }


def _page(models: Sequence[Name], params: dict[str, Any]) -> tuple[Sequence[Name], bool]:
    """Return the models of one page, and whether more follow in its direction.

    `starting_after` an unknown id starts behind the end, `ending_before` one ends at the start.
    """
    ids, limit = ["/".join(model) for model in models], params["limit"]
    after, before = params["starting_after"], params["ending_before"]
    if before is not None:
        end = ids.index(before) if before in ids else 0
        return models[max(0, end - limit) : end], end > limit
    start = 0 if after is None else ids.index(after) + 1 if after in ids else len(ids)
    return models[start : start + limit], start + limit < len(ids)
