"""The command line: one file per command, each at most forty lines of its own."""
