"""A profile as one self-contained HTML file: flame graph, tables, estimate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from emu.profile.chip import Estimate, assumptions
from emu.profile.flame import svg
from emu.profile.measure import Profile
from emu.profile.text import beside_published, estimate_rows

_STYLE = """body{font:14px system-ui,sans-serif;margin:2em;max-width:1240px}
table{border-collapse:collapse;margin:.5em 0 1.5em}
td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left;font-family:monospace}"""


def html(profile: Profile, guess: Estimate) -> str:
    """The whole page."""
    total = max(profile.instructions, 1)
    stages = [(n, f"{c:,}", f"{c / total:.2%}") for n, c in profile.families().items()]
    every = [(n, f"{c:,}", f"{c / total:.3%}") for n, c in profile.stages.items()]
    functions = [(n, f"{c:,}", f"{c / total:.2%}", f"{k:,}") for n, (c, k) in profile.functions.items()]
    kinds = [(k, f"{share:.1%}") for k, share in profile.mix.shares.items()]
    parts = [
        f"<h1>{escape(profile.subject.title)}</h1><p>{profile.instructions:,} instructions.</p>",
        svg(profile.root, "instructions by calls"),
        _table("Stages, taken together", ("stage", "instructions", "share"), stages),
        _table("Functions", ("function", "own instructions", "share", "calls"), functions),
        _table(f"Kinds of instructions, {profile.mix.samples:,} samples", ("kind", "share"), kinds),
        _table("Estimate for a chip", ("what", "value"), estimate_rows(profile, guess)),
        *(f"<p>{escape(line)}</p>" for line in beside_published(profile, guess)),
        "<h2>Assumed</h2><ul>" + "".join(f"<li>{escape(a)}</li>" for a in assumptions()) + "</ul>",
        "<details><summary>Every stage</summary>",
        _table("", ("stage", "instructions", "share"), every),
        "</details>",
    ]
    head = f'<meta charset="utf-8"><title>{escape(profile.subject.title)}</title><style>{_STYLE}</style>'
    return f"<!doctype html><html><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    heading = f"<h2>{escape(title)}</h2>" if title else ""
    return f"{heading}<table><tr>{head}</tr>{body}</table>" if body else ""
