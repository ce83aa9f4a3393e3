"""Answers of every kind, drawn: nothing is missing its words."""

import json
import re

import pytest

from poolsplit import api
from poolsplit.report.read_document import read_document
from support import EXAMPLES, SHARED
from ui_browser import Screen
from ui_server import PLAN

LOGS = sorted([*EXAMPLES.glob("*.log"), *(SHARED / "bootlogs").glob("*.log")])
PLANS = {
    "request cap": {"flags": "--tp 4 --max-running-requests 8"},
    "pinned": {"flags": "--tp 4 --max-mamba-cache-size 300"},
    "stages": {"flags": "--tp 4 --pp-size 2"},
    "workers": {"flags": "--tp 8 --dp-size 8 --enable-dp-attention"},
    "no prefix cache": {"flags": "--tp 4 --disable-radix-cache"},
    "spread": {"workload": {"lengths": "p50=2k,p90=32k,p99=128k"}},
    "sessions": {"sessions": {"sessions": 200, "session_tokens": "16k"}},
    "pair": {"workload": {"input": "8k", "output": "1k"}, "pair": True},
    "release": {"compare_version": "0.5.18"},
    "short state": {"model": "LiquidAI/LFM2-1.2B", "gpu": "h100", "flags": ""},
}
DRAW = """async ([module, view, document_]) => {
    const place = document.createElement("div");
    place.append(...(await import(`/static/${module}.js`))[view](document_));
    document.body.append(place);
    place.querySelectorAll("details").forEach((each) => (each.open = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const text = place.innerText;
    place.remove();
    return text;
}"""


@pytest.fixture(scope="module")
def page(browser, ui, tmp_path_factory):
    """One open page, whose views can be called."""
    with Screen(browser, ui, tmp_path_factory.mktemp("views")) as screen:
        yield screen.open("live")


def drawn(page, module, view, document):
    """The words of a drawing, none of them a slip of the page."""
    text = page.evaluate(DRAW, [module, view, document])
    assert not re.search(r"\b(undefined|NaN|null)\b|\[object", text), text
    return text


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_log_has_a_report(page, path):
    answer = api.read_log((str(path),))
    document = json.loads(json.dumps(read_document(answer, (path.name,))))
    text = drawn(page, "read_view", "readView", document)
    for finding in document["findings"]:
        assert finding["text"] in text
    for boot in document["boots"]:
        for rank in boot["ranks"].values():
            assert rank["kv_tokens"] is None or f"{rank['kv_tokens']:,}" in text


@pytest.mark.parametrize("name", PLANS)
def test_every_kind_of_plan_has_an_answer(page, ui, name):
    document = ui.ask("POST", "/api/plan", {**PLAN, **PLANS[name]}).document
    text = drawn(page, "plan_view", "planView", document)
    assert document["launch_command"] in text
    for lever in document["levers"]:
        assert lever["name"].replace("_", " ").lower() in text.lower()
    for stage in document["stages"]:
        assert f"{stage['layers']}" in text
