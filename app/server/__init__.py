"""gunicorn's worker for the web process, its connections, requests and responses.

The only room that imports gevent or gunicorn. It does not know HTTP's meaning for the application:
any WSGI application can be served. Read `worker` first, then `connection`.

Private names of gunicorn that this room uses, each with its reason, are listed in
`docs/private-names.md`. Only gunicorn loads these modules.
"""
