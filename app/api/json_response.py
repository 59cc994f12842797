"""A response that is one JSON object."""

from typing import Any

from flask import Response
from werkzeug.datastructures import Headers


class JSONResponse(Response):
    """A whole body of JSON, which is encoded already.

    Its length is known when it is made, and it has no `location`: its headers are final.
    """

    def get_wsgi_headers(self, environ: dict[str, Any]) -> Headers:  # noqa: ARG002
        """Return the headers as they are: werkzeug would copy them and look for what is missing."""
        return self.headers
