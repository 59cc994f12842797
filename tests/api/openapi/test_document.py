"""The API's description: valid, whole, and OpenAI's where it says the same."""

import json
import re
from typing import Any

import pytest
import requests
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from app.api.openapi.document import describe
from app.api.openapi.examples import EXAMPLES
from app.api.openapi.field_texts import fields_in
from app.api.openapi.route_errors import of_generation
from app.factory import create_app
from app.settings import Settings
from app.vocabulary.chat.parameters import CHAT_PARAMETERS
from app.vocabulary.completion import PARAMETERS
from tests.support import openai_facts
from tests.support.gateway import Gateway

#: The requests that call models -> the parameters that each must have.
REQUESTS = {"CompletionRequest": PARAMETERS, "ChatCompletionRequest": CHAT_PARAMETERS}

CHUNK = "ChatCompletionChunk"

#: Pages, for people.
NOT_DESCRIBED = re.compile(r"/dashboard\b")


@pytest.fixture(scope="module")
def api() -> dict[str, Any]:
    """The description."""
    return describe()


def operations(api: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Every operation with its method and path."""
    return [
        (method, path, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_is_valid_openapi(api: dict[str, Any]) -> None:
    """By the specification's own schema."""
    assert api["openapi"].startswith("3.1.")
    validate(api, cls=OpenAPIV31SpecValidator)
    assert json.loads(json.dumps(api)) == api


def test_every_route_is_described_and_none_that_is_not_there(
    api: dict[str, Any], settings: Settings
) -> None:
    """But for the pages of the dashboard."""
    routes = {
        (method.lower(), re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule))
        for rule in create_app(settings).url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if not NOT_DESCRIBED.match(rule.rule)
    }
    assert routes == {(method, path) for method, path, _ in operations(api)}


def test_every_error_is_described_where_it_can_occur(api: dict[str, Any]) -> None:
    """All have one shape."""
    for path in ("/v5/completions", "/v5/chat/completions"):
        responses = api["paths"][path]["post"]["responses"]
        for error in of_generation():
            described = responses[str(error.status)]["description"]
            assert error.code is None or f"`{error.code}`" in described, error
    for _, _, operation in operations(api):
        for status, response in operation["responses"].items():
            if int(status) >= 400 and operation["operationId"] != "readyz":
                schema = response["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Error"}


def test_a_route_lists_no_error_of_another(api: dict[str, Any]) -> None:
    """Of the query string, of what was pruned, of a path that is not there."""
    for path in ("/v5/completions", "/v5/chat/completions"):
        text = json.dumps(api["paths"][path]["post"]["responses"])
        for code in ("usage_pruned", "request_not_found", "`not_found`"):
            assert code not in text
    report = api["paths"]["/v5/organization/costs"]["get"]["responses"]["400"]["description"]
    assert {"`usage_pruned`", "`unknown_parameter`"} <= set(re.findall("`[a-z_]+`", report))
    listed = api["paths"]["/v5/models"]["get"]["responses"]["400"]["description"]
    assert set(re.findall("^- (`[a-z_]+`)", listed, re.MULTILINE)) == {
        "`invalid_value`",
        "`invalid_type`",
    }


def test_every_field_is_explained(api: dict[str, Any]) -> None:
    """Also the fields inside of messages, tools, answers and records."""
    silent = [
        path
        for name, schema in api["components"]["schemas"].items()
        for path, field in fields_in(schema, name)
        if not field.get("description")
    ]
    assert silent == []


def test_every_route_with_a_key_has_a_sample_that_its_schemas_allow(api: dict[str, Any]) -> None:
    for _, path, operation in operations(api):
        if operation.get("security") == []:
            continue
        example = EXAMPLES[operation["operationId"]]
        answer = operation["responses"]["200"]["content"]["application/json"]
        assert answer["example"] == example.answer
        check(api, answer["schema"], example.answer)
        if "requestBody" in operation:
            asked = operation["requestBody"]["content"]["application/json"]
            assert asked["example"] == example.body
            check(api, asked["schema"], example.body)
        wanted = {it["name"] for it in operation.get("parameters", []) if it["in"] == "path"}
        assert wanted == set(example.path), path
    for name, schema in (("createCompletion", "Completion"), ("createChatCompletion", CHUNK)):
        for event in EXAMPLES[name].stream:
            check(api, {"$ref": f"#/components/schemas/{schema}"}, event)


