"""Request traces: read what people have, make what they cannot share, and describe it."""
