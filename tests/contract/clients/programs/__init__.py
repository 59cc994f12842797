"""Clients in processes of their own: in other languages, or with libraries of their own."""