def check(api: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    """Check a value against a schema of the document."""
    OAS31Validator({**schema, "components": api["components"]}).validate(value)


def test_every_parameter_has_words_of_its_own(api: dict[str, Any]) -> None:
    """A name alone explains nothing."""
    for request, parameters in REQUESTS.items():
        properties = api["components"]["schemas"][request]["properties"]
        silent_ones = {name for name, it in properties.items() if not it.get("description")}
        assert silent_ones == set()
        assert set(parameters) <= set(properties)
    silent = [
        (path, parameter["name"])
        for _, path, operation in operations(api)
        for parameter in operation.get("parameters", [])
        if not (parameter.get("description") or parameter["schema"].get("description"))
    ]
    assert silent == []


@pytest.mark.parametrize("request_name", REQUESTS)
def test_a_request_has_openais_fields_and_bounds(api: dict[str, Any], request_name: str) -> None:
    """What is stricter here is stated here."""
    ours = api["components"]["schemas"][request_name]
    theirs = openai_facts.SCHEMAS[f"Create{request_name}"]
    assert set(ours["properties"]) == set(theirs["properties"])
    assert sorted(ours["required"]) == sorted(theirs["required"])
    stricter = {("best_of", "minimum"): 1}  # `n` is at least 1, and best_of at least `n`
    for name, schema in theirs["properties"].items():
        for bound in ("minimum", "maximum"):
            if bound in schema:
                expected = stricter.get((name, bound), schema[bound])
                assert ours["properties"][name][bound] == expected, name
        if schema.get("type") in ("integer", "number", "boolean"):
            assert schema["type"] in ours["properties"][name]["type"], name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("Completion", "CreateCompletionResponse"),
        ("ChatCompletion", "CreateChatCompletionResponse"),
        ("ChatChoice", "ChatCompletionChoice"),
        ("ChatMessage", "ChatCompletionResponseMessage"),
        ("ChatCompletionChunk", "CreateChatCompletionStreamResponse"),
        ("ChatChunkChoice", "ChatCompletionStreamChoice"),
        ("ChatDelta", "ChatCompletionStreamResponseDelta"),
        ("ChatToolCallDelta", "ChatCompletionMessageToolCallChunk"),
        ("ChatCompletionUsage", "CompletionUsage"),
        ("CompletionUsage", "CompletionUsage"),
        ("ErrorDetail", "Error"),
        ("Error", "ErrorResponse"),
        ("UsagePage", "UsageResponse"),
        ("UsageBucket", "UsageTimeBucket"),
        ("UsageResult", "UsageCompletionsResult"),
        ("CostsPage", "UsageResponse"),
        ("CostsBucket", "UsageTimeBucket"),
        ("CostsResult", "CostsResult"),
    ],
)
def test_an_answer_has_what_openai_requires_and_no_name_of_another_type(
    api: dict[str, Any], ours: str, theirs: str
) -> None:
    """So that OpenAI's clients read it."""
    here, there = api["components"]["schemas"][ours], openai_facts.SCHEMAS[theirs]
    assert set(there["required"]) <= set(here.get("required", []))
    for name in set(here["properties"]) & set(there["properties"]):
        schema = there["properties"][name]
        if "type" in schema:
            found = here["properties"][name].get("type", "object")
            assert schema["type"] in (found if isinstance(found, list) else [found]), name


@pytest.mark.parametrize("path", ["/organization/usage/completions", "/organization/costs"])
def test_a_report_takes_openais_parameters(api: dict[str, Any], path: str) -> None:
    """And says which of them must be there."""
    ours = api["paths"][f"/v5{path}"]["get"]["parameters"]
    theirs = openai_facts.PARAMETERS[path]
    required = {name for name, is_required in theirs.items() if is_required}
    assert set(theirs) <= {p["name"] for p in ours}
    assert required == {p["name"] for p in ours if p.get("required")}


def test_it_is_served_as_it_is(gateway: Gateway, api: dict[str, Any]) -> None:
    """To anybody, and to pages of other sites."""
    root = gateway.base_url.removesuffix("/v5")
    answer = requests.get(f"{root}/openapi.json", timeout=60)
    assert answer.json() == {**api, "servers": [{"url": root}]}
    assert answer.headers["access-control-allow-origin"] == "*"


def test_the_page_shows_all_of_it_and_asks_nobody_else(
    gateway: Gateway, api: dict[str, Any]
) -> None:
    """No image, no font, no script of others; the policy forbids them as well."""
    answer = requests.get(f"{gateway.base_url.removesuffix('/v5')}/docs", timeout=60)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src")
    page = answer.text
    assert not re.search(r"<img|<link|<iframe|@import|url\(| src=", page)
    assert "prefers-color-scheme" in page or "color-scheme: light dark" in page
    for _, path, operation in operations(api):
        assert f'id="{operation["operationId"]}"' in page
        assert path in page
    for name, schema in api["components"]["schemas"].items():
        assert f'id="{name}"' in page
        assert all(f"<code>{field}</code>" in page for field in schema["properties"])
