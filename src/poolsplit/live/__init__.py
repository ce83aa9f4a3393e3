"""Live servers: scrape them, take differences, compare with a plan, and say what to change at the next restart.

Everything here is engine-neutral: an engine's names and paths arrive as an `Exporter`. Nothing is ever sent but GETs.
"""
