"""Text to chained block hashes: 64 tokens a block, salted, so that equal prefixes have equal hashes and nothing else.

A hash covers a block and, through the hash before it, everything before the block. Without the salt it cannot be made
from a guessed text.

With a tokenizer blocks are cut at tokens. Without one they are cut at bytes, as many as 64 tokens have on average in
this log; the number of blocks always follows the number of tokens.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK_TOKENS = 64
BYTES_PER_TOKEN = 4.0
"""Bytes of English text and code a token has in common vocabularies of 100k to 150k, roughly."""
_SALT_BYTES = 64
_DIGEST_BYTES = 16
_ID_BITS = 60


class TextCutter:
    """Cuts texts into tokens and blocks.

    Args:
        tokenizer: Path of a `tokenizer.json`; None estimates by bytes.
        bytes_per_token: Bytes of one token for the estimate.
        salt: Secret of the user, of any length; empty when hashes stay in this process.
        block_tokens: Tokens of one block.
    """

    def __init__(
        self,
        *,
        tokenizer: str | None = None,
        bytes_per_token: float = BYTES_PER_TOKEN,
        salt: bytes = b"",
        block_tokens: int = BLOCK_TOKENS,
    ) -> None:
        self._tokenizer = load_tokenizer(tokenizer) if tokenizer is not None else None
        self._bytes_per_token = bytes_per_token
        self._key = blake2b(salt, digest_size=_SALT_BYTES).digest() if salt else b""
        self.block_tokens = block_tokens

    def count(self, text: str) -> int:
        """Tokens of a text, exact with a tokenizer, else by its bytes."""
        if self._tokenizer is not None:
            return len(self._tokenizer.encode(text, add_special_tokens=False).ids)
        return round(len(text.encode()) / self._bytes_per_token)

    def block_hashes(self, text: str, tokens: int) -> list[int]:
        """Chained hashes of a prompt that has `tokens` tokens: one for each block, the last perhaps partial.

        When the text as cut here has more blocks than the tokens say, the last hash covers the rest; when it has fewer
        (a chat template adds tokens), hashes of the whole text fill up.
        """
        wanted = -(-tokens // self.block_tokens)
        if wanted == 0:
            return []
        hashes: list[bytes] = []
        state = b""
        for piece in self._pieces(text):
            if len(hashes) == wanted:
                hashes[-1] = state = self._digest(state, piece)
                continue
            state = self._digest(state, piece)
            hashes.append(state)
        while len(hashes) < wanted:
            state = self._digest(state, b"")
            hashes.append(state)
        return [int.from_bytes(value) >> (8 * _DIGEST_BYTES - _ID_BITS) for value in hashes]

    def pseudonym(self, name: str | None) -> str | None:
        """A name that cannot be turned back without the salt; the name itself when there is no salt."""
        if name is None or not self._key:
            return name
        return blake2b(name.encode(), digest_size=8, key=self._key, person=b"session").hexdigest()

    def _digest(self, before: bytes, piece: bytes) -> bytes:
        return blake2b(before + piece, digest_size=_DIGEST_BYTES, key=self._key).digest()

    def _pieces(self, text: str) -> Iterator[bytes]:
        if self._tokenizer is not None:
            ids = self._tokenizer.encode(text, add_special_tokens=False).ids
            for start in range(0, len(ids), self.block_tokens):
                yield b",".join(b"%d" % token for token in ids[start : start + self.block_tokens])
            return
        content = text.encode()
        size = max(round(self.block_tokens * self._bytes_per_token), 1)
        for start in range(0, len(content), size):
            yield content[start : start + size]


def load_tokenizer(path: str) -> Any:
    """The tokenizer of a `tokenizer.json`.

    Raises:
        MissingExtraError: The package that reads it is not installed.
        InputError: Not such a file.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError(
            "a tokenizer needs the package `tokenizers`", hint="pip install 'poolsplit[tokenizer]'"
        ) from None
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001 -- the package raises bare exceptions
        raise InputError(f"not a tokenizer: {error}", hint="give the model's `tokenizer.json`", where=path) from None
