"""Sizes the two memory pools of a hybrid model's server with the engine's own arithmetic."""

__version__ = "0.1.0"
