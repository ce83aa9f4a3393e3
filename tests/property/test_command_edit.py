"""A launch written back with changes: read again it asks for just those, and nothing else has moved."""

from hypothesis import given
from hypothesis import strategies as st

from poolsplit.engines.sglang.command import parse_launch, with_changes

FIELDS = {
    "tp_size": st.integers(1, 16),
    "mamba_full_memory_ratio": st.sampled_from([0.16, 0.9, 1.92, 7.67]),
    "max_mamba_cache_size": st.integers(1, 9999),
    "kv_cache_dtype": st.sampled_from(["auto", "fp8_e4m3"]),
    "disable_radix_cache": st.just(True),
    "served_model_name": st.sampled_from(["qwen3", "two words", "it's"]),
}
CHANGES = st.fixed_dictionaries({}, optional=FIELDS)
SEPARATORS = st.sampled_from([" ", " \\\n  ", "\n  "])
HEADS = st.sampled_from(
    ["python -m sglang.launch_server --model-path m", "A_B=1 sglang serve m", "docker run -e X_Y=2 img sglang serve m"]
)


def written(head, given_flags, separator, joined):
    import shlex

    words = []
    for field, value in given_flags.items():
        flag = "--" + field.replace("_", "-")
        text = shlex.quote(str(value))
        words.append(flag if value is True else f"{flag}={text}" if joined else f"{flag} {text}")
    return separator.join([head, *words])


@given(head=HEADS, before=CHANGES, changes=CHANGES, separator=SEPARATORS, joined=st.booleans())
def test_changes_and_only_they_are_read_again(head, before, changes, separator, joined):
    launch = parse_launch(written(head, before, separator, joined))
    again = parse_launch(with_changes(launch, changes))
    assert again.values == {**launch.values, **changes}
    assert again.env == launch.env


@given(head=HEADS, before=CHANGES, separator=SEPARATORS, joined=st.booleans())
def test_no_change_gives_the_same_text(head, before, separator, joined):
    text = written(head, before, separator, joined)
    launch = parse_launch(text)
    assert with_changes(launch, {}) == text
    same = {field: value for field, value in launch.values.items() if field in before}
    assert parse_launch(with_changes(launch, same)).values == launch.values


@given(head=HEADS, before=CHANGES, gone=st.sets(st.sampled_from(sorted(FIELDS))), separator=SEPARATORS)
def test_flags_are_taken_out_and_no_others(head, before, gone, separator):
    launch = parse_launch(written(head, before, separator, joined=False))
    again = parse_launch(with_changes(launch, dict.fromkeys(gone)))
    assert again.values == {field: value for field, value in launch.values.items() if field not in gone}
