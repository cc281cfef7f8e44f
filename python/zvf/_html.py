"""The HTML representation of a store in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._store import Level, Store

WIDTH = 320
"""Width of the picture, in pixels."""
DOTS = 4_000
"""Most vertices that are drawn."""
READ = 100_000
"""Most vertices that are read for the picture; larger levels are not drawn."""


def page(store: Store) -> str:
    """A table of facts, and a picture if a level is small enough."""
    info = store.info
    units = sorted({axis["unit"] for axis in info["axes"] if axis["unit"]})
    low, high = store.bounds
    corners = ", ".join(
        f"{name} {a:g} to {b:g}" for name, a, b in zip(store.axes, low, high, strict=True)
    )
    facts = {
        "kind": f"{info['kind']}, format {info['version']}",
        "bounds": corners + (f" ({', '.join(units)})" if units else ""),
        "chunk": " × ".join(f"{size:g}" for size in info["chunk_shape"]),
    }
    for level in store.levels:
        facts[f"level {level.number}"] = _level(level)
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in facts.items()
    )
    return f"<div><b>{escape(store.url)}</b><table>{rows}</table>{_picture(store)}</div>"


def _level(level: Level) -> str:
    parts = [f"{level.vertices:,} vertices in {level.chunks:,} chunks"]
    if level.objects is not None:
        parts.append(f"{level.objects:,} objects")
    if level.vertex_attributes:
        parts.append("attributes " + ", ".join(level.vertex_attributes))
    if level.object_attributes:
        parts.append("of objects " + ", ".join(level.object_attributes))
    if level.groups:
        parts.append(f"{len(level.groups)} groups")
    return "; ".join(parts)


def _picture(store: Store) -> str:
    """The vertices of the finest level that is small enough, as dots, along the two axes with the largest extent."""
    import numpy as np

    small = [level.number for level in store.levels if 0 < level.vertices <= READ]
    if not small:
        return ""
    places = store.query(level=min(small), columns=["position"]).to_numpy()["position"].astype(np.float64)
    places = places[np.isfinite(places).all(axis=1)]
    places = places[:: max(1, -(-len(places) // DOTS))]
    if len(places) == 0 or places.shape[1] < 2:
        return ""
    spans = np.ptp(places, axis=0)
    across, up = sorted(np.argsort(spans, kind="stable")[-2:].tolist())
    scale = (WIDTH - 4) / max(float(spans[across]), float(spans[up]), 1e-300)
    height = int(spans[up] * scale) + 4
    x = ((places[:, across] - places[:, across].min()) * scale + 2).round(1)
    y = (height - 2 - (places[:, up] - places[:, up].min()) * scale).round(1)
    dots = "".join(f"M{a:g} {b:g}h1" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    axes = store.axes
    return (
        f"<svg width='{WIDTH}' height='{height}' role='img'><title>level {min(small)}, "
        f"{escape(axes[across])} to the right, {escape(axes[up])} up</title>"
        f"<path d='{dots}' stroke='currentColor' fill='none'/></svg>"
    )
