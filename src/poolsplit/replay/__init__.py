"""The prefix cache and scheduler over both pools: what survives at one split, request by request."""
