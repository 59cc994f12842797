"""A real llama.cpp server behind Tollgate, each answer held against the server's own."""
