"""The official clients, configured for a Tollgate."""

from openai import OpenAI
from scale_gp_beta import SGPClient

from tests.contract.llamacpp.served import Served


def openai_client(served: Served) -> OpenAI:
    gateway = served.gateway
    return OpenAI(base_url=gateway.base_url, api_key=gateway.api_key, max_retries=0, timeout=30)


def scale_client(served: Served) -> SGPClient:
    gateway = served.gateway
    return SGPClient(
        base_url=gateway.base_url.removesuffix("/v5"),
        api_key=gateway.api_key,
        account_id="acme",
        max_retries=0,
        timeout=30,
    )
