"""From a card or a log to the bytes that both pools share."""
