"""From solved pools to the split to set: balance, optimum, levers, kept sessions."""
