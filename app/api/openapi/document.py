"""The OpenAPI document: schemas and operations."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import orjson
from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from marshmallow import Schema
from marshmallow.fields import Field

from app import __version__
from app.api.models import ChatModelListParams, ModelListParams
from app.api.openapi import chat_responses, model_responses, request_record, responses
from app.api.openapi.descriptions import DESCRIPTION, FIELDS
from app.api.openapi.field_texts import add_texts
from app.api.openapi.keyless import KEYLESS
from app.api.openapi.operations import (
    CHAT,
    COMPLETIONS,
    MODEL,
    Operation,
    chat_models,
    models,
    report,
)
from app.api.schemas.chat.request import ChatCompletionRequestSchema
from app.api.schemas.completion import CompletionRequestSchema
from app.api.schemas.usage_params import (
    CostsParamsSchema,
    RefusalsParamsSchema,
    UsageParamsSchema,
)

SCHEMAS: dict[str, type[Schema]] = {
    "CompletionRequest": CompletionRequestSchema,
    "Completion": responses.CompletionSchema,
    "ChatCompletionRequest": ChatCompletionRequestSchema,
    "ChatCompletion": chat_responses.ChatCompletion,
    "ChatCompletionChunk": chat_responses.ChatCompletionChunk,
    "Error": responses.Error,
    "Model": model_responses.Model,
    "ModelList": model_responses.ModelList,
    "ChatModelList": chat_responses.ChatModelList,
    "UsagePage": responses.UsagePage,
    "CostsPage": responses.CostsPage,
    "RefusalsPage": responses.RefusalsPage,
}

SECURITY = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}


@functools.cache
def describe() -> dict[str, Any]:
    """Return the OpenAPI document."""
    plugin = MarshmallowPlugin(schema_name_resolver=_name)
    spec = _specification(plugin)
    for operation in _operations(plugin):
        spec.path(operation.path, operations={operation.method: operation.dump()})
    document: dict[str, Any] = orjson.loads(orjson.dumps(spec.to_dict()))
    for name, schema in document["components"]["schemas"].items():
        add_texts(schema, name)
    return document


def _specification(plugin: MarshmallowPlugin) -> APISpec:
    """Return the document without operations."""
    spec = APISpec(
        title="Tollgate",
        version=__version__,
        openapi_version="3.1.0",
        info={"description": DESCRIPTION},
        servers=[{"url": "/"}],
        security=[{name: []} for name in SECURITY],
        plugins=[plugin],
    )
    for name, scheme in SECURITY.items():
        spec.components.security_scheme(name, scheme)
    _converter(plugin).add_attribute_function(_own_schema)  # type: ignore[no-untyped-call]
    for name, schema in SCHEMAS.items():
        spec.components.schema(name, schema=schema)
    for name, component in request_record.components().items():
        spec.components.schema(name, component)
    return spec


def _operations(plugin: MarshmallowPlugin) -> list[Operation]:
    def query(schema: Schema) -> list[Any]:
        parameters: list[Any] = _converter(plugin).schema2parameters(schema, location="query")
        return parameters

    return [
        COMPLETIONS,
        CHAT,
        models(query(ModelListParams())),
        MODEL,
        chat_models(query(ChatModelListParams())),
        *_reports(query),
        request_record.OPERATION,
        *KEYLESS,
    ]


def _reports(query: Callable[[Schema], list[Any]]) -> Iterator[Operation]:
    yield report(
        "/v5/organization/usage/completions",
        "listCompletionsUsage",
        "Get tokens and requests per bucket",
        "UsagePage",
        query(UsageParamsSchema()),
    )
    yield report(
        "/v5/organization/costs",
        "listCosts",
        "Get costs per day",
        "CostsPage",
        query(CostsParamsSchema()),
    )
    yield report(
        "/v5/organization/usage/refusals",
        "listRefusals",
        "Get refused requests per bucket",
        "RefusalsPage",
        query(RefusalsParamsSchema()),
        of="Tollgate's own, in the shape of OpenAI's usage API",
    )


def _converter(plugin: MarshmallowPlugin) -> OpenAPIConverter:
    """Return the plugin's converter, which it has once it belongs to a specification."""
    if plugin.converter is None:
        raise TypeError("the plugin has no converter")
    return plugin.converter


def _name(schema: Any) -> str:
    of = schema if isinstance(schema, type) else type(schema)
    return of.__name__.removesuffix("Schema")


def _own_schema(_: Any, field: Field[Any], ret: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field with a `json_schema`; it replaces the plugin's in `ret`."""
    own = getattr(field, "json_schema", None)
    if own is None:
        return {}
    ret.clear()
    described: dict[str, Any] = own()
    if text := FIELDS.get(field.name or ""):
        described["description"] = text
    return described
