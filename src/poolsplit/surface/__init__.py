"""Hits at every pair of pool sizes, and the best split of a budget: from replays that are handed in as functions."""
