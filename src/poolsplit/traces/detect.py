"""Which format a file has, by its first bytes: field names decide, never the file's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from poolsplit.traces.reading import UNREADABLE

if TYPE_CHECKING:
    from poolsplit.traces.sources import Source

_KEY = re.compile(rb'"((?:[^"\\]|\\.){1,64})"\s*:')
_CSV_HEADERS = {
    "azure": {"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
    "burstgpt": {"Timestamp", "Request tokens", "Response tokens"},
}
_JSON_KEYS = (
    ("bailian", {"chat_id", "parent_chat_id", "input_length"}),
    ("weka", {"requests", "block_size"}),
    ("mooncake", {"input_length", "output_length"}),
    ("tracelab", {"session_id", "input_tokens_total", "newly_append_tokens"}),
    ("token-trace", {"input_tokens", "output_tokens"}),
    ("token-trace", {"input_tokens", "num_output_tokens"}),
    ("shared-prefix", {"gsp_num_groups"}),
    ("openai", {"messages"}),
    ("openai", {"body"}),
    ("openai", {"request"}),
    ("openai", {"request_body"}),
    ("openai", {"prompt"}),
)
"""Fields of one request or document; the first line whose fields are all there decides."""


def detect(source: Source) -> str | None:
    """Name of the format, or None when nothing fits."""
    head = source.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"PK\x03\x04"):
        return "pst"
    if head.startswith((b"{", b"[")):
        return _json_format(head)
    if b"gsp-num-groups" in head.split(b"\n", 1)[0] or head.startswith(b"--gsp"):
        return "shared-prefix"
    return _csv_format(head.split(b"\n", 1)[0].decode("utf-8", "replace"))


def _csv_format(line: str) -> str | None:
    columns = {name.strip().strip('"') for name in line.split(",")}
    return next((name for name, header in _CSV_HEADERS.items() if header <= columns), None)


def _json_format(head: bytes) -> str | None:
    document = _first_document(head)
    if isinstance(document, list):
        document = document[0] if document and isinstance(document[0], dict) else {}
    if isinstance(document, dict):
        keys = set(document)
        conversations = document.get("conversations")
    else:
        keys = {match.decode("utf-8", "replace") for match in _KEY.findall(head)}
        conversations = None
    if "conversations" in keys:
        return _conversations_format(conversations, head)
    return _by_keys(keys)


def _by_keys(keys: set[str]) -> str | None:
    return next((name for name, wanted in _JSON_KEYS if wanted <= keys), None)


def _conversations_format(conversations: Any, head: bytes) -> str:
    """Turns with `prompt_tokens` are an agentic trace, messages with `from` or `role` a ShareGPT one."""
    if isinstance(conversations, list):
        return "agentic-trace" if conversations and isinstance(conversations[0], list) else "sharegpt"
    return "agentic-trace" if re.search(rb'"conversations"\s*:\s*\[\s*\[', head) else "sharegpt"


def _first_document(head: bytes) -> Any:
    """The first line as JSON, or the whole head, or None when the document is longer than the head."""
    for text in (head.split(b"\n", 1)[0], head):
        try:
            return msgspec.json.decode(text)
        except UNREADABLE:
            continue
    return None
