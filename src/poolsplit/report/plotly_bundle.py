"""Plotly's script, as its Python package ships it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from poolsplit.errors import MissingExtraError

INSTALL = "pip install 'poolsplit[ui]'"


def plotly_bundle() -> Path:
    """Where the script lies; found without importing plotly, which takes a while.

    Raises:
        MissingExtraError: The extra `ui` is not installed.
    """
    found = find_spec("plotly")
    bundle = None if found is None or found.origin is None else Path(found.origin).parent / "package_data/plotly.min.js"
    if bundle is None or not bundle.is_file():
        raise MissingExtraError("the page draws with the package `plotly`", hint=INSTALL)
    return bundle
