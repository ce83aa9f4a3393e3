"""A model's folder or `config.json` on disk, and the bytes of the weights beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError
from poolsplit.hub import safetensors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONFIG = "config.json"
QUANT_CONFIG = "hf_quant_config.json"
INDEX = "model.safetensors.index.json"
_MAX_JSON_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """What a checkpoint's files say."""

    config: Mapping[str, Any]
    config_path: Path
    weights_bytes: int | None
    weights_source: str


def read(path: Path) -> ModelFiles:
    """The config under `path`, a folder or the file itself, with its separate quantisation config merged in.

    Raises:
        InputError: No config there, or one that is not a JSON object.
    """
    config_path = path / CONFIG if path.is_dir() else path
    if not config_path.is_file():
        raise _no_config(path)
    folder = config_path.parent
    config = with_quantisation(read_json(config_path), folder / QUANT_CONFIG)
    weights_bytes, weights_source = weights(folder)
    return ModelFiles(
        config=config, config_path=config_path, weights_bytes=weights_bytes, weights_source=weights_source
    )


def _no_config(path: Path) -> InputError:
    hint = f"give the folder of one checkpoint, or its {CONFIG}"
    if path.is_dir():
        return InputError(f"the folder has no {CONFIG}", where=str(path), hint=hint)
    return InputError("not a file" if path.exists() else "no such file or folder", where=str(path), hint=hint)


def with_quantisation(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The config with the content of a separate quantisation file, where the config has none of its own."""
    if "quantization_config" in config or not path.is_file():
        return config
    return {**config, "quantization_config": read_json(path)}


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; the bare words `Infinity` and `NaN` are allowed, as config files use them.

    Raises:
        InputError: Unreadable, too large, not JSON, or not an object.
    """
    try:
        if path.stat().st_size > _MAX_JSON_BYTES:
            raise InputError("far too large for a config", where=str(path), hint="give the model's config.json")
        decoded = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=str(path), hint="check that the file is there and readable"
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg.lower()}", where=f"{path}:{error.lineno}", hint="give the model's config.json"
        ) from None
    except (ValueError, RecursionError):
        raise InputError("not a JSON text", where=str(path), hint="give the model's config.json") from None
    if not isinstance(decoded, dict):
        raise InputError("not a JSON object", where=str(path), hint="give the model's config.json")
    return decoded


def weights(folder: Path) -> tuple[int | None, str]:
    """Bytes of the weights in a folder and how they were found: the headers of its files, else what its index states.

    Files that cannot be read (pointers of a clone without its large files, a broken download) are a reason, not an
    error: the size can still be given by hand.
    """
    files = sorted(folder.glob("*.safetensors"))
    why = "no safetensors file and no index beside the config"
    if files:
        try:
            total = sum(safetensors.read_header(file).tensor_bytes for file in files)
        except InputError as error:
            why = str(error)
        else:
            return total, f"headers of {len(files)} safetensors file{'s' if len(files) > 1 else ''}"
    index = folder / INDEX
    return index_weights(index, "total of the safetensors index") if index.is_file() else (None, why)


def index_weights(path: Path, source: str) -> tuple[int | None, str]:
    """Bytes that a safetensors index states, and `source`; None and the reason when it states none.

    Raises:
        InputError: The index cannot be read.
    """
    metadata = read_json(path).get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    if isinstance(total, bool) or not isinstance(total, int) or total <= 0:
        return None, f"{path.name} states no `metadata.total_size`"
    return total, source
