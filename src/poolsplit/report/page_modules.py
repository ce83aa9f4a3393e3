"""The page's ES modules as one script, for pages that are one file.

The modules are ours and keep to two forms, `import { a, b } from "./name.js";` and `export` before a function, class or
const. Each becomes a scope of its own, in the order of their imports, so that their private names cannot meet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_IMPORT = re.compile(r'^import \{([^}]+)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


def one_script(entry: str, source: Callable[[str], str]) -> str:
    """A module and all that it imports, as one script without imports.

    Args:
        entry: The module to run.
        source: Gives a module's text by its name.
    """
    scopes: dict[str, str] = {}
    _add(entry, source, scopes)
    return "".join(scopes.values())


def _add(name: str, source: Callable[[str], str], scopes: dict[str, str]) -> None:
    """Adds a module behind those that it imports."""
    if name in scopes:
        return
    text = source(name)
    for _, needed in _IMPORT.findall(text):
        _add(needed, source, scopes)
    exported = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = module_\2;\n", text))
    scopes[name] = f"const module_{name} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"
