"""The flag table: forms by release, abbreviations, spellings."""

from poolsplit.engines.sglang.command.flag_table import default_of, find_flag, near_spellings, spelling_of
from poolsplit.engines.sglang.flags import FLAG_NAMES


def test_arity_and_aliases():
    assert find_flag("--tensor-parallel-size").field == find_flag("--tp").field == "tp_size"
    assert find_flag("--disable-radix-cache").values == "0"
    assert find_flag("--cuda-graph-bs-decode").values == "+"
    assert find_flag("--not-a-flag") is None


def test_a_spelling_by_release():
    assert find_flag("--enable-gdn-replayssm-spec", "0.5.16").field == "enable_gdn_replayssm_spec"
    assert find_flag("--enable-gdn-replayssm-spec", "0.5.18").field == "enable_linear_replayssm_spec"
    assert find_flag("--disable-piecewise-cuda-graph", "0.5.16").sets == "disabled"
    assert find_flag("--no-dcp-replicate-q-proj").sets is False


def test_an_abbreviation_must_be_the_only_one():
    assert find_flag("--mamba-f").field == "mamba_full_memory_ratio"
    assert find_flag("--mamba") is None
    assert find_flag("--pp") is None


def test_the_canonical_spelling_of_each_memory_flag():
    for field in ("tp_size", "mamba_radix_cache_strategy", "max_mamba_cache_size", "dcp_size", "page_size"):
        assert spelling_of(field) == "--" + field.replace("_", "-")
    without = {field for field in FLAG_NAMES if find_flag(spelling_of(field)) is None}
    assert without <= {"disable_decode_cuda_graph", "disable_prefill_cuda_graph"}


def test_near_spellings_and_defaults():
    assert "--mamba-full-memory-ratio" in near_spellings("--mamba-full-memory-ration")
    assert default_of("mamba_track_interval") == 256
    assert default_of("no_such_field") == "absent"
