"""A real llama.cpp server behind Tollgate; each response is compared with the server's own."""
