"""Entry point: which commands there are, how a command line is divided, and how an error leaves the process.

A line has up to three parts: our own options, engine flags in the engine's own spelling, and after `--` a whole
launch command. Only the first part reaches the option parser; the others arrive as a `LaunchTokens`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App
from cyclopts.exceptions import CycloptsError, UnknownOptionError, UnusedCliTokensError

from poolsplit import __version__
from poolsplit.cli.launch_tokens import LaunchTokens
from poolsplit.cli.own_options import own_options, takes_launch
from poolsplit.errors import InputError, PoolsplitError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED_EXIT_CODE = 130
ROOT_FLAGS = ("--help", "-h", "--version")

COMMANDS = {
    "plan": "Which split to set for a model, cards and traffic",
    "resolve": "What the engine will resolve from a launch, before it loads anything",
    "read": "What a server did, from its log, and what to change",
    "diff": "What changed between two logs or launches, and what it changed",
    "trace": "Read, convert, describe and make request traces",
    "replay": "Which prefixes survive at one split",
    "surface": "Which prefixes survive at every split, and the best split of a budget",
    "sweep": "A grid of replays over splits, options, traces and seeds",
    "models": "The embedded models, or one of them",
    "gpus": "The embedded cards",
    "watch": "Whether the live server is where the plan said, and what to change",
    "check": "Gate for deployments: do the figures meet the conditions",
    "ui": "Both pools in a browser, served from this machine",
    "dashboard": "Dashboard and alert rules that watch both pools for a plan",
    "explain": "Answers to the questions people ask about the two pools",
}
"""What there is, and one line on each. The command `x` is `poolsplit.cli.x:x`, imported only when it is asked for."""

_ENGINE_FLAGS = (
    "The engine's own flags are accepted beside these options, in the engine's spelling (such as `--tp 4` or "
    "`--mem-fraction-static 0.85`); so is a whole launch command after `--`."
)
MORE_HELP = {
    "plan": _ENGINE_FLAGS,
    "resolve": _ENGINE_FLAGS,
    "read": f"{_ENGINE_FLAGS} They add what the log does not show.",
    "check": "Without a condition every size must lie within 0.02 (2 %) of what was predicted.",
}
"""What the help of a command says below its line."""


def build_app() -> App:
    """The command tree; each command's module is imported only when it runs or its help is asked for."""
    app = App(
        name="poolsplit",
        help="Sizes the two memory pools of a hybrid model's server with the engine's own arithmetic.",
        version=__version__,
        version_flags=["--version"],
        help_flags=["--help", "-h"],
    )
    for name, summary in COMMANDS.items():
        text = "\n\n".join(filter(None, (summary, MORE_HELP.get(name))))
        app.command(f"poolsplit.cli.{name}:{name}", name=name, help=text)
    return app


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and gives its exit code.

    Raises:
        PoolsplitError: Bad input, a refusal, no feasible plan or no server.
    """
    app = build_app()
    _check_command(arguments)
    own, pasted = _split_at_delimiter(arguments)
    own, engine = _split_engine_flags(app, own)
    try:
        command, bound, injected = app.parse_args(own, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise _usage_error(app, error, own) from None
    extra: dict[str, Any] = {}
    if "launch" in injected:
        extra["launch"] = LaunchTokens(engine=tuple(engine), pasted=tuple(pasted))
    elif pasted:
        raise UsageError(
            "this command takes nothing after `--`", hint="a launch command belongs to `plan` or `resolve`"
        )
    result = command(*bound.args, **bound.kwargs, **extra)
    return result if isinstance(result, int) else 0


def main() -> None:
    """Runs the process's own command line; never ends in a traceback for anything a user did."""
    _open_missing_streams()
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except PoolsplitError as error:
        print_error(error)
        code = error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = INTERRUPTED_EXIT_CODE
    except BrokenPipeError:
        _drop_stdout()
        code = 0
    except OSError as error:
        _drop_stdout()
        print_error(_stream_error(error))
        code = InputError.exit_code
    sys.exit(code)


