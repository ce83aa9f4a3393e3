"""Our own options as told from the signature, against the parser's list."""

import pytest

from poolsplit.cli.app import COMMANDS, build_app
from poolsplit.cli.own_options import own_options, takes_launch

LAUNCHING = [name for name in COMMANDS if (command := build_app()[name].default_command) and takes_launch(command)]


def test_plan_and_resolve_take_a_launch():
    assert {"plan", "resolve"} <= set(LAUNCHING)


@pytest.mark.parametrize("name", LAUNCHING)
def test_every_spelling_that_the_parser_knows_is_ours(name):
    command = build_app()[name]
    parser = {spelling for argument in command.assemble_argument_collection() for spelling in argument.names}
    options = {spelling for spelling in parser if spelling.startswith("-")} - {"--launch"}
    positional = {f"--{spelling.lower().replace('_', '-')}" for spelling in parser if spelling.isupper()}
    assert own_options(command.default_command) - positional == options - positional
