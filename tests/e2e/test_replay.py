"""`poolsplit replay` from outside."""

import gzip
import json

from support import GOLDEN


def test_a_batch_is_answered_line_by_line(poolsplit, tmp_path):
    with gzip.open(GOLDEN / "replay_cases.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines][:5]
    file = tmp_path / "workloads.jsonl"
    cases = [{k: v for k, v in row.items() if k not in {"expect", "freed"}} | {"want_freed": True} for row in rows]
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    result = poolsplit("replay", "--batch", str(file))
    assert result.exit_code == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["n"] for answer in answers] == [row["n"] for row in rows]
    assert [answer["expect"] for answer in answers] == [row["expect"] for row in rows]
    assert all(answer["freed"] is not None for answer in answers)


def test_a_bad_line_is_named(poolsplit, tmp_path):
    file = tmp_path / "workloads.jsonl"
    file.write_text('{"config": {}}\n')
    poolsplit("replay", "--batch", str(file)).assert_error(2, "line 1")


def test_a_missing_batch_file(poolsplit):
    poolsplit("replay", "--batch", "nowhere.jsonl").assert_error(2, "nowhere.jsonl")
