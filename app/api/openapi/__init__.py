"""The API's description in OpenAPI 3.1, generated from the schemas that check requests.

Read `document` first.
"""
