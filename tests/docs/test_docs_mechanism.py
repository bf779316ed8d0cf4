"""The mechanism that runs pages: what it must not let pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.page import PageError, read_page
from tests.docs.running import run_page
from tests.docs.shown import agrees


def page(folder: Path, text: str) -> Path:
    """A page of its own."""
    path = folder / "page.md"
    path.write_text(text.replace("'''", "```"))
    return path


def run(folder: Path, text: str, long: bool = False) -> list[str]:
    """Run it; what was left out."""
    base = folder / "base"
    base.mkdir()
    return run_page(read_page(page(folder, text)), base, "cc", long)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("'''\nemu verify\n'''\n", "names no language"),
        ("Text.\n\n    indented code\n", "names no language"),
        ("'''text\nfolders\n'''\n", "nothing runs a block of `text`"),
        ("'''rust\nfn main() {}\n'''\n", "nothing runs a block of `rust`"),
        ("<!-- not run: -->\n'''bash\ntrue\n'''\n", "gives no reason"),
        ("<!-- long: slow -->\n'''bash\ntrue\n'''\n", "gives no reason"),
        ("<!-- exit: 1 -->\n\nText.\n\n'''bash\ntrue\n'''\n", "stands before no block"),
        ("- item\n\n  '''\n  emu verify\n  '''\n", "names no language"),
    ],
)
def test_a_block_that_nothing_runs_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PageError, match=said):
        read_page(page(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "'''bash\nfalse\n'''\n",
        "'''console\n$ echo one\ntwo\n'''\n",
        "'''console\n$ echo one; echo two\none\n'''\n",
        "'''console\n$ true\nexit code 1\n'''\n",
        "<!-- exit: 1 -->\n'''bash\ntrue\n'''\n",
        "'''python\nassert False\n'''\n",
        "<!-- file: a.py -->\n'''python\ndef (\n'''\n",
        "<!-- file: a.c -->\n'''c\nint f(\n'''\n",
        "<!-- file: a.txt -->\n<!-- then: grep two a.txt -->\n'''text\none\n'''\n",
        "'''console\noutput first\n'''\n",
    ],
)
def test_a_page_that_is_wrong_fails(tmp_path: Path, text: str) -> None:
    with pytest.raises((AssertionError, SyntaxError)):
        run(tmp_path, text)


def test_blocks_share_a_folder_variables_and_jobs(tmp_path: Path) -> None:
    text = """
<!-- file: data.json -->
'''json
{"a": 1}
'''

'''bash
HERE=$(pwd)
mkdir sub && cd sub
sleep 100 &
'''

'''console
$ python -c "import json; print(json.load(open('../data.json'))['a'])"
1
$ [ "$(pwd)" = "$HERE/sub" ] && jobs | wc -l
1
$ for i in 1 2; do \\
    echo $i; done
1
2
$ exit 3
exit code 3
'''
"""
    assert run(tmp_path, text) == []


def test_what_is_left_out_is_told_with_its_reason(tmp_path: Path) -> None:
    text = "<!-- not run: needs a real board -->\n'''bash\nfalse\n'''\n\n"
    text += "<!-- long: an hour of work -->\n'''bash\nfalse\n'''\n"
    assert [line.split(": not run: ")[1] for line in run(tmp_path, text)] == [
        "needs a real board",
        "an hour of work",
    ]


def test_long_blocks_are_run_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run(tmp_path, "<!-- long: an hour of work -->\n'''bash\nfalse\n'''\n", long=True)


def test_what_stands_for_something_else_is_run_instead_and_shown_as_written(tmp_path: Path) -> None:
    text = "<!-- instead: /dev/ttyACM0 => here -->\n\nText.\n\n"
    text += "'''console\n$ echo /dev/ttyACM0 7700\n/dev/ttyACM0 7700\n'''\n"
    run(tmp_path, text)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a  b\nc", "a b  \nc\n", True),
        ("a\n...\nz", "a\nb\nc\nz", True),
        ("first ...\nz", "first thing\nz", True),
        ("2 equal, 0.7 s", "2 equal, 13.4 s", True),
        ("x 1.0 equal", "x 22.5 equal", True),
        ("2 equal", "3 equal", False),
        ("613 k 0.9 equal", "614 k 0.9 equal", False),
        ("a", "a\nb", False),
        ("a\n...\nz", "a\nb", False),
    ],
)
def test_what_counts_as_the_same_output(shown: str, printed: str, same: bool) -> None:
    assert agrees(shown, printed) is same
