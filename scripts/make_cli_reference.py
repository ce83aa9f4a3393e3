"""Writes docs/reference/cli.md from the commands themselves, or checks that it is current (`--check`)."""

import re
import sys
from collections.abc import Iterator

from cyclopts import App

from generated_page import REFERENCE, settle, table
from poolsplit import errors
from poolsplit.cli.app import COMMANDS, INTERRUPTED_EXIT_CODE, build_app
from poolsplit.cli.options import OutputOptions
from poolsplit.cli.own_options import takes_launch

HEAD = """# Command line

Written by `scripts/make_cli_reference.py` from the commands themselves; the tests hold it to them.

Options may stand before or after arguments; both `--a b` and `--a=b` are read. Counts take `32k` (32,768) and `1m`
(1,048,576); sizes take `80GiB` and `80GB`, which differ. `-` is standard input where a file is read. Data goes to
standard output, everything else to standard error. *launch* means: engine flags in the engine's own spelling, and a
whole launch command after `--`."""
ANSWERS = {
    0: "The answer is on standard output.",
    1: 'A check found a mismatch, or the answer is "no".',
    3: "The plan is printed, but the sessions to keep do not fit.",
    INTERRUPTED_EXIT_CODE: "Interrupted.",
}
"""Ends that are no error; the errors of each exit code are added to them."""
ENVIRONMENT = (
    ("NO_COLOR", "plain text, as with `--no-color`"),
    ("POOLSPLIT_TOKEN", "a live server's key, sent as a bearer token"),
    ("POOLSPLIT_SALT", "the salt of `trace record`"),
    ("POOLSPLIT_PLAN", "the plan that the plug-in sets inside a starting server"),
    ("HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE", "read by huggingface_hub, for hub ids only"),
)
ITEM = re.compile(r"^\* `(?P<names>[^`]+)`:?(?P<text>.*)$", re.DOTALL)
NOTE = re.compile(r"\*+\[(?P<kind>default|choices|required)(?:: (?P<value>[^\]]*))?\]\*+")
COMMAND = re.compile(r"^#+ (?P<name>[\w ]+)$", re.MULTILINE)

Option = tuple[str, str, str]
"""Names, default, meaning."""


def main() -> int:
    """Writes the page, or says that it is out of date."""
    app = build_app()
    parts = [HEAD, "## Exit codes", exit_codes(), "## Environment", table(("variable", "meaning"), environment())]
    shared = output_options()
    parts += ["## Output options", "Taken by every command that says *output*.", option_table(shared)]
    for name, summary in COMMANDS.items():
        launch = takes_launch(app[name].default_command or main)
        parts += [f"## {name}", f"{summary}.", *command(name, app[name].generate_docs(), shared, launch=launch)]
    return settle({REFERENCE / "cli.md": "\n\n".join(parts) + "\n"})


def environment() -> Iterator[tuple[str, str]]:
    """Variables and what they do."""
    for names, meaning in ENVIRONMENT:
        yield ", ".join(f"`{name}`" for name in names.split(", ")), meaning


def exit_codes() -> str:
    """Every way in which the process ends, from the error tree."""
    by_code = {code: [text] for code, text in ANSWERS.items()}
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.PoolsplitError) and kind is not errors.PoolsplitError:
            by_code.setdefault(kind.exit_code, []).append((kind.__doc__ or "").split("\n")[0])
    return table(("exit", "when"), ((code, " ".join(by_code[code])) for code in sorted(by_code)))


def output_options() -> list[Option]:
    """The options that say where an answer goes, as any command documents them."""
    probe = App(name="probe")

    @probe.default
    def answer(out: OutputOptions = OutputOptions()) -> None:  # noqa: B008  frozen
        """Nothing but output options."""

    return list(options(probe.generate_docs()))


def command(name: str, docs: str, shared: list[Option], *, launch: bool) -> Iterator[str]:
    """The sections of one command and of its subcommands."""
    pieces = COMMAND.split(docs)[1:]
    for title, text in zip(pieces[::2], pieces[1::2], strict=True):
        usage = re.search(r"```console\n(.*?)\n```\n\n(.*?)\n\n", text, re.DOTALL)
        own = list(options(text))
        if usage is None or not own:
            continue
        if title != name:
            yield f"### {title}"
            yield usage[2]
        rows = [row for row in own if row not in shared]
        also = ["*output*"] * (len(rows) < len(own)) + ["*launch*"] * launch
        yield f"    poolsplit {usage[1]}"
        yield option_table(rows)
        if also:
            yield f"And {', '.join(also)}."


def option_table(rows: list[Option]) -> str:
    """Names, default and meaning, one row an option."""
    return table(("option", "default", "meaning"), rows)


def options(text: str) -> Iterator[Option]:
    """Names, default and meaning of every argument and option of one command."""
    for block in re.split(r"\n(?=\* `)", text.split("**Commands**", maxsplit=1)[0])[1:]:
        found = ITEM.match(block.split("\n\n")[0])
        if found is None:
            raise SystemExit(f"no option can be read from: {block}")
        notes = {note["kind"]: note["value"] or "" for note in NOTE.finditer(found["text"])}
        default = {"True": "on", "False": "off"}.get(notes.get("default", ""), notes.get("default", ""))
        meaning = NOTE.sub("", found["text"]).strip()
        if "choices" in notes:
            meaning += " One of " + ", ".join(f"`{choice}`" for choice in notes["choices"].split(", ")) + "."
        names = found["names"].split(", ")
        yield ", ".join(f"`{name}`" for name in names), f"`{default}`" if default else "", meaning


if __name__ == "__main__":
    sys.exit(main())
