"""Tensors as pictures: values, differences, how large the differences are. PNG and SVG, nothing loaded."""

from __future__ import annotations

import base64
import html
import io
from collections import Counter
from collections.abc import Sequence

import numpy as np
import png

from emu.numerics.types import AnyArray
from emu.report.document import Picture

LARGEST = 256
"""Rows and columns of a picture of a tensor; more are cut around the first difference."""
_MOST_BARS = 24
_LANES = 16
_EQUAL, _LANE = (228, 232, 236), (206, 212, 218)
_ABOVE, _BELOW, _NAN = (196, 30, 58), (25, 82, 190), (150, 30, 170)


def png_uri(pixels: AnyArray) -> str:
    """A data URI of uint8 [rows][columns][3]."""
    rows, columns, _ = pixels.shape
    data = io.BytesIO()
    png.Writer(columns, rows, greyscale=False, compression=9).write(data, pixels.reshape(rows, -1))
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()


def picture_of(rgb: AnyArray, title: str, scale: int = 1) -> Picture:
    """A picture of a model, uint8 [rows][columns][3]; enlarged by the browser, not here."""
    rows, columns, _ = rgb.shape
    return Picture(png_uri(rgb), columns * scale, rows * scale, title, title)


def _scale(rows: int, columns: int) -> int:
    """Screen pixels for an element: small tensors are drawn large."""
    return max(1, min(16, 420 // max(columns, 1), 420 // max(rows, 1)))


def _sized(pixels: AnyArray, text: str, title: str) -> Picture:
    rows, columns, _ = pixels.shape
    scale = _scale(rows, columns)
    return Picture(png_uri(pixels), columns * scale, rows * scale, text, title)


def values_picture(values: AnyArray, low: float, high: float, title: str) -> Picture:
    """Values [rows][columns] in grey between ``low`` (black) and ``high`` (white); what is no number in
    violet.
    """
    numbers = np.asarray(values, np.float64)
    finite = np.isfinite(numbers)
    span = (high - low) or 1.0
    grey = np.clip((np.where(finite, numbers, low) - low) / span * 255, 0, 255).astype(np.uint8)
    pixels = np.repeat(grey[:, :, None], 3, axis=2)
    pixels[~finite] = _NAN
    rows, columns = values.shape
    text = f"{title}: {rows} rows of {columns}, black {low:.6g}, white {high:.6g}"
    return _sized(pixels, text, title)


def difference_picture(distances: AnyArray, unequal: AnyArray, first_column: int, told: str) -> Picture:
    """Where two tensors differ, [rows][columns]: red above, blue below, the darker the farther.

    Equal elements are light; every other group of 16 columns is a little darker, so that lanes of a vector
    and alignment show as columns.
    """
    rows, columns = unequal.shape
    pixels = np.empty((rows, columns, 3), np.uint8)
    odd = (np.arange(columns) + first_column) // _LANES % 2 == 1
    pixels[:, ~odd] = _EQUAL
    pixels[:, odd] = _LANE
    size = np.log2(np.abs(np.where(np.isfinite(distances), distances, 1)) + 1)
    strength = 0.45 + 0.55 * size / max(float(size[unequal].max(initial=0)), 1.0)
    for places, colour in (
        (unequal & (distances >= 0), _ABOVE),
        (unequal & (distances < 0), _BELOW),
        (unequal & ~np.isfinite(distances), _NAN),
    ):
        pixels[places] = _tinted(colour, strength[places])
    return _sized(pixels, f"difference map: {told}", "difference")


def _tinted(colour: tuple[int, int, int], strength: AnyArray) -> AnyArray:
    light = 255 - (255 - np.array(colour, np.float64)) * strength[:, None]
    return light.astype(np.uint8)


def histogram(distances: Sequence[int], unit: str) -> str:
    """An SVG of how many elements differ by how much, in powers of 2 (or of 16); "" for none."""
    if not distances:
        return ""
    found = [_bin(d, 1) for d in distances]
    bits = 1 if max(found) - min(found) <= _MOST_BARS else 4
    counts = Counter(_bin(d, bits) for d in distances)
    bars = [(_label(k, bits), counts[k]) for k in range(min(counts), max(counts) + 1) if k]
    return _bars(bars, f"differences in {unit}")


def _bin(distance: int, bits: int) -> int:
    """1 for 1 .. 2^bits - 1, 2 for what follows up to 2^(2 bits) - 1, ...; the same with a minus below 0."""
    number = -(-max(abs(distance), 1).bit_length() // bits)
    return number if distance >= 0 else -number


def _label(key: int, bits: int) -> str:
    low, high = 1 << bits * (abs(key) - 1), (1 << bits * abs(key)) - 1
    sign = "-" if key < 0 else "+"
    return f"{sign}{_short(low)}" if low == high else f"{sign}{_short(low)}..{_short(high)}"


def _short(number: int) -> str:
    return str(number) if number < 10_000 else f"2^{number.bit_length() - (number & (number - 1) == 0)}"


def _bars(bars: list[tuple[str, int]], title: str) -> str:
    most = max(count for _, count in bars)
    height, step, label = 18, 20, 110
    lines = [
        f'<svg class="histogram" role="img" viewBox="0 0 420 {step * len(bars) + 4}" '
        f'width="420" height="{step * len(bars) + 4}"><title>{html.escape(title)}</title>'
    ]
    for i, (name, count) in enumerate(bars):
        y = i * step + 2
        width = round(230 * count / most, 1) if count else 0
        lines.append(f'<text x="{label - 6}" y="{y + 13}" text-anchor="end">{html.escape(name)}</text>')
        lines.append(f'<rect x="{label}" y="{y}" width="{width}" height="{height - 2}"></rect>')
        lines.append(f'<text x="{label + width + 5}" y="{y + 13}">{count:,}</text>')
    return "".join(lines) + "</svg>"
