"""`poolsplit dashboard`: a dashboard and alert rules for a plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from poolsplit.cli.output import replacing, to_json
from poolsplit.errors import InputError


def dashboard(
    plan: str,
    /,
    *,
    output: Annotated[str, Parameter(name=["--output", "-o"])],
    gateway: Annotated[bool, Parameter(negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Dashboard and alert rules that watch both pools for a plan.

    Args:
        plan: The JSON of `poolsplit plan`.
        output: Folder for `dashboard.json` (Grafana) and `rules.yml` (Prometheus); made when it is not there.
        gateway: Series are scraped from a gateway, which spells their names with `_` for `:`.
        as_json: One JSON object that names the files.
    """
    from poolsplit import api

    files = api.dashboard_files(plan, gateway=gateway)
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"no folder can be made there: {error.strerror}", hint="name another", where=output) from None
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        with replacing(str(folder / name)) as handle:
            handle.write(text.encode())
    paths = [str(folder / name) for name in files]
    document = {"command": "dashboard", "engine": api.engine(), "plan": plan, "files": paths}
    print(to_json({**document, "warnings": [], "derivation": []}) if as_json else "\n".join(paths))
