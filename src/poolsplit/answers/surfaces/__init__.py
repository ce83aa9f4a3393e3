"""Surfaces and trace-driven splits: a trace, the cache law and the ordered replay joined with the search over splits.

Beside `api` on the same floor, and reached through it.
"""
