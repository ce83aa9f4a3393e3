"""Exposition text to series, line by line."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsplit.live import exposition
from poolsplit.live.exposition import ExpositionReader, wanted_lines


def read(text):
    reader = ExpositionReader(lambda name: name.startswith("e:"))
    return list(reader.read(text)), reader


def test_names_labels_and_values_are_read():
    (series,), _ = read('e:a{x="1",b="two"} 3.5\n')
    assert series == ("e:a", (("b", "two"), ("x", "1")), 3.5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("e:a 1", 1.0),
        ("e:a\t1", 1.0),
        ("e:a +Inf", math.inf),
        ("e:a 1e3 1700000000000", 1000.0),
        ('e:a{x="1"} -2', -2.0),
    ],
)
def test_forms_of_values(text, value):
    (series,), _ = read(text)
    assert series.value == value


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0c"])
def test_only_a_newline_ends_a_line(mark):
    (series,), reader = read(f'e:a{{x="1{mark}2"}} 3\r\n')
    assert (series.value, reader.bad_lines) == (3.0, 0)


def test_a_counter_keeps_the_name_it_is_printed_with():
    (series,), _ = read("# TYPE e:hits counter\ne:hits 3\n")
    assert series.name == "e:hits"


@pytest.mark.parametrize("label", ["a}b", "a{b", 'say \\"x\\"', "a\\\\b", "a\\nb", "a # b", "a,b=c"])
def test_label_values_are_unescaped_the_first_time_and_every_time(label):
    reader = ExpositionReader(lambda _: True)
    first = list(reader.read(f'e:a{{x="{label}"}} 1\n'))
    again = list(reader.read(f'e:a{{x="{label}"}} 2\n'))
    assert first[0].labels == again[0].labels
    assert again[0].value == 2
    assert first[0].labels[0][1] == label.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


@pytest.mark.parametrize("bad", ['e:a{x="1} 1', "e:a one", "e:a", 'e:a{x="1"}', 'e:a{x="1"} 1_0', 'e:a{x="1",x="2"} 1'])
def test_a_bad_line_costs_one_line(bad):
    series, reader = read(f"e:ok 1\n{bad}\ne:ok2 2\n")
    assert [one.name for one in series] == ["e:ok", "e:ok2"]
    assert reader.bad_lines == 1


def test_a_known_name_with_a_bad_value_is_a_bad_line():
    reader = ExpositionReader(lambda _: True)
    list(reader.read('e:a{x="1"} 1\n'))
    assert list(reader.read('e:a{x="1"} \n')) == []
    assert reader.bad_lines == 1


def test_what_is_not_wanted_is_not_parsed():
    series, reader = read("other{ 1\n# e:a 5\n\ne:a 1\n<html>e:a 2</html>\n")
    assert [one.value for one in series] == [1.0]
    assert reader.bad_lines == 0


def test_wanted_lines_are_stripped():
    assert list(wanted_lines("  e:a 1 \n", lambda name: name == "e:a")) == ["e:a 1"]


def test_label_sets_that_come_and_go_do_not_stay(monkeypatch):
    monkeypatch.setattr(exposition, "MAX_KNOWN_LINES", 10)
    reader = ExpositionReader(lambda _: True)
    for number in range(100):
        list(reader.read(f'e:a{{x="{number}"}} 1\n'))
    assert len(reader._known) <= 11


@given(st.text(max_size=200))
def test_no_text_raises(text):
    list(ExpositionReader(lambda _: True).read(text))
