"""Launch lines to flags and back."""

from poolsplit.engines.sglang.command.edit import flag_words, with_changes
from poolsplit.engines.sglang.command.launch import LaunchCommand, parse_flags, parse_launch, parse_tokens

__all__ = ["LaunchCommand", "flag_words", "parse_flags", "parse_launch", "parse_tokens", "with_changes"]
