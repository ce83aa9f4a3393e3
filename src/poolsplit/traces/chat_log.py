"""One line of a log of chat requests: whose prompt, how long, when.

Understood are OpenAI-style bodies (`messages`, `prompt` or `input`, with `tools`), bare, as `body`, as `request` beside
a `response`, or as the `request_body` of a proxy's access log (text or object). Lengths come from the answer's `usage`.
Times are seconds, milliseconds, microseconds or nanoseconds since 1970, or ISO dates; an access log's own time (`msec`,
`time_iso8601`) is when the line was written, so the request came `request_time` before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from poolsplit.traces.reading import UNREADABLE

_STARTS = ("timestamp", "ts", "start_time", "startTime", "created", "created_at", "time")
_ENDS = ("msec", "time_iso8601", "end_time", "endTime")
_SESSIONS = ("session_id", "conversation_id", "sessionId")
_DURATIONS = {
    "request_time": 1.0,
    "duration_s": 1.0,
    "latency_s": 1.0,
    "duration_ms": 1e-3,
    "latency_ms": 1e-3,
    "response_time_ms": 1e-3,
}
_EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
_GOOD_STATUS = range(200, 300)
_MOST_TOKENS = 1 << 40


class BadRowError(Exception):
    """A line that is no chat request; `path` says where in it."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What one line says; None is not recorded."""

    prompt: str
    answer: str | None
    arrival_s: float | None
    service_s: float | None
    session: str | None
    input_tokens: int | None
    output_tokens: int | None
    failed: bool


def chat_request(row: dict[str, Any]) -> ChatRequest:
    """The request of one line.

    Raises:
        BadRowError: Nothing in it is a prompt, or a number is none.
    """
    body = _body(row)
    response = _object(_first(row, ("response_body", "response")), "$.response") or row
    response = _object(response.get("body"), "$.response.body") or response
    usage = _object(response.get("usage"), "$.usage") or {}
    start_s, service_s = _times(row)
    status = row.get("status", row.get("status_code", _GOOD_STATUS.start))
    return ChatRequest(
        prompt=prompt_text(body),
        answer=_answer(response),
        arrival_s=start_s,
        service_s=service_s,
        session=_session(row, body),
        input_tokens=_input_tokens(usage),
        output_tokens=_count(_first(usage, ("completion_tokens", "output_tokens")), "$.usage.completion_tokens"),
        failed=str(status).isdecimal() and int(status) not in _GOOD_STATUS,
    )


def prompt_text(body: dict[str, Any]) -> str:
    """The prompt as one text whose beginning is a shared beginning of tools and messages.

    Known error: a model's chat template writes roles otherwise, by a few tokens a message.
    """
    parts = [_plain(body[name]) for name in ("tools", "system", "instructions") if body.get(name)]
    for name in ("messages", "input", "prompt"):
        content = body.get(name)
        if isinstance(content, str):
            return "\n".join([*parts, content])
        if isinstance(content, list):
            return "\n".join([*parts, *(message_text(message) for message in content)])
    raise BadRowError("$", "the request has no `messages`, `prompt` or `input`")


def message_text(message: Any) -> str:
    """One message as text: role, content and tool calls."""
    if not isinstance(message, dict):
        return _plain(message)
    extra = {key: value for key, value in message.items() if key in {"tool_calls", "tool_call_id", "name"} and value}
    lines = [str(message.get("role", "")), _plain(message.get("content") or "")]
    return "\n".join([*lines, *([_plain(extra)] if extra else [])])


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in value):
        return "".join(part["text"] for part in value)
    return msgspec.json.encode(value).decode()


def _body(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("request_body", "request", "body"):
        inner = _object(row.get(name), f"$.{name}")
        if inner is not None:
            return _object(inner.get("body"), f"$.{name}.body") or inner
    return row


def _object(value: Any, path: str) -> dict[str, Any] | None:
    """An object, or text that holds one; None when there is nothing."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = msgspec.json.decode(value)
        except UNREADABLE as error:
            raise BadRowError(path, f"the text is not JSON: {error}") from None
    return value if isinstance(value, dict) else None


def _first(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _count(value: Any, path: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TOKENS:
        raise BadRowError(path, f"`{value}` is not a number of tokens")
    return value


def _input_tokens(usage: dict[str, Any]) -> int | None:
    """Whole prompt; services that count cached parts apart have them added."""
    tokens = _count(_first(usage, ("prompt_tokens", "input_tokens")), "$.usage.prompt_tokens")
    if tokens is None:
        return None
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return tokens + sum(_count(usage.get(name), f"$.usage.{name}") or 0 for name in cached)


def _answer(response: dict[str, Any]) -> str | None:
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    return message_text(choice["message"]) if isinstance(choice.get("message"), dict) else choice.get("text")


def _session(row: dict[str, Any], body: dict[str, Any]) -> str | None:
    metadata = body.get("metadata")
    places = [row, body, metadata if isinstance(metadata, dict) else {}]
    found = next((value for place in places if (value := _first(place, _SESSIONS)) is not None), None)
    return None if found is None else str(found)


def _times(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """Arrival and service time in seconds."""
    starts = [(name, row[name]) for name in _STARTS if row.get(name) is not None]
    ends = [(name, row[name]) for name in _ENDS if row.get(name) is not None]
    service_s = next((_number(row[n], n) * unit for n, unit in _DURATIONS.items() if row.get(n) is not None), None)
    start_s = _seconds(*starts[0]) if starts else None
    end_s = _seconds(*ends[0]) if ends else None
    if start_s is None and end_s is not None:
        return end_s - (service_s or 0.0), service_s
    if start_s is not None and end_s is not None and service_s is None:
        service_s = end_s - start_s
    if service_s is not None and service_s < 0:
        raise BadRowError(f"$.{(ends or starts)[0][0]}", "the request ends before it begins")
    return start_s, service_s


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadRowError(f"$.{name}", f"`{value}` is not a time")
    return number


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise BadRowError(f"$.{name}", f"`{value}` is not a time") from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    number = _number(value, name)
    return number * next((scale for least, scale in _EPOCHS if number >= least), 1.0)
