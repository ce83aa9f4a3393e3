"""What one model costs: its layers, and the bytes of a state slot and of a KV token."""
