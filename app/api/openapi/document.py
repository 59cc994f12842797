"""The whole description: the schemas, then the operations on them."""

import functools
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema
from marshmallow.fields import Field

from app.api.models import ModelListParams
from app.api.openapi import responses
from app.api.openapi.descriptions import DESCRIPTION, FIELDS
from app.api.openapi.operations import COMPLETIONS, MODEL, OURS, models, report
from app.api.schemas.completion import CompletionRequestSchema
from app.api.schemas.usage_params import CostsParamsSchema, UsageParamsSchema

SCHEMAS: dict[str, type[Schema]] = {
    "CompletionRequest": CompletionRequestSchema,
    "Completion": responses.Completion,
    "Error": responses.Error,
    "Model": responses.Model,
    "ModelList": responses.ModelList,
    "UsagePage": responses.UsagePage,
    "CostsPage": responses.CostsPage,
}

SECURITY = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}


@functools.cache
def describe() -> dict[str, Any]:
    """Return the OpenAPI document."""
    plugin = MarshmallowPlugin(schema_name_resolver=_name)
    spec = APISpec(
        title="Tollgate",
        version="5",
        openapi_version="3.1.0",
        info={"description": DESCRIPTION},
        security=[{name: []} for name in SECURITY],
        plugins=[plugin],
    )
    for name, scheme in SECURITY.items():
        spec.components.security_scheme(name, scheme)
    if plugin.converter is None:  # it is made when the spec takes the plugin
        raise TypeError("the plugin has no converter")
    plugin.converter.add_attribute_function(_own_schema)  # type: ignore[no-untyped-call]
    for name, schema in SCHEMAS.items():
        spec.components.schema(name, schema=schema)
    usage = report(
        "/v5/organization/usage/completions",
        "listCompletionsUsage",
        "Sum tokens and requests over time",
        "UsagePage",
        plugin.converter.schema2parameters(UsageParamsSchema(), location="query"),
    )
    costs = report(
        "/v5/organization/costs",
        "listCosts",
        "Sum what was spent, by day",
        "CostsPage",
        plugin.converter.schema2parameters(CostsParamsSchema(), location="query"),
    )
    listed = models(plugin.converter.schema2parameters(ModelListParams(), location="query"))
    for operation in (COMPLETIONS, listed, MODEL, usage, costs, *OURS):
        spec.path(operation.path, operations={operation.method: operation.dump()})
    return spec.to_dict()


def _name(schema: Any) -> str:
    return (schema if isinstance(schema, type) else type(schema)).__name__


def _own_schema(_: Any, field: Field[Any], ret: dict[str, Any]) -> dict[str, Any]:
    """Return what a field of ours takes, in its own words; `ret` is what the plugin found."""
    own = getattr(field, "json_schema", None)
    if own is None:
        return {}
    ret.clear()
    described: dict[str, Any] = own()
    if says := FIELDS.get(field.name or ""):
        described["description"] = says
    return described
