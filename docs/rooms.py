"""The rooms of the house, read from the code: which imports which, and in what order they may.

``tests/house/test_architecture.py`` holds the code to the order; ``conf.py`` draws the picture.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "discreet"

#: Each room imports only rooms above it.
ORDER = (
    "errors", "studies", "system", "strict_json", "wording", "lists", "periods", "unit", "progress", "report", "tabular", "addresses", "databases", "sources", "exact", "spaces", "privacy", "mechanism",
    "channels",
    "losses", "properties", "wide_noise", "requirements", "checking", "utility", "mechanisms", "ptables", "matrix_text", "space_files", "files", "explanation", "optimise",
    "plots", "pages", "comparison", "estimation", "questions", "engines", "ledger", "datasets", "release", "verification", "collect",
    "demonstration", "web", "cli", "__main__",
)  # fmt: skip


def room_of(module: Path) -> str:
    """The room a source file belongs to: its first name below the package."""
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports() -> dict[str, set[str]]:
    """For each room, the other rooms its files import, wherever in the file they do."""
    by_room: dict[str, set[str]] = {}
    for module in sorted(SOURCE.rglob("*.py")):
        room = room_of(module)
        if room == "__init__":
            continue
        depth = len(module.relative_to(SOURCE).parts)  # how many dots lead to the package
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == depth:
                names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
                by_room.setdefault(room, set()).update(name for name in names if name != room)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet."):
                by_room.setdefault(room, set()).add((node.module or "").split(".")[1])
        by_room.setdefault(room, set())
    return by_room


def picture() -> str:
    """An SVG: a dot where the room of the row imports the room of the column. All dots lie below the diagonal."""
    needs = imports()
    rooms = [room for room in ORDER if room in needs]
    step, left, top = 26, 130, 118
    parts = []
    for k, room in enumerate(rooms):
        x, y = left + k * step, top + k * step
        parts.append(f'<text x="{left - 18}" y="{y + 5}" text-anchor="end">{room}</text>')
        parts.append(f'<text transform="translate({x + 5},{top - 18}) rotate(-60)">{room}</text>')
        parts.append(f'<path d="M{left - 12},{y} H{x}" stroke="currentColor" stroke-opacity="0.2"/>')
        parts.append(f'<path d="M{x},{top - 12} V{y}" stroke="currentColor" stroke-opacity="0.08"/>')
        for other in sorted(needs[room] & set(rooms)):
            parts.append(f'<circle cx="{left + rooms.index(other) * step}" cy="{y}" r="6" fill="#0072B2"/>')
    size = len(rooms) * step
    width, height = left + size + 60, top + size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="14" fill="currentColor">{"".join(parts)}</svg>\n'
    )
