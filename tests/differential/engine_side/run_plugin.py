"""Run by an interpreter that has the engine: its own plug-in loader, then its own solver, once for every start.

Reads one JSON object on stdin: names of starts to `case` (as the solver's harness takes it) and `env`. Every start runs
in a child process of its own, so that each loads its plug-ins anew. Prints, a name, `result` (the solver's answer),
`lines` (what the plug-in and the loader logged), `plugins` (entry points seen) and `loaded` (modules of ours).
"""

import json
import logging
import os
import sys

import oracle_versions  # the harness of the golden answers; the caller puts it on the path


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__(level=logging.INFO)
        self.records = []

    def emit(self, record):
        self.records.append((record.name, record.levelname, record.getMessage(), record.exc_info is not None))


def main() -> None:
    harness = oracle_versions.VersionedOracle()
    answers = {name: _in_child(harness, start) for name, start in json.load(sys.stdin).items()}
    json.dump(answers, sys.stdout, default=str)


def _in_child(harness, start):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writer, "w") as pipe:
            json.dump(_start(harness, start), pipe, default=str)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)


def _start(harness, start):
    os.environ.update(start["env"])
    kept = Lines()
    for name in ("poolsplit", "sglang.srt.plugins"):
        logging.getLogger(name).addHandler(kept)
        logging.getLogger(name).setLevel(logging.INFO)
    from importlib.metadata import entry_points

    from sglang.srt.plugins import GENERAL_PLUGINS_GROUP, load_plugins

    load_plugins()
    return {
        "result": harness.run(start["case"]),
        "lines": kept.records,
        "plugins": [entry.value for entry in entry_points(group=GENERAL_PLUGINS_GROUP)],
        "loaded": sorted(name for name in sys.modules if name.partition(".")[0] == "poolsplit"),
    }


if __name__ == "__main__":
    main()
