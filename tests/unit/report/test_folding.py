"""Long lines of an answer: folded under their column or bullet; commands, pictures and rows of figures keep theirs."""

import pytest

from poolsplit.report.folding import fold

PROSE = "87.00 GiB for both pools (estimate: 139.80 GiB of a process less 0.59 GiB of context, less the weights)"


def test_prose_goes_on_a_little_further_in():
    lines = fold(PROSE, 80).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith("  ")
    assert " ".join(line.strip() for line in lines) == PROSE


@pytest.mark.parametrize("width", range(60, 75))
def test_a_percentage_stays_whole(width):
    assert not any(
        line.lstrip().startswith("%") for line in fold("word " * 11 + "(KV 47 % used, +39 %)", width).splitlines()
    )


def test_the_last_column_goes_on_under_itself():
    row = "kv_tokens  3,879,813  tokens  " + "budget over bytes per token in whole pages of one stage " * 2
    lines = fold(row.rstrip(), 80).splitlines()
    column = row.index("budget")
    assert all(line[:column].strip() == "" and line[column] != " " for line in lines[1:])


@pytest.mark.parametrize(("bullet", "indent"), [("- ", 2), ("!  ", 3), ("  refused: ", 11)])
def test_a_bullet_s_text_goes_on_under_its_text(bullet, indent):
    lines = fold(bullet + "word " * 30, 60).splitlines()
    assert len(lines) > 1
    assert all(line[:indent].strip() == "" and line[indent] != " " for line in lines[1:])


@pytest.mark.parametrize(
    "text",
    [
        "launch:\npython -m sglang.launch_server " + "--some-flag value " * 10,
        "#" * 130,
        "stage  layers  slots  conv  ssm  " + "  ".join("12,345.67" for _ in range(12)),
        "short",
        "",
    ],
)
def test_commands_pictures_and_rows_of_figures_keep_their_lines(text):
    assert fold(text, 80) == text


def test_after_a_command_s_block_lines_are_folded_again():
    text = "launch:\n" + "x " * 100 + "\n\n" + PROSE
    assert fold(text, 80).splitlines()[1] == "x " * 100
    assert max(map(len, fold(text, 80).splitlines()[3:])) <= 80


@pytest.mark.parametrize("width", [0, 10, 60])
def test_no_terminal_is_narrower_than_a_line_can_be(width):
    assert max(map(len, fold(PROSE, width).splitlines())) <= 60
