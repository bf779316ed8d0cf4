"""A headless Chromium, when there is one: the page as it lays it out, and pictures of it."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import png
import pytest

_PROBE = """<!DOCTYPE html><meta charset="utf-8"><pre id="told"></pre>
<iframe id="page" width="{width}" height="900" srcdoc="{page}"></iframe><script>
addEventListener("load", () => {{
  const found = document.getElementById("page").contentDocument;
  document.getElementById("told").textContent = String({expression});
}});
</script>"""


def chromium() -> str:
    """Path of the browser. Skips the test, aloud, without one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium here; to look at pages in a browser: apt-get install chromium")
    return found


def _run(*words: str, folder: Path) -> str:
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder}",
    ]
    done = subprocess.run([chromium(), *options, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ask(page: str, expression: str, folder: Path, width: int = 1000) -> str:
    """The value of a JavaScript expression over ``found``, the page's document, at a width in pixels."""
    probe = folder / "probe.html"
    probe.write_text(_PROBE.format(width=width, page=html.escape(page), expression=expression))
    dom = _run("--dump-dom", probe.as_uri(), folder=folder / "profile")
    told = re.search(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
    assert told is not None, dom[:500]
    return html.unescape(told.group(1))


def screenshot(path: Path, output: Path, width: int, height: int, dark: bool = False) -> np.ndarray:
    """The page of a file as uint8 [rows][columns][3 or 4]."""
    words = [f"--screenshot={output}", f"--window-size={width},{height}"]
    words += ["--blink-settings=preferredColorScheme=0"] if dark else []
    _run(*words, path.as_uri(), folder=output.parent / "profile")
    columns, rows, pixels, _ = png.Reader(filename=str(output)).asDirect()
    return np.vstack([np.frombuffer(row, np.uint8) for row in pixels]).reshape(rows, columns, -1)
