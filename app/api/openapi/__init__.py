"""The API's description: OpenAPI 3.1, made from the schemas that check requests."""
