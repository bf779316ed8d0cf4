"""The committed record of the long campaigns, and the small parts of them that CI runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.robust import campaign, campaign_record
from tests.robust.campaigns import CAMPAIGNS, run_chunk

RECORD = json.loads(campaign_record.JSON.read_text(encoding="utf-8"))


def test_every_campaign_is_in_the_record() -> None:
    assert list(RECORD["campaigns"]) == list(CAMPAIGNS)
    for name, entry in RECORD["campaigns"].items():
        assert entry["wanted"] == CAMPAIGNS[name].total
        assert entry["cases"] == sum(run["cases"] for run in entry["runs"]) == sum(entry["ends"].values())
        assert entry["cases"] <= entry["wanted"]
        assert all(len(run["commit"]) >= 12 and "dirty" not in run["commit"] for run in entry["runs"])


def test_the_page_says_what_the_record_says() -> None:
    assert campaign_record.PAGE.read_text(encoding="utf-8") == campaign_record.page(RECORD)


def test_what_is_missing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        for name, entry in RECORD["campaigns"].items():
            print(f"\n{name}: {entry['cases']:,} of {entry['wanted']:,} cases are on record", end="")
    assert RECORD["campaigns"]["stepper"]["cases"] > 0


def test_the_titles_promise_the_numbers() -> None:
    totals = {name: entry.total for name, entry in CAMPAIGNS.items()}
    assert totals["stepper"] == 1_000_000
    assert totals["translator"] == 20_000
    assert totals["files"] == 10_000
    assert totals["straight"] + totals["structured"] == 100_000
    assert totals["rows"] == 754 * 40 * 25
    assert totals["nests"] == 10_000
    assert totals["loops"] == 12_000


def line(chunk: int, **changes: object) -> dict[str, object]:
    return {
        "campaign": "files",
        "chunk": chunk,
        "seeds": f"{chunk}..",
        "cases": 5,
        "ends": {"A": 3, "B": 2},
        "failure": "",
        "commit": "c" * 12,
        "sources": "s",
        "date": "2026-01-01",
        "seconds": 1.0,
        **changes,
    }


def test_the_newest_good_run_of_a_chunk_counts_and_failures_stay() -> None:
    lines = [
        line(0),
        line(1, commit="d" * 12),
        line(0, cases=7, ends={"A": 7}),
        line(2, failure="signal 11 at seed 9\nmore", cases=0, ends={}),
        line(3),
    ]
    entry = campaign_record.record({"files": lines})["campaigns"]["files"]
    assert entry["cases"] == 7 + 5 + 5
    assert entry["ends"] == {"A": 13, "B": 4}
    assert [(run["commit"][0], run["chunks"]) for run in entry["runs"]] == [("c", "0, 3"), ("d", "1")]
    assert [failure["chunk"] for failure in entry["failures"]] == [2]
    text = campaign_record.page(campaign_record.record({"files": lines}))
    assert "| 17 | 10,000 | 1 chunks failed, see below |" in text
    assert "signal 11 at seed 9" in text


def test_a_run_goes_on_where_it_stopped_and_tells_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def child(name: str, number: int) -> dict[str, int]:
        ran.append(number)
        if number == 3 and len(ran) < 10:
            raise campaign.ChunkFailed("exit code 1 at seed 77")
        return {"RETURN": 500}

    monkeypatch.setattr(campaign, "run_in_child", child)
    assert not campaign.run(tmp_path, ["files"])
    assert ran == list(range(20))
    assert campaign.run(tmp_path, ["files"])
    assert ran[20:] == [3], "only what failed is run again"
    assert campaign.run(tmp_path, ["files"])
    assert len(ran) == 21


def test_a_crash_of_a_chunk_is_a_failure_with_its_seed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho seed 5\necho seed 6\nkill -SEGV $$\n")
    script.chmod(0o755)
    monkeypatch.setattr(campaign.sys, "executable", str(script))
    with pytest.raises(campaign.ChunkFailed, match="signal 11 at seed 6"):
        campaign.run_in_child("files", 0)


@pytest.mark.long
@pytest.mark.parametrize("name", ["stepper", "translator", "files"])
def test_long_campaign(name: str) -> None:
    """All of it, in this process; ``python -m tests.robust.campaign`` does the same in pieces. Programs and
    rows of both tiers: tests/translator, with --long.
    """
    for number in range(CAMPAIGNS[name].chunks):
        run_chunk(name, number)
