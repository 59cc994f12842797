"""What the official clients show of a mistake, and that their own base URLs are the ones named."""

import re

import openai
import pytest
import scale_gp_beta
from openai import OpenAI
from scale_gp_beta import SGPClient

from tests.support.gateway import Gateway

MODEL = "sandbox/echo"


def named_base_url(error: Exception) -> str:
    """Return the base URL that an error's text names."""
    found = re.search(r"`base_url` `([^`]+)`", str(error))
    assert found is not None, str(error)
    return found[1]


@pytest.mark.parametrize("wrong", ["", "/v1", "/v5/v5", "/api", "/openai/v1"])
def test_openais_client_names_the_base_url_with_which_it_works(site: Gateway, wrong: str) -> None:
    root = site.base_url.removesuffix("/v5")
    client = OpenAI(base_url=root + wrong, api_key=site.api_key, max_retries=0)
    with pytest.raises(openai.NotFoundError) as caught:
        client.completions.create(model=MODEL, prompt="hi")
    mended = client.with_options(base_url=named_base_url(caught.value))
    assert mended.completions.create(model=MODEL, prompt="hi").choices[0].text == "hi"


@pytest.mark.parametrize("wrong", ["/v5", "/v1"])
def test_scales_client_names_the_base_url_with_which_it_works(site: Gateway, wrong: str) -> None:
    root = site.base_url.removesuffix("/v5")
    client = SGPClient(
        base_url=root + wrong, api_key=site.api_key, account_id="acme", max_retries=0
    )
    with pytest.raises(scale_gp_beta.NotFoundError) as caught:
        client.completions.create(model=MODEL, prompt="hi")
    mended = client.with_options(base_url=named_base_url(caught.value))
    assert mended.completions.create(model=MODEL, prompt="hi").choices[0].text == "hi"


def test_openais_client_shows_all_faults_the_request_and_the_page(site: Gateway) -> None:
    client = OpenAI(base_url=site.base_url, api_key=site.api_key, max_retries=0)
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model=MODEL, prompt="hi", n=0, temperature=9)
    error = caught.value
    assert "`n` must be" in str(error)
    assert "`temperature` must be" in str(error)
    assert isinstance(error.body, dict)
    assert error.body["request_id"] == error.request_id
    assert "/docs/errors#invalid_value" in error.body["doc_url"]
    assert len(error.body["details"]) == 2


def test_a_retry_that_is_useless_is_not_made(site: Gateway) -> None:
    client = OpenAI(base_url=site.base_url, api_key=site.api_key, max_retries=2)
    with pytest.raises(openai.APIStatusError) as caught:
        client.completions.create(model=f"{MODEL}?status=451", prompt="hi")
    assert caught.value.request.headers["x-stainless-retry-count"] == "0"


def test_an_unset_variable_is_named(site: Gateway) -> None:
    client = OpenAI(base_url=site.base_url, api_key="None", max_retries=0)
    with pytest.raises(openai.AuthenticationError, match="a variable of your program is not set"):
        client.models.list()


def test_a_broken_stream_shows_the_request_and_the_tries(site: Gateway) -> None:
    client = OpenAI(base_url=site.base_url, api_key=site.api_key, max_retries=0)
    stream = client.completions.create(
        model=f"{MODEL}?words=9&cut_after=3", prompt="hi", stream=True
    )
    with pytest.raises(openai.APIError) as caught:
        list(stream)
    assert "Tollgate tried once." in str(caught.value)
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["request_id"] == stream.response.headers["x-request-id"]
