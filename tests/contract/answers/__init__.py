"""How a vendor's response, byte by byte, reaches the caller and the ledger, in every API format."""
