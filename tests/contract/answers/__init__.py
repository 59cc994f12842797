"""What a vendor's answer means to its caller and to the books, byte by byte, on every wire."""
