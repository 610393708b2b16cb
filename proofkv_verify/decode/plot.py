"""A plot of margin against radius over the steps, as plain SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from proofkv_verify.decode.record import StepRecord

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 860, 380, 64, 40, 20, 44
_COLOURS = {
    "certified": "#2a7f4f",
    "refined": "#2b6cb0",
    "full": "#b03a2b",
    "anchored": "#b03a2b",
    "drafted": "#8a6d1d",
}


def margin_plot(records: Sequence[StepRecord], title: str) -> str:
    """SVG text: the margin of each step as a point coloured by its outcome, its radius as a bar below, log scale."""
    shown = [v for r in records for v in (r.margin, r.radius) if 0 < v < math.inf]
    low = math.floor(math.log10(min(shown, default=0.1)))
    high = max(math.ceil(math.log10(max(shown, default=1.0))), low + 1)

    def y(value: float) -> float:
        at = math.log10(min(max(value, 10.0**low), 10.0**high))
        return _HEIGHT - _BOTTOM - (at - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    step = (_WIDTH - _LEFT - _RIGHT) / max(len(records), 1)
    parts = [_text(_LEFT, 22, title, size=14), *_axis(low, high, y)]
    for i, r in enumerate(records):
        x, floor = _LEFT + (i + 0.5) * step, _HEIGHT - _BOTTOM
        size = f'width="{step * 0.6:.1f}" height="{floor - y(r.radius):.1f}"'
        parts.append(f'<rect x="{x - step * 0.3:.1f}" y="{y(r.radius):.1f}" {size} fill="#c9ced6"/>')
        point = f'cx="{x:.1f}" cy="{y(r.margin):.1f}" r="3.5" fill="{_COLOURS[r.outcome]}"'
        parts.append(f"<circle {point}><title>{_label(r)}</title></circle>")
    used = [name for name in _COLOURS if any(r.outcome == name for r in records)]
    for i, name in enumerate(used):
        parts.append(f'<circle cx="{_LEFT + 110 * i}" cy="{_HEIGHT - 12}" r="4" fill="{_COLOURS[name]}"/>')
        parts.append(_text(_LEFT + 110 * i + 8, _HEIGHT - 8, name))
    parts.append(_text(_LEFT + 110 * len(used), _HEIGHT - 8, "bar: radius, point: margin (scores)"))
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
        + "".join(parts)
        + "</svg>\n"
    )


def _axis(low: int, high: int, y: object) -> list[str]:
    assert callable(y)
    lines = []
    for power in range(low, high + 1):
        at = y(10.0**power)
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e3e6ea"/>')
        lines.append(_text(8, at + 4, f"1e{power}"))
    return lines


def _label(r: StepRecord) -> str:
    return escape(f"position {r.position}: {r.outcome}, margin {r.margin:.4g}, radius {r.radius:.4g}")


def _text(x: float, y: float, text: str, size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}">{escape(text)}</text>'
