import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsplit.errors import InputError
from poolsplit.units import GIB, align_down, align_up, ceil_div, format_size, parse_count, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("80GiB", 80 * GIB),
        ("80GB", 80 * 10**9),
        ("80 gib", 80 * GIB),
        ("62.54515625GiB", 67157350154),
        (".5 KiB", 512),
        ("512B", 512),
    ],
)
def test_parse_size_tells_binary_from_decimal(text, size_bytes):
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["80", "80G", "", "GiB", "-1GiB", "1e3GiB", "80GiB more", "nan GiB"])
def test_parse_size_refuses_what_it_would_have_to_guess(text):
    with pytest.raises(InputError):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "count"), [("9216", 9216), ("32k", 32768), ("1m", 1 << 20), ("1.5k", 1536), ("1,167,552", 1167552)]
)
def test_parse_count_reads_binary_thousands(text, count):
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "k", "-5", "1.0001k", "12.5", "ten", "4 k x"])
def test_parse_count_refuses_what_is_not_whole(text):
    with pytest.raises(InputError):
        parse_count(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10.0), ("500ms", 0.5), ("5m", 300.0), ("1h", 3600.0), ("2.5", 2.5)]
)
def test_parse_duration_reads_units_of_time(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-1s", "10 days", "s", "nan"])
def test_parse_duration_refuses_what_is_no_time(text):
    with pytest.raises(InputError):
        parse_duration(text)


def test_format_size_names_its_unit():
    assert format_size(28 * GIB + GIB // 2) == "28.50 GiB"
    assert format_size(-512) == "-512 B"


@given(st.integers(min_value=0, max_value=1 << 60))
def test_whole_bytes_survive_a_round_trip(size_bytes):
    assert parse_size(f"{size_bytes}B") == size_bytes


@given(st.integers(min_value=-(1 << 60), max_value=1 << 60), st.integers(min_value=1, max_value=1 << 20))
def test_alignment_brackets_the_value(value, step):
    low, high = align_down(value, step), align_up(value, step)
    assert low <= value <= high
    assert high - low in {0, step}
    assert low % step == 0
    assert ceil_div(value, step) * step == high


@pytest.mark.parametrize(
    ("parse", "text"), [(parse_count, "9" * 5000), (parse_size, "9" * 5000 + "GiB"), (parse_duration, "9" * 5000)]
)
def test_numbers_beyond_any_machine_are_refused_in_a_short_line(parse, text):
    with pytest.raises(InputError, match=r"9\.\.\.` is not") as raised:
        parse(text)
    assert len(str(raised.value)) < 200
