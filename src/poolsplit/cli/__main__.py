"""Runs the command line as `python -m poolsplit.cli`."""

from poolsplit.cli.app import main

main()
