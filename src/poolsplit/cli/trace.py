"""`poolsplit trace`: read, describe, convert, make and record request traces."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from poolsplit.cli.options import OutputOptions
from poolsplit.cli.output import emit
from poolsplit.cli.trace_options import CutFlags, ReadFlags, WriteFlags
from poolsplit.cli.trace_output import made_target_of, read_salt, target_of, write_steps, write_trace

Files = Annotated[str, Parameter(allow_leading_hyphen=True)]
"""File names; `-` alone is standard input."""

trace = App(name="trace", help="Read, describe, convert, make and record request traces.")


@trace.command
def info(
    *files: Files,
    reading: ReadFlags = ReadFlags(),  # noqa: B008  frozen
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
) -> None:
    """What a trace holds: lengths, reuse, sharing, live contexts and gaps.

    Args:
        files: Files, folders of sessions or `-`; gzip and Parquet are told by content.
        reading: How to read them.
        out: Where the answer goes.
    """
    from poolsplit import api
    from poolsplit.report.trace_screen import trace_screen

    found = api.read_trace(files, **reading.given())
    facts = api.trace_document(found)
    document = {"command": "trace info", "engine": None, "inputs": {"files": list(files), **reading.given()}, **facts}
    lengths = {"input": found.input_tokens.tolist(), "output": found.output_tokens.tolist()}
    emit(out, document=document, text=trace_screen(facts, lengths, explain=out.explain), warnings=facts["warnings"])


@trace.command
def convert(
    *files: Files,
    to: str | None = None,
    to_block_tokens: int | None = None,
    reading: ReadFlags = ReadFlags(),  # noqa: B008  frozen
    writing: WriteFlags = WriteFlags(),  # noqa: B008  frozen
) -> None:
    """One trace in another format, with a list of what that format cannot say.

    Args:
        files: Files, folders of sessions or `-`.
        to: Format to write: pst, mooncake, weka, bailian, token-trace, azure, burstgpt; by default that of the name.
        to_block_tokens: Tokens of one block in what is written.
        reading: How to read the files.
        writing: Where the trace goes.
    """
    from poolsplit import api

    target = target_of(writing, to, "mooncake")
    found = api.read_trace(files, **reading.given())
    writer, lost = api.trace_writer(found, target, to_block_tokens)
    inputs = {"files": list(files), "to_block_tokens": to_block_tokens, **reading.given()}
    document = {"command": "trace convert", "engine": None, "inputs": inputs, "to": target, **api.trace_document(found)}
    write_trace(writing, writer, document=document, lost=lost)


@trace.command
def synth(
    preset: str,
    *,
    seed: int = 1,
    to: str | None = None,
    explain: Annotated[bool, Parameter(negative="")] = False,
    writing: WriteFlags = WriteFlags(),  # noqa: B008  frozen
    **parameters: str,
) -> None:
    """A made trace: chat, agent (98,827 requests of coding agents), rag (documents) or mixed.

    Every parameter of the preset is a flag, such as `--requests 5000` or `--break-fraction 0`; `--explain` lists them.

    Args:
        preset: chat, agent, rag or mixed.
        seed: The same seed and parameters give the same trace.
        to: Format to write; by default pst, the one that keeps all of it.
        explain: List the parameters with value and meaning, and write nothing.
        writing: Where the trace goes.
        parameters: Parameters of the preset.
    """
    from poolsplit import api

    given = {name.replace("-", "_"): value for name, value in parameters.items()}
    if explain:
        write_steps(api.trace_parameters(preset, seed=seed, parameters=given))
        return
    target = made_target_of(writing, to)
    made, steps = api.make_trace(preset, seed=seed, parameters=given)
    writer, lost = api.trace_writer(made, target, None)
    facts = api.trace_document(made)
    document = {"command": "trace synth", "engine": None, "to": target, **facts}
    document |= {"inputs": {"preset": preset, "seed": seed, **given}, "derivation": [*steps, *facts["derivation"]]}
    write_trace(writing, writer, document=document, lost=lost)


@trace.command
def record(
    *files: Files,
    salt_file: str | None = None,
    to: str | None = None,
    cutting: CutFlags = CutFlags(),  # noqa: B008  frozen
    writing: WriteFlags = WriteFlags(),  # noqa: B008  frozen
) -> None:
    """Your own traffic as a trace without its text: salted chained hashes of 64-token blocks, lengths and times.

    Args:
        files: Logs of OpenAI-style requests or a proxy's access log with bodies, one JSON object a line; or `-`.
        salt_file: File with your secret of 16 bytes or more; else the variable POOLSPLIT_SALT. It is never written.
        to: Format to write; by default mooncake, whose ids then are the hashes.
        cutting: How texts become tokens and blocks.
        writing: Where the trace goes.
    """
    from poolsplit import api

    target = target_of(writing, to, "mooncake")
    salt = read_salt(salt_file)
    writer, lost, facts = api.record_trace(files, salt=salt, target=target, **cutting.given())
    inputs = {"files": list(files), **cutting.given()}
    document = {"command": "trace record", "engine": None, "inputs": inputs, "to": target, **facts}
    write_trace(writing, writer, document=document, lost=lost)
