"""How requests to vendors are authenticated: keys in headers, AWS and Google credentials.

Does not know the content of requests. Read `schemes` first.
"""
