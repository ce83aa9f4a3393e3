"""Launch commands of the engine: what people paste, as flags, and back as the same text with one flag changed.

Read: `python -m sglang.launch_server ...`, `sglang serve ...`, assignments and `docker run ...` in front of either,
line continuations, `command:` of a compose or pod file, a logged `server_args=ServerArgs(...)`, and bare flags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from poolsplit.engines.sglang.command.arguments import Argument, read_arguments, values_of
from poolsplit.engines.sglang.command.dump import find_dumped_args
from poolsplit.engines.sglang.command.words import Word, read_words, shell_words
from poolsplit.engines.sglang.flags import FLAG_NAMES, Flags, flags_from_mapping
from poolsplit.engines.sglang.versions import DEFAULT_VERSION
from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LaunchForm = Literal["shell", "block_list", "flow_list", "server_args", "flags"]

LAUNCHER = re.compile(r"sglang\.launch_server\b|\bsglang serve\b|\bsglang/launch_server\.py\b")
_ASSIGNMENT = re.compile(r"(?:--env=|-e)?(?P<name>[A-Z_][A-Z0-9_]*)=(?P<value>.*)", re.DOTALL)
_NAMED_RELEASE = re.compile(r"\bsglang(?:\[[\w,-]+\])?(?::v?|==)(\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)")
"""An image's tag, or a pinned package, in the text around a launch."""
_YAML_ENV = re.compile(
    r"^\s*(?:- )?[\"']?([A-Z][A-Z0-9_]{2,})[\"']?\s*[:=]\s*[\"']?([^\"'\n#]*?)[\"']?\s*$", re.MULTILINE
)
_POD_ENV = re.compile(
    r"^\s*- name:\s*[\"']?([A-Z][A-Z0-9_]{2,})[\"']?\s*\n\s*value:\s*[\"']?([^\"'\n#]*?)[\"']?\s*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LaunchCommand:
    """A launch as it was written, understood as far as the engine declares its flags."""

    text: str
    form: LaunchForm
    launcher_form: LaunchForm | None = None
    """How the launcher's own words are written, where not as the flags are."""
    release: str
    arguments: tuple[Argument, ...] = ()
    values: Mapping[str, Any]
    """Field to value, the last one given; switches are True or False."""
    env: Mapping[str, str]
    launcher_start: int = 0
    """Where the launcher's own words begin."""
    launcher_end: int = 0
    in_container: bool = False
    """Whether no shell reads the words, so that variables are set by `env`."""
    named_release: str | None = None
    """Release that the text names by its image's tag or a pinned package."""
    warnings: tuple[str, ...] = ()

    @property
    def model(self) -> str | None:
        """What the launch names as its model."""
        return self.values.get("model_path")

    @property
    def draft_model(self) -> str | None:
        """What the launch names as its draft."""
        return self.values.get("speculative_draft_model_path")

    def flags(self) -> Flags:
        """The flags that reach memory."""
        return flags_of_values(self.values, self.env)


def flags_of_values(values: Mapping[str, Any], env: Mapping[str, str]) -> Flags:
    """Flags that reach memory, out of every field of a launch.

    A newer spelling of attention data parallelism, one size instead of a size and a switch, is turned into the older.
    """
    args = {name: value for name, value in values.items() if name in FLAG_NAMES and value is not None}
    replicas = values.get("attn_dp_size")
    if isinstance(replicas, int) and replicas > 1 and args.get("dp_size", 1) == 1:
        args |= {"attn_dp_size": 1, "dp_size": replicas, "enable_dp_attention": True}
    return flags_from_mapping(args, env)


def parse_launch(text: str, release: str = DEFAULT_VERSION) -> LaunchCommand:
    """A launch out of any text that holds one.

    Raises:
        UsageError: No launch in the text, or a flag without its value.
    """
    dumped = find_dumped_args(text)
    if dumped is not None:
        return LaunchCommand(text=text, form="server_args", release=release, values=dumped, env={})
    words = read_words(text, LAUNCHER)
    found = _find_launcher(words.items)
    if found is None:
        nested = _nested_text(words.items, text)
        if nested is not None:
            return _parse_nested(text, nested, release)
        raise UsageError(
            "there is no launch command of the engine in the text",
            hint="paste `python -m sglang.launch_server ...`, `sglang serve ...`, a `docker run` of either, a compose "
            "`command:` or a logged `server_args=ServerArgs(...)`",
        )
    first, after = found
    arguments, warnings = read_arguments(_until_end(words.items[after:]), release)
    env = _assignments(words.items[:first])
    if words.form != "shell" or re.search(r"^\s*(?:environment|env):", text, re.MULTILINE):
        env = {**dict(_YAML_ENV.findall(text)), **dict(_POD_ENV.findall(text)), **env}
    return LaunchCommand(
        text=text,
        form=words.form if arguments else words.launcher_form,
        launcher_form=words.launcher_form,
        release=release,
        arguments=arguments,
        values=values_of(arguments, release),
        env=env,
        launcher_start=words.items[first].start,
        launcher_end=words.items[after - 1].end,
        in_container=words.in_file or any(word.value == "docker" for word in words.items[:first]),
        named_release=_named_release(text),
        warnings=(*warnings, *_unread(arguments)),
    )


def _named_release(text: str) -> str | None:
    named = _NAMED_RELEASE.search(text)
    return named[1] if named else None


def _unread(arguments: Sequence[Argument]) -> tuple[str, ...]:
    """A warning for a file of flags: what stands in it is not seen here."""
    files = [" ".join(argument.values) for argument in arguments if argument.field == "config"]
    return tuple(f"flags in the file `{name}` of `--config` are not read: give them in the launch" for name in files)


def parse_flags(tokens: Sequence[str], release: str = DEFAULT_VERSION) -> LaunchCommand:
    """A launch out of engine flags alone, as given on our own command line.

    Raises:
        UsageError: A flag without its value, or a word that is no flag.
    """
    import shlex

    text = shlex.join(tokens)
    arguments, warnings = read_arguments(shell_words(text, 0, len(text), folded=True), release)
    values = values_of(arguments, release)
    return LaunchCommand(
        text=text,
        form="flags",
        release=release,
        arguments=arguments,
        values=values,
        env={},
        warnings=(*warnings, *_unread(arguments)),
    )


def parse_tokens(tokens: Sequence[str], release: str = DEFAULT_VERSION) -> LaunchCommand:
    """A launch that the shell has already divided: what stands after `--` on our command line."""
    import shlex

    if len(tokens) == 1:
        return parse_launch(tokens[0], release)
    if tokens and tokens[0].startswith("-"):
        return parse_flags(tokens, release)
    return parse_launch(shlex.join(tokens), release)


def _find_launcher(words: Sequence[Word]) -> tuple[int, int] | None:
    for at, word in enumerate(words):
        value = word.value
        if value == "serve" and at and words[at - 1].value.rpartition("/")[2] == "sglang":
            return at - 1, at + 1
        if value == "sglang.launch_server" or value.endswith("sglang/launch_server.py"):
            first = at
            while first and (words[first - 1].value == "-m" or _is_python(words[first - 1].value)):
                first -= 1
            return first, at + 1
    return None


def _is_python(value: str) -> bool:
    return re.fullmatch(r"(?:.*/)?python[\d.]*|-u", value) is not None


def _nested_text(words: Sequence[Word], text: str) -> tuple[int, int] | None:
    """Place of a launch inside one quoted word, as in `bash -c '...'`."""
    for word in words:
        if LAUNCHER.search(word.value) and text[word.start + 1 : word.end - 1] == word.value:
            return word.start + 1, word.end - 1
    return None


def _parse_nested(text: str, place: tuple[int, int], release: str) -> LaunchCommand:
    from dataclasses import replace

    start, end = place
    inner = parse_launch(text[start:end], release)
    outer = shell_words(text, 0, start - 1, folded=True)
    moved = tuple(
        replace(item, start=item.start + start, end=item.end + start, value_start=item.value_start + start)
        for item in inner.arguments
    )
    return replace(
        inner,
        text=text,
        arguments=moved,
        env={**_assignments(outer), **inner.env},
        named_release=inner.named_release or _named_release(text),
        launcher_start=inner.launcher_start + start,
        launcher_end=inner.launcher_end + start,
    )


def _until_end(words: Sequence[Word]) -> list[Word]:
    kept = []
    for word in words:
        if word.ends_command:
            break
        kept.append(word)
    return kept


def _assignments(words: Sequence[Word]) -> dict[str, str]:
    found = (_ASSIGNMENT.fullmatch(word.value) for word in words)
    return {match["name"]: match["value"] for match in found if match}
