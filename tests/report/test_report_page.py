"""Pages of runs with planted faults, looked at element by element, in a browser too."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import png
import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.report.document import Document, Failure, Stage, Strip
from emu.report.drawing import difference_picture, histogram
from emu.report.page import render
from emu.report.tensors import tensor_section
from tests.goldens.wrong_image import wrong_image
from tests.report.browser import ask, screenshot

FAULTS = [
    ("argmax_f32", "olt.s", "ole.s"),
    ("residual_gated", "add.s", "sub.s"),
    ("fmix32_array", "xor", "or"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run over four kernels, three of them wrong."""
    folder = tmp_path_factory.mktemp("report")
    elf = wrong_image(folder / "wrong.elf", FAULTS)
    words = ["verify", "--elf", str(elf), "--no-memory", "--out", str(folder / "out"), "--jobs", "1"]
    words += ["--html", str(folder / "report.html"), "--json", str(folder / "report.json")]
    for name in (*(fault[0] for fault in FAULTS), "crc32_bytes"):
        words += ["--kernel", name]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1, result.output
    return folder / "report.html"


VOID = ("meta", "img", "rect", "br")


class Page(HTMLParser):
    """Elements with their attributes and the text inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append(len(self.found) - 1)

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and self._open and self.found[self._open.pop()][0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for i in self._open:
            self.found[i][2].append(data)

    def all(self, tag: str, **wanted: str) -> list[tuple[dict[str, str | None], str]]:
        """(attributes, text) of the elements of a tag with these attributes."""
        return [
            (attributes, "".join(text).strip())
            for name, attributes, text in self.found
            if name == tag
            and all(v in (attributes.get(k.rstrip("_")) or "").split() for k, v in wanted.items())
        ]


def test_every_fault_is_shown_with_all_that_helps(report: Path) -> None:
    page = Page(report.read_text())
    kernels = {k["kernel"]: k for k in json.loads(report.with_suffix(".json").read_bytes())["kernels"]}
    assert page.all("p", id="verdict")[0][1] == "mismatch"
    sections = {str(a["id"]): text for a, text in page.all("section", class_="failure")}
    assert sorted(sections) == sorted(f"kernel-{fault[0]}" for fault in FAULTS)
    for name, old, new in FAULTS:
        text = sections[f"kernel-{name}"]
        failure = kernels[name]["failure"]
        assert failure["replay"] in text
        assert failure["message"] in text
        marked = [line for line in text.splitlines() if "\N{BLACK RIGHT-POINTING TRIANGLE}" in line]
        by_return_only = not failure["mismatch"]["differences"]
        assert len(marked) == (0 if by_return_only else 1), f"{name}: {len(marked)} instructions are marked"
        assert f"<{name}>:" in text or not by_return_only
        assert re.search(rf"\b{re.escape(new)}\b", text), f"{name}: {old} became {new}"
        for found in failure["mismatch"]["differences"]:
            assert found["expected"] in text
    rows = [text for _, text in page.all("tr")]
    assert any("crc32_bytes" in row and "equal" in row for row in rows)


def test_every_picture_has_words_and_nothing_is_loaded(report: Path) -> None:
    text = report.read_text()
    page = Page(text)
    pictures = page.all("img")
    assert len(pictures) >= 3
    for attributes, _ in pictures:
        assert attributes["alt"]
        assert (attributes["src"] or "").startswith("data:image/png;base64,")
    assert "<script" not in text
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    assert not re.findall(r"url\(|@import", text)
    assert all("title" in a or "differs" not in str(a.get("class")) for a, _ in page.all("li"))


def test_in_a_browser_it_fits_a_phone_and_is_legible_in_the_dark(report: Path, tmp_path: Path) -> None:
    text = report.read_text()
    for width in (360, 1000):
        expression = (
            "found.documentElement.scrollWidth + ' ' + found.querySelectorAll('section.failure').length"
        )
        wide, sections = ask(text, expression, tmp_path, width).split()
        assert int(wide) <= width, f"the page is {wide} wide on a screen of {width}"
        assert int(sections) == 3
    sizes = ask(text, "[...found.images].every(i => i.complete && i.naturalWidth > 0)", tmp_path)
    assert sizes == "true"
    light = screenshot(report, tmp_path / "light.png", 390, 844)
    assert light[4, 4, :3].tolist() == [255, 255, 255]
    assert len(np.unique(light.reshape(-1, light.shape[2]), axis=0)) > 50
    dark = screenshot(report, tmp_path / "dark.png", 390, 844, dark=True)
    assert dark[4, 4, :3].tolist() == [13, 17, 23]


def test_names_from_outside_cannot_become_markup() -> None:
    evil = "<script>alert(1)</script>"
    document = Document(evil, "bad", evil, [(evil, evil)], [evil])
    document.strips.append(Strip(evil, evil, "bad", (Stage(evil + '"', "differs"),)))
    assert "<script" not in render(document)


def test_seven_hundred_stages_are_seven_hundred_cells_with_names(tmp_path: Path) -> None:
    stages = tuple(Stage(f"s{i}", "differs" if i == 411 else "equal") for i in range(700))
    document = Document("mismatch", "bad", "one", strips=[Strip("t2i", "first wrong: s411", "bad", stages)])
    page = render(document)
    cells = Page(page).all("li")
    assert len(cells) == 700
    assert [a["title"] for a, _ in cells if a.get("class")] == ["s411: differs"]
    count = ask(page, "found.querySelectorAll('.strip li.differs').length", tmp_path)
    assert count == "1"


@pytest.mark.long
def test_seven_hundred_stages_are_there_within_two_seconds(tmp_path: Path) -> None:
    """What the browser itself says it took from the start to the end of its load event."""
    stages = tuple(Stage(f"s{i}", "differs" if i == 411 else "equal") for i in range(700))
    actual = np.zeros(256 * 384, np.int8)
    actual[::7] = 3
    tensor = tensor_section("y", (256, 384), np.zeros_like(actual), actual)
    assert tensor is not None
    failure = Failure("t2i", "t2i", "bad", (), (tensor,))
    strips = [Strip("t2i", "first wrong: s411", "bad", stages)]
    document = Document("mismatch", "bad", "one", strips=strips, failures=[failure])
    timing = "found.defaultView.performance.timing"
    told = ask(render(document), f"{timing}.loadEventEnd - {timing}.navigationStart", tmp_path)
    print(f"loaded in {told} ms")
    assert 0 < float(told) < 2000


def pixels(uri: str) -> np.ndarray:
    columns, rows, lines, _ = png.Reader(bytes=base64.b64decode(uri.partition(",")[2])).asDirect()
    return np.vstack([np.frombuffer(row, np.uint8) for row in lines]).reshape(rows, columns, 3)


def test_the_difference_map_marks_exactly_what_differs() -> None:
    distances = np.zeros((3, 40))
    distances[1, 5], distances[2, 39] = 4, -1
    shown = pixels(difference_picture(distances, distances != 0, 0, "two").uri).astype(int)
    assert shown.shape == (3, 40, 3)
    red, blue = shown[1, 5], shown[2, 39]
    assert red[0] > red[2] + 50
    assert blue[2] > blue[0] + 50
    grey = np.ptp(shown, axis=2) < 20
    assert grey.sum() == 118
    assert (shown[0, 15] != shown[0, 16]).any()
    assert (shown[0, 31] != shown[0, 32]).any()
    assert (shown[0, 16] == shown[0, 31]).all()


def test_a_large_tensor_is_cut_around_its_first_difference() -> None:
    expected = np.zeros(1000 * 300, np.int8)
    actual = expected.copy()
    actual[900 * 300 + 290] = 3
    section = tensor_section("y", (1000, 300), expected, actual)
    assert section is not None
    assert section.difference is not None
    shown = pixels(section.difference.uri).astype(int)
    assert shown.shape[0] <= 272
    assert (np.ptp(shown, axis=2) > 50).sum() == 1
    assert "[900, 290]" in section.elements.rows[0].cells[0]


@pytest.mark.parametrize(
    ("distances", "bars"),
    [
        ([1, 1, -1, 3], {"-1": "1", "+1": "2", "+2..3": "1"}),
        ([5, 2**30, -(2**31)], {"+1..15": "1", "+2^28..2^32": "1", "-2^28..2^32": "1"}),
    ],
)
def test_the_histogram_counts_every_difference(distances: list[int], bars: dict[str, str]) -> None:
    texts = [text for _, text in Page(histogram(distances, "ULP")).all("text")]
    shown = dict(zip(texts[::2], texts[1::2], strict=True))
    assert {k: v for k, v in shown.items() if v != "0"} == bars
    assert histogram([], "ULP") == ""
