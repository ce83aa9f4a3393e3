"""The replay in plain Python: reads like the law it follows, and is what the fast kernel is held to."""
