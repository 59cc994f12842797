"""gunicorn's worker, its connections, and how requests and responses go over them.

The only room that imports gevent or gunicorn; does not know the application. Read `worker` first.
"""
