"""The log reader under made-up figures, wraps, shuffles, splits, cuts and noise."""
# ruff: noqa: E501, S311, Q003  log text as it stands; no secret is drawn

import io
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from boot_log_text import cap_line, kv_line, stamped, state_line, summary_line
from poolsplit.answers.logs import answer_of
from poolsplit.engines import other_engines
from poolsplit.engines.sglang.boot_log import report_of
from poolsplit.engines.sglang.boot_log.scan import Scanner
from poolsplit.report.read_document import boots_document, read_document
from poolsplit.report.read_screen import read_screen

GIB = 1 << 30
BYTES = st.integers(min_value=0, max_value=300 * GIB)


def report(*files):
    scans = [
        Scanner(f"file{number}", other_engines.FORMS).run(
            io.BytesIO(text if isinstance(text, bytes) else text.encode())
        )
        for number, text in enumerate(files)
    ]
    return report_of(scans)


def without_files(found):
    return [{name: value for name, value in boot.items() if name != "files"} for boot in boots_document(found)]


@st.composite
def starts(draw, ranks=None):
    """One start of a server: rank label to its lines."""
    labels = ranks or draw(
        st.sampled_from(
            [["TP0"], ["TP0", "TP1"], ["DP0 TP0", "DP1 TP1"], ["PP0 TP0", "PP1 TP0"], ["TP0 EP0", "TP1 EP1"]]
        )
    )
    tokens = draw(st.integers(min_value=1, max_value=50_000_000))
    slots = draw(st.integers(min_value=1, max_value=90_000))
    per_request = draw(st.sampled_from([3, 4, 5]))
    speculates = draw(st.booleans())
    lanes = {}
    for label in labels:
        sizes = {"conv_bytes": draw(BYTES), "ssm_bytes": draw(BYTES)}
        if speculates:
            sizes |= {"scratch_ssm_bytes": draw(BYTES), "scratch_conv_bytes": draw(BYTES)}
        kv = {"kv_bytes": draw(BYTES)} if draw(st.booleans()) else {"k_bytes": draw(BYTES), "v_bytes": draw(BYTES)}
        lanes[label] = [
            "Load weight begin. avail mem=139.00 GB",
            f"Load weight end. elapsed=9.00 s, type=SomeForCausalLM, avail mem={draw(st.integers(1, 9000)) / 100:.2f} GB, mem usage=20.00 GB.",
            cap_line(requests=slots // per_request, slots=slots, per_request=per_request),
            state_line(slots=slots, **sizes),
            kv_line(tokens=tokens, **kv),
            "Memory pool end. avail mem=5.00 GB",
        ]
    lanes[labels[0]].append(summary_line(tokens=tokens, requests=slots // per_request, context_len=262144))
    return lanes


def text_of(lanes, order=None):
    """The ranks' lines in one file, each rank's own in order; the choice of ranks in any order."""
    stamps = {label: stamped(label, lines) for label, lines in lanes.items()}
    picks = [label for label, lines in stamps.items() for _ in lines]
    if order is not None:
        order.shuffle(picks)
    queues = {label: iter(lines) for label, lines in stamps.items()}
    return "\n".join(next(queues[label]) for label in picks) + "\n"


@given(
    slots=st.integers(min_value=0, max_value=10**7),
    tokens=st.integers(min_value=1, max_value=10**9),
    conv=BYTES,
    ssm=BYTES,
    k=BYTES,
    v=BYTES,
)
def test_what_is_printed_is_read_within_its_interval(slots, tokens, conv, ssm, k, v):
    lines = [state_line(slots=slots, conv_bytes=conv, ssm_bytes=ssm), kv_line(tokens=tokens, k_bytes=k, v_bytes=v)]
    rank = report("\n".join(stamped("TP0", lines)) + "\n").last.ranks["TP0"]
    assert (rank.state.state_slots, rank.kv_tokens) == (slots, tokens)
    for size, true in ((rank.state.conv, conv), (rank.state.ssm, ssm), (rank.kv[0].k, k), (rank.kv[0].v, v)):
        assert size.low_bytes <= true + 1
        assert true - 1 <= size.high_bytes
    slot = rank.state_bytes_per_slot
    assert slot.low - 1 <= (conv + ssm) / (slots + 1) <= slot.high + 1


@given(lanes=starts(), seed=st.integers(0, 2**32))
def test_interleaved_ranks_give_the_same_report(lanes, seed):
    found = report(text_of(lanes))
    assert without_files(found) == without_files(report(text_of(lanes, random.Random(seed))))
    assert len(found.boots) == 1
    assert set(found.last.ranks) == set(lanes)


@given(lanes=starts(), width=st.integers(min_value=60, max_value=160))
def test_wrapped_lines_give_the_same_report(lanes, width):
    text = text_of(lanes)
    wrapped = "\n".join(line[at : at + width] for line in text.splitlines() for at in range(0, len(line), width)) + "\n"
    assert without_files(report(wrapped)) == without_files(report(text))


@given(lanes=starts())
def test_a_file_for_each_rank_gives_the_same_report(lanes):
    files = [text_of({label: lines}) for label, lines in lanes.items()]
    assert without_files(report(*files)) == without_files(report(text_of(lanes)))


@given(lanes=starts(), share=st.floats(0, 1))
def test_a_file_cut_in_two_gives_the_same_report(lanes, share):
    lines = text_of(lanes).splitlines(keepends=True)
    at = round(len(lines) * share)
    assert without_files(report("".join(lines[:at]), "".join(lines[at:]))) == without_files(report("".join(lines)))


@given(first=starts(ranks=["TP0", "TP1"]), second=starts(ranks=["TP0", "TP1"]))
def test_two_starts_in_one_file_are_both_kept_and_the_last_counts(first, second):
    found = report(
        text_of(first) + "[2026-11-02 11:00:00] The server is fired up and ready to roll!\n" + text_of(second)
    )
    assert without_files(found)[-1] == without_files(report(text_of(second)))[-1]
    assert len(found.boots) == 2


@given(lanes=starts(), at=st.integers(min_value=0))
def test_a_log_cut_anywhere_never_says_anything_else(lanes, at):
    text = text_of(lanes)
    whole = boots_document(report(text))[-1]["ranks"]
    cut = report(text[: at % len(text)])
    for label, rank in (boots_document(cut)[-1]["ranks"] if cut.boots else {}).items():
        for name in (
            "max_mamba_cache_size",
            "conv_state_gib",
            "ssm_state_gib",
            "kv_tokens",
            "k_gib",
            "v_gib",
            "kv_gib",
        ):
            assert rank[name] in (None, whole[label][name])
        for name in ("max_total_num_tokens", "max_running_requests", "context_len", "available_gpu_mem_gib"):
            assert rank[name] in (None, whole[label][name])


WORDS = st.sampled_from([
    b"Mamba Cache is allocated. ", b"max_mamba_cache_size: ", b"KV Cache is allocated. ", b"#tokens: ", b"K size: ", b"GB",
    b"Load weight end. ", b"avail mem=", b"max_total_num_tokens=", b"server_args=ServerArgs(", b"server_args={'a': ", b"[2026-01-01 00:00:00 TP0] ",
    b"[TP0..3] ", b"Decode batch, ", b"#running-req: ", b"mamba usage: ", b"capped to ", b"max_running_requests is ", b"\n", b"\r", b"\x1b[31m",
    b"Prefill batch, #new-seq: 1, ", b"memory leak detected! ", b"[full] total=", b"9" * 400, b"-", b",", b"0.00", b"GDN ReplaySSM ring buffers allocated (",
    b"llama_kv_cache: size = ", b"python -m sglang.launch_server --model-path ", b"'", b"\"", b"(", b"[unified-memory-pool] total_bytes=", b"total_rest_memory=",
    b"PP0 max_mamba_cache_size: 26 conv_state ", b"100%|7/7 [00:04<00:00,  1.72it/s]", b"\xff\xfe", b"\x1f\x8b", b"version='0.5.",
])  # fmt: skip
NOISE = st.lists(st.one_of(WORDS, st.binary(max_size=24), st.integers(-(10**9), 10**9).map(lambda n: str(n).encode())))


@settings(max_examples=300)
@given(parts=NOISE)
def test_any_bytes_are_answered(parts):
    found = report(b"".join(parts))
    answer = answer_of(found)
    assert isinstance(read_screen(answer), str)
    assert read_document(answer, ["x"])["command"] == "read"
