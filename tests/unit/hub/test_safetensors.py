"""Headers of safetensors files: the bytes of the tensors, and every way in which a file can lie."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsplit.errors import InputError
from poolsplit.hub.safetensors import read_header


def write(path, entries, data=b"", *, length=None):
    header = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    path.write_bytes((len(header) if length is None else length).to_bytes(8, "little") + header + data)
    return path


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_bytes_are_those_of_the_tensors_by_dtype(tmp_path):
    entries = {
        "__metadata__": {"format": "pt"},
        "a": tensor("BF16", [2, 3], 0, 12),
        "b": tensor("F8_E4M3", [5], 12, 17),
        "c": tensor("F4", [2, 3], 17, 20),
        "d": tensor("F32", [], 20, 24),
        "e": tensor("F32", [0, 7], 24, 24),
    }
    header = read_header(write(tmp_path / "a.safetensors", entries, bytes(24)))
    assert (header.tensors, header.tensor_bytes) == (5, 24)
    assert dict(header.bytes_by_dtype) == {"BF16": 12, "F32": 4, "F4": 3, "F8_E4M3": 5}


@pytest.mark.parametrize(
    "entries",
    [
        b"not json",
        b"[1, 2]",
        {"a": 5},
        {"a": tensor("F7", [1], 0, 4)},
        {"a": tensor(None, [1], 0, 4)},
        {"a": tensor("F32", [1], 0, 8)},
        {"a": tensor("F32", [1], 4, 0)},
        {"a": tensor("F32", [-1], 0, 4)},
        {"a": tensor("F32", [1.0], 0, 4)},
        {"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 2, 6)},
        {"a": tensor("F32", [1], 4, 8)},
        {"a": {"dtype": "F32", "shape": [1]}},
        {"a": tensor("F32", [2], 0, 8)},
    ],
)
def test_a_header_that_does_not_fit_is_refused(tmp_path, entries):
    with pytest.raises(InputError, match=r"a\.safetensors") as caught:
        read_header(write(tmp_path / "a.safetensors", entries, bytes(4)))
    assert "--weights" in caught.value.hint


@pytest.mark.parametrize("length", [0, 1 << 20, 1 << 62, (1 << 64) - 1])
def test_a_length_beyond_the_file_is_refused_before_anything_is_read(tmp_path, length):
    with pytest.raises(InputError, match="cannot be"):
        read_header(write(tmp_path / "a.safetensors", {}, length=length))


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_file_shorter_than_its_length_field_is_refused(tmp_path, size):
    path = tmp_path / "a.safetensors"
    path.write_bytes(bytes(size))
    with pytest.raises(InputError):
        read_header(path)


def test_a_missing_file_is_told_as_such(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_header(tmp_path / "none.safetensors")


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "a.safetensors"
    path.write_bytes(len(content).to_bytes(8, "little") + content)
    try:
        found = read_header(path).tensor_bytes
    except InputError:
        found = 0
    assert found == 0
