"""Traffic as a plan sees it: lengths as a distribution, concurrency, kept sessions."""
