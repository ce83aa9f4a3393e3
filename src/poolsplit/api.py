"""What poolsplit answers, as functions: the rooms below joined, for the command line and for other programs."""