def _open_missing_streams() -> None:
    """Gives the process the streams that its caller closed: nothing to read, messages dropped, answers refused."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115  lives as long as the process
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  lives as long as the process


def _drop_stdout() -> None:
    """Lets what stdout still holds go nowhere, so that the process ends without a second complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stream_error(error: OSError) -> InputError:
    where = str(error.filename) if error.filename else "stdout"
    return InputError(
        error.strerror or str(error), where=where, hint="check that it can be read and written, or use -o FILE"
    )


def print_error(error: PoolsplitError) -> None:
    """Writes one `error:` line and, where there is one, a `hint:` line to stderr."""
    print(f"error: {_one_line(str(error))}", file=sys.stderr)
    if error.hint:
        print(f"hint: {_one_line(error.hint)}", file=sys.stderr)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _check_command(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0] in {*COMMANDS, *ROOT_FLAGS}:
        return
    if arguments[0].startswith("-"):
        raise UsageError(
            f"`{arguments[0]}` stands before any command", hint="write `poolsplit COMMAND` first, then its options"
        )
    from difflib import get_close_matches

    near = get_close_matches(arguments[0], COMMANDS, n=1)
    hint = f"did you mean `poolsplit {near[0]}`?" if near else f"the commands are {', '.join(COMMANDS)}"
    raise UsageError(f"there is no command `{arguments[0]}`", hint=hint)


def _split_at_delimiter(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    tokens = list(arguments)
    if "--" not in tokens:
        return tokens, []
    at = tokens.index("--")
    return tokens[:at], tokens[at + 1 :]


def _split_engine_flags(app: App, tokens: list[str]) -> tuple[list[str], list[str]]:
    """Takes the engine's flags out of the tokens of a command that accepts a launch."""
    if not tokens or tokens[0] not in COMMANDS or {"--help", "-h"} & set(tokens):
        return tokens, []
    command = app[tokens[0]].default_command
    if command is None or not takes_launch(command):
        return tokens, []
    from poolsplit.api import split_engine_flags

    own, engine = split_engine_flags(tokens[1:], own_options=own_options(command))
    return [tokens[0], *own], list(engine)


def _usage_error(app: App, error: CycloptsError, tokens: Sequence[str]) -> UsageError:
    error.verbose = False
    meant = _meant_engine_flag(app, error, tokens) if isinstance(error, UnknownOptionError) else None
    if isinstance(error, UnusedCliTokensError):
        message = f"there is no place for `{' '.join(error.unused_tokens or ())}`"
    else:
        message = _one_line(str(error)).removesuffix(".")
    message = message[:1].lower() + message[1:]
    command = tokens[0] if tokens and tokens[0] in COMMANDS else ""
    if meant is not None:
        return UsageError(message.partition(". ")[0], hint=f"did you mean the engine's `{meant}`?")
    return UsageError(message, hint=f"see `{' '.join(filter(None, ('poolsplit', command, '--help')))}`")


def _meant_engine_flag(app: App, error: UnknownOptionError, tokens: Sequence[str]) -> str | None:
    """The engine's flag behind a misspelt one, where the command takes them and no option of ours is nearer."""
    command = app[tokens[0]].default_command if tokens and tokens[0] in COMMANDS else None
    if command is None or not takes_launch(command):
        return None
    from difflib import SequenceMatcher

    from poolsplit.api import near_engine_flag

    name = (error.token.keyword or error.token.value).partition("=")[0]
    near = near_engine_flag(name)
    if near is None or near.startswith(name):
        return near

    def likeness(option: str) -> float:
        return SequenceMatcher(None, name, option).ratio()

    ours = max(map(likeness, own_options(command)))
    return near if likeness(near) > ours else None


if __name__ == "__main__":
    main()
