"""A model's small files from the hub, through its own client: cache, tokens, mirrors and offline mode are its business.

Only `config.json`, the quantisation config and the weights' index are fetched. No code of a repository is run. One
listing comes first: it says at once that a name is wrong or that nobody answers, and then the local cache decides.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from poolsplit.errors import InputError
from poolsplit.hub import local

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WEIGHTS_SUFFIX = ".safetensors"
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A hub id and what the hub lists under it."""

    name: str
    revision: str | None
    sizes: Mapping[str, int] | None
    """Bytes of each file; None when the hub cannot be asked, so that only the local cache is left."""
    why_unlisted: str
    near_hint: str

    def may_have(self, file: str) -> bool:
        """Whether a file is listed, or could be in the cache."""
        return self.sizes is None or file in self.sizes


def read(name: str, *, revision: str | None, near_hint: str) -> local.ModelFiles:
    """The files of a hub id.

    Args:
        name: `organisation/name`.
        revision: Branch, tag or commit; the default branch when None.
        near_hint: The hint for a repository that does not exist.

    Raises:
        InputError: The repository, the file or the hub cannot be reached; in words that say which.
    """
    repository = _list(name, revision, near_hint)
    config_path = _fetch(repository, local.CONFIG)
    if config_path is None:
        raise InputError(
            f"`{name}` has no {local.CONFIG}", hint="only checkpoints with one can be read; GGUF files cannot"
        )
    quant_path = _fetch(repository, local.QUANT_CONFIG)
    config = local.read_json(config_path)
    if quant_path is not None:
        config = local.with_quantisation(config, quant_path)
    weights_bytes, weights_source = _weights(repository)
    return local.ModelFiles(
        config=config, config_path=config_path, weights_bytes=weights_bytes, weights_source=weights_source
    )


def _list(name: str, revision: str | None, near_hint: str) -> Repository:
    from huggingface_hub import HfApi, constants
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    sizes: dict[str, int] | None = None
    why = "HF_HUB_OFFLINE is set"
    if not constants.HF_HUB_OFFLINE:
        no_answer = _no_answer()
        try:
            with _translated(name, near_hint):
                info = HfApi().model_info(name, revision=revision, files_metadata=True, timeout=_TIMEOUT_S)
            sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
        except no_answer as error:
            why = f"{constants.ENDPOINT} did not answer ({_first_line(error)})"
    return Repository(name=name, revision=revision, sizes=sizes, why_unlisted=why, near_hint=near_hint)


def _fetch(repository: Repository, file: str) -> Path | None:
    """A file of the repository, or None when it has no such file."""
    from huggingface_hub import errors, hf_hub_download

    if not repository.may_have(file):
        return None
    no_answer = _no_answer()
    offline = repository.sizes is None
    try:
        with _translated(repository.name, repository.near_hint):
            return Path(hf_hub_download(repository.name, file, revision=repository.revision, local_files_only=offline))
    except errors.LocalEntryNotFoundError:
        if file == local.CONFIG:
            raise _not_cached(repository, repository.why_unlisted) from None
        return None
    except no_answer as error:
        raise _not_cached(repository, _first_line(error)) from None


def _weights(repository: Repository) -> tuple[int | None, str]:
    index = _fetch(repository, local.INDEX)
    if index is not None:
        return local.index_weights(index, "total of the safetensors index on the hub")
    if repository.sizes is None:
        return None, "no safetensors index in the local cache"
    sizes = [size for file, size in repository.sizes.items() if file.endswith(_WEIGHTS_SUFFIX) and size]
    if not sizes:
        return None, "no safetensors files on the hub"
    return sum(sizes), "sizes of the weight files on the hub, their headers included (below 0.1 %)"


@contextlib.contextmanager
def _translated(name: str, near_hint: str) -> Iterator[None]:
    """Turns the client's errors about a repository into ours; silence of the hub passes through."""
    from huggingface_hub import constants, errors

    try:
        yield
    except errors.GatedRepoError:
        raise InputError(
            f"`{name}` is gated", hint="accept its licence on the hub, then set HF_TOKEN, or give a local config.json"
        ) from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"no model `{name}` on {constants.ENDPOINT}, or a private one",
            hint=f"{near_hint}; set HF_TOKEN for a private one",
        ) from None
    except errors.RevisionNotFoundError:
        raise InputError(f"`{name}` has no such revision", hint="name a branch, a tag or a commit") from None


def _no_answer() -> tuple[type[Exception], ...]:
    """What the client raises when nobody answers, or not as agreed: its own errors and its HTTP library's."""
    from huggingface_hub import errors

    transport = [kind for kind in errors.HfHubHTTPError.__mro__ if kind.__module__.startswith(("httpx", "requests"))]
    return (errors.HfHubHTTPError, errors.EntryNotFoundError, OSError, ValueError, *transport)


def _not_cached(repository: Repository, why: str) -> InputError:
    return InputError(
        f"`{repository.name}` is not embedded and not in the local cache, and {why}",
        hint=f"give a folder or its config.json; {repository.near_hint}",
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:160] or type(error).__name__
