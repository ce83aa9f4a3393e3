"""What a model asks of its server while it loads, after the arguments were resolved and taken.

Source: the model classes of 0.5.16 to 0.5.23.
"""

from __future__ import annotations

_BUFFERED_ONLY = frozenset({"InklingForConditionalGeneration", "InklingForConditionalGenerationMTP"})


def stops_loading(architecture: str, *, role: str, radix_off: bool, buffered: bool, one_window_pool: bool) -> str:
    """Why the model stops its server while it loads; empty where it does not.

    Args:
        architecture: The target model's.
        role: `null`, `prefill` or `decode`: a decode server is exempt.
        radix_off: Whether the radix cache is off.
        buffered: Whether the radix strategy keeps tracking slots.
        one_window_pool: Whether window layers share the pool of the full ones.
    """
    if architecture not in _BUFFERED_ONLY or role == "decode":
        return ""
    if radix_off:
        return f"{architecture} stops while it loads without a radix cache (`--disable-radix-cache`)"
    if one_window_pool:
        return f"{architecture} stops while it loads without a window pool (`--disable-hybrid-swa-memory`)"
    if not buffered:
        return f"{architecture} stops while it loads unless `--mamba-radix-cache-strategy` is a buffered one"
    return ""
