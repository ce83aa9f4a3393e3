"""An answer as one HTML file: the page's own views of its document, with everything that they need inside.

The file opens from a disk and asks no network for anything: its policy admits the scripts and the style that stand in
it, by their hashes, and nothing else. Text of the document cannot leave its place, for it holds no `<`.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from poolsplit.report.page_modules import one_script
from poolsplit.report.plotly_bundle import plotly_bundle
from poolsplit.report.whole_document import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

CHARTED = frozenset({"plan", "replay", "surface"})
"""Commands whose answers are drawn as charts, and need plotly for it."""

_STYLES = ("style.css", "report.css", "charts.css")
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style id="plotly.js-style-global" class="no-inline-styles">{style}</style>
</head>
<body>
<header class="top">
<span class="brand"><span class="mark" aria-hidden="true"><i></i><i></i></span>poolsplit {command}</span>
<button type="button" class="quiet" id="theme">Theme: system</button>
</header>
<main class="report" id="content"><h1 class="unseen">{title}</h1></main>
<script type="application/json" id="document">{document}</script>
{scripts}
</body>
</html>
"""


def one_file(document: Mapping[str, Any]) -> str:
    """The page of a document of `plan`, `read`, `replay` or `surface`.

    Args:
        document: As `--json` prints it; a plan's `picture` and a replay's `timeline` are drawn where they are there.

    Raises:
        MissingExtraError: The answer is drawn with plotly, which is not installed.
    """
    command = document["command"]
    scripts = [plotly_bundle().read_text(encoding="utf-8")] if command in CHARTED else []
    scripts.append(one_script("report", lambda name: _static(f"{name}.js")))
    scripts = [_inside_script(script) for script in scripts]
    style = "".join(_static(name) for name in _STYLES)
    return _PAGE.format(
        policy=_policy(scripts, style),
        title=escape(_title(document)),
        style=style,
        command=escape(command),
        document=json.dumps(whole(document), ensure_ascii=False, allow_nan=False).replace("<", r"\u003c"),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _static(name: str) -> str:
    return (files("poolsplit") / "web" / "static" / name).read_text(encoding="utf-8")


def _inside_script(script: str) -> str:
    """A script with nothing in it that a page's parser would take for its end."""
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--").replace("\r\n", "\n").replace("\r", "\n")


def _policy(scripts: list[str], style: str) -> str:
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _title(document: Mapping[str, Any]) -> str:
    named = (document.get("model"), document.get("device"))
    return " · ".join(["poolsplit " + document["command"], *(str(name) for name in named if name)])
