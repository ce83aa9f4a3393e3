"""The start-up solver: free memory to state slots, KV rows and running requests, exactly as the engine does it."""

from poolsplit.engines.sglang.solver.solve import solve

__all__ = ["solve"]
