"""What one engine does with flags and bytes; nothing outside this room knows an engine's name."""
