"""The command line: one file per command, each at most forty lines of its own."""

import gc

gc.set_threshold(100_000)
"""A start makes thousands of objects that stay: looking through them for garbage is a twentieth of its time."""
