"""A page that is one file, taken apart as a browser's parser would."""

import base64
import hashlib
import json
from html.parser import HTMLParser
from typing import Any

PLOTLY_BANNER = "plotly.js v"


class OneFile(HTMLParser):
    """Scripts, style sheets and attributes of one page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._data: str | None = None
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element, and what it holds where that is code."""
        found = dict(attrs)
        self.elements.append((tag, found))
        self._inside = "data" if found.get("type") == "application/json" else tag
        if self._inside == "script":
            self.scripts.append("")
        elif self._inside == "style":
            self.styles.append("")

    def handle_endtag(self, tag: str) -> None:
        """Leaves an element; scripts, data and styles hold no other."""
        del tag
        self._inside = ""

    def handle_data(self, data: str) -> None:
        """Notes text where it counts."""
        if self._inside == "data":
            self._data = (self._data or "") + data
        elif self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "style":
            self.styles[-1] += data

    @property
    def document(self) -> Any:
        """The answer that the page draws."""
        return json.loads(self._data or "null")

    @property
    def policy(self) -> dict[str, str]:
        """The content policy by directive."""
        metas = (found for tag, found in self.elements if tag == "meta")
        text = next(m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy")
        return dict(part.split(" ", 1) for part in str(text).split("; "))

    @property
    def addresses(self) -> list[str]:
        """Everything that an element would fetch."""
        names = ("src", "href", "srcset", "data", "action")
        return [str(found[name]) for _, found in self.elements for name in names if name in found]


def source_hash(code: str) -> str:
    """How a policy names a piece of code."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
