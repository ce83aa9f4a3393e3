"""Whatever a page holds, a look is judged or listed, and figures keep their sense."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from live_looks import Looks, look
from live_server import Engine
from poolsplit.engines.sglang.metrics import WANTED
from poolsplit.live.document import tick_documents
from poolsplit.report.watch_line import finding_blocks, watch_line

VALUES = st.one_of(
    st.integers(min_value=0, max_value=10**13), st.floats(), st.sampled_from(["NaN", "+Inf", "-Inf", "", "x", "-1"])
)
LABELS = st.fixed_dictionaries(
    {},
    optional={
        "tp_rank": st.sampled_from(["0", "1", "", "-1", "many"]),
        "dp_rank": st.sampled_from(["0", "1", "99999"]),
        "pp_rank": st.sampled_from(["0", "1"]),
        "mode": st.sampled_from(["input", "device_hit", "host_hit", "other"]),
        "pool": st.sampled_from(["kv", "mamba"]),
        "priority": st.sampled_from(["", "5"]),
        "worker_addr": st.sampled_from(["http://w0", "http://w1"]),
    },
)
LINES = st.lists(st.tuples(st.sampled_from(sorted(WANTED)), LABELS, VALUES), max_size=60)
POOLS = st.tuples(*[st.integers(min_value=0, max_value=10**6)] * 3)


def page(lines):
    def given_labels(labels):
        return ",".join(f'{key}="{value}"' for key, value in labels.items())

    return "\n".join(f"sglang:{name}{{{given_labels(labels)}}} {value}" for name, labels, value in lines)


@settings(max_examples=60, deadline=None)
@given(pages=st.lists(LINES, min_size=1, max_size=4), with_info=st.booleans())
def test_any_page_is_judged(pages, with_info):
    watched = Looks()
    for lines in pages:
        tick = watched(Engine(), metrics=page(lines), **({} if with_info else {"info": None}))
        documents = tick_documents(tick, engine="sglang")
        json.dumps(documents, allow_nan=False)
        for document in documents:
            assert watch_line(document)
            finding_blocks(document)


INFO_KEYS = (
    "model_path",
    "internal_states",
    "max_running_requests",
    "dp_size",
    "attn_dp_size",
    "mamba_radix_cache_strategy",
    "version",
    "launch_command",
    "tp_size",
)
INFO_VALUES = st.one_of(st.none(), st.integers(), st.text(max_size=9), st.lists(st.integers(), max_size=2))


@settings(max_examples=60, deadline=None)
@given(info=st.dictionaries(st.sampled_from(INFO_KEYS), INFO_VALUES))
def test_any_info_answer_is_read_or_named(info):
    tick = Looks().watch.tick(0, [look(Engine(), info=info)])
    assert tick.judged[0].sample.running == 20


@settings(max_examples=60, deadline=None)
@given(state=POOLS, kv=POOLS, running=st.integers(0, 500), queued=st.integers(0, 50))
def test_pools_add_up_and_shares_stay_shares(state, kv, running, queued):
    engine = Engine(state=state, kv=kv, running=running, queued=queued)
    judged = Looks()(engine).judged[0]
    (document,) = tick_documents(Looks()(engine), engine="sglang")
    if sum(state):
        assert judged.sample.state_slots == sum(state)
        assert document["state"]["capacity"] == sum(state)
    for name in ("state_usage_fraction", "kv_usage_fraction"):
        assert document[name] is None or 0 <= document[name] <= 1
    assert (judged.view.binding is None) or queued > 0
