"""Small files made to unpack or nest without end cost one error line, in little memory."""

import gzip
import io
import json
import resource
import subprocess
import zipfile

import numpy as np
import pytest

from poolsplit.traces.compact import NAME
from support import COMMAND, run_command

MIB = 1 << 20
MEMORY_BYTES = 3 << 30
"""Address space of a run: the interpreter with numpy and compiled kernels takes under half of it."""
DEEP = 200_000


def bounded(tmp_path, *arguments):
    """Runs the command in bounded memory; its exit code and stderr."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    command = [str(COMMAND), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limit, check=False)
    return done.returncode, done.stderr


def assert_one_error(code, stderr, *needles):
    assert (code, stderr.count("error: "), stderr.count("Traceback")) == (2, 1, 0), stderr[-2000:]
    for needle in needles:
        assert needle in stderr


@pytest.fixture
def members(tmp_path):
    """The members of a small compact trace."""
    done = run_command("trace", "synth", "rag", "--requests", "20", "-o", f"small.{NAME}", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    with zipfile.ZipFile(tmp_path / f"small.{NAME}") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            with archive.open(name, "w", force_zip64=True) as member:
                for part in content if isinstance(content, list) else [content]:
                    member.write(part)


def column(rows):
    """The header of a column of so many rows, and none of them."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (rows,)})
    return header.getvalue()


def test_a_column_that_unpacks_to_gigabytes(tmp_path, members):
    zeros = [column(128 * 1024 * 1024), *([bytes(MIB)] * 1024)]
    pack(tmp_path / "bomb.pst", {**members, "input_tokens.npy": zeros})
    assert (tmp_path / "bomb.pst").stat().st_size < 2 * MIB
    assert_one_error(*bounded(tmp_path, "trace", "info", "bomb.pst"), "input_tokens.npy", "1024 MiB")


def test_a_column_that_claims_more_rows_than_memory_holds(tmp_path, members):
    pack(tmp_path / "liar.pst", {**members, "input_tokens.npy": column(1 << 50)})
    assert_one_error(*bounded(tmp_path, "trace", "info", "liar.pst"), "not a whole compact trace")


def test_a_trace_whose_one_line_unpacks_without_end(tmp_path):
    with gzip.open(tmp_path / "endless.jsonl.gz", "wb", compresslevel=1) as file:
        for _ in range(600):
            file.write(b" " * MIB)
    assert_one_error(*bounded(tmp_path, "trace", "info", "endless.jsonl.gz"))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_without_end(tmp_path, opening):
    text = opening * DEEP
    (tmp_path / "config.json").write_text(text)
    (tmp_path / "deep.jsonl").write_text(text + "\n")
    assert_one_error(*bounded(tmp_path, "models", "config.json"))
    assert_one_error(*bounded(tmp_path, "trace", "info", "deep.jsonl"))


def test_a_log_whose_server_arguments_nest_without_end(tmp_path):
    (tmp_path / "deep.log").write_text("server_args=ServerArgs(" + "[" * DEEP + "\n" + '{"server_args": ' * DEEP + "\n")
    code, stderr = bounded(tmp_path, "read", "deep.log")
    assert (code in (0, 2), stderr.count("Traceback")) == (True, 0), stderr[-2000:]


def test_a_plan_that_nests_without_end(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({"schema_version": 1})[:-1] + ', "a": ' + "[" * DEEP)
    assert_one_error(*bounded(tmp_path, "diff", "plan.json", "plan.json"))
