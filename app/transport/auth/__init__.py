"""How requests to vendors are authenticated: keys in headers, AWS and Google credentials.

Does not know what is requested. Read `schemes` first.
"""
