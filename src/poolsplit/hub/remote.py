"""A model's small files from the hub, through its own client: cache, tokens, mirrors and offline mode are its business.

Only `config.json`, the quantisation config and the weights' index are fetched. No code of a repository is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from poolsplit.errors import InputError
from poolsplit.hub import local

if TYPE_CHECKING:
    from collections.abc import Callable

_WEIGHTS_SUFFIX = ".safetensors"


def read(name: str, *, revision: str | None, near_hint: str) -> local.ModelFiles:
    """The files of a hub id.

    Args:
        name: `organisation/name`.
        revision: Branch, tag or commit; the default branch when None.
        near_hint: The hint for a repository that does not exist.

    Raises:
        InputError: The repository, the file or the hub cannot be reached; in words that say which.
    """
    config_path = _translated(name, near_hint, lambda: _fetch(name, local.CONFIG, revision))
    quant_path = _optional(name, local.QUANT_CONFIG, revision)
    config = local.read_json(config_path)
    if quant_path is not None:
        config = local.with_quantisation(config, quant_path)
    weights_bytes, weights_source = _weights(name, revision)
    return local.ModelFiles(
        config=config, config_path=config_path, weights_bytes=weights_bytes, weights_source=weights_source
    )


def _fetch(name: str, file: str, revision: str | None) -> Path:
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(name, file, revision=revision))


def _optional(name: str, file: str, revision: str | None) -> Path | None:
    """A file that a repository need not have."""
    absent = _no_answer()
    try:
        return _fetch(name, file, revision)
    except absent:
        return None


def _weights(name: str, revision: str | None) -> tuple[int | None, str]:
    index = _optional(name, local.INDEX, revision)
    if index is not None:
        return local.index_bytes(local.read_json(index), str(index)), "total of the safetensors index on the hub"
    return _listed_weights(name, revision)


def _listed_weights(name: str, revision: str | None) -> tuple[int | None, str]:
    """Sizes of the weight files as the hub lists them; their headers are counted too, which is less than 0.1 %."""
    from huggingface_hub import HfApi

    absent = _no_answer()
    try:
        siblings = HfApi().model_info(name, revision=revision, files_metadata=True).siblings or []
    except absent:
        return None, "the hub lists no weight files that can be reached"
    sizes = [file.size for file in siblings if file.rfilename.endswith(_WEIGHTS_SUFFIX) and file.size]
    return (sum(sizes), "sizes of the weight files on the hub") if sizes else (None, "no safetensors files on the hub")


def _no_answer() -> tuple[type[Exception], ...]:
    """What the client raises when a file is not there or nobody answers: its own errors and its HTTP library's."""
    from huggingface_hub import errors

    transport = [kind for kind in errors.HfHubHTTPError.__mro__ if kind.__module__.startswith(("httpx", "requests"))]
    return (errors.EntryNotFoundError, errors.HfHubHTTPError, OSError, *transport)


def _translated(name: str, near_hint: str, fetch: Callable[[], Path]) -> Path:
    from huggingface_hub import constants, errors

    endpoint = constants.ENDPOINT
    no_answer = _no_answer()
    try:
        return fetch()
    except errors.GatedRepoError:
        raise InputError(
            f"`{name}` is gated", hint="accept its licence on the hub, then set HF_TOKEN, or give a local config.json"
        ) from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"no model `{name}` on {endpoint}, or a private one", hint=f"{near_hint}; set HF_TOKEN for a private one"
        ) from None
    except errors.RevisionNotFoundError:
        raise InputError(f"`{name}` has no such revision", hint="name a branch, a tag or a commit") from None
    except errors.LocalEntryNotFoundError:
        raise InputError(_not_cached(name, endpoint), hint=_offline_hint(near_hint)) from None
    except errors.EntryNotFoundError:
        raise InputError(
            f"`{name}` has no {local.CONFIG}", hint="only checkpoints with one can be read; GGUF files cannot"
        ) from None
    except errors.OfflineModeIsEnabled:
        raise InputError(_not_cached(name, endpoint), hint=_offline_hint(near_hint)) from None
    except no_answer as error:
        raise InputError(
            f"{endpoint} did not answer for `{name}`: {_first_line(error)}", hint=_offline_hint(near_hint)
        ) from None


def _not_cached(name: str, endpoint: str) -> str:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return f"`{name}` is not embedded and not in the local cache, and HF_HUB_OFFLINE is set"
    return f"`{name}` is not embedded and not in the local cache, and {endpoint} cannot be reached"


def _offline_hint(near_hint: str) -> str:
    return f"give a folder or its config.json; {near_hint}"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
