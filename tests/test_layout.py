"""The layout of the source: folders that fit in the head, and no circular imports."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "errands"
MOST_MODULES = 16
# One file per program, per verb or per port: a list, not a subject to hold in the head.
SHELVES = {"programs", "verbs", "contracts"}


def module_name(place: Path) -> str:
    return ".".join(("errands", *place.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_name(place): place for place in SOURCE.rglob("*.py")}


def imports_of(name: str) -> Iterator[str]:
    """Name the modules of ours that a module imports: lazily and for typing alone count, too."""
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        match node:
            case ast.Import(names=aliases):
                candidates = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), names=aliases, level=0):
                candidates = [module, *(f"{module}.{alias.name}" for alias in aliases)]
            case _:
                continue
        for each in candidates:
            # Inside a package, `from errands.engine import waiting` is about the module.
            is_own_package = MODULES.get(each, Path()).name == "__init__.py" and name.startswith(f"{each}.")
            if each in MODULES and each != name and not is_own_package:
                yield each


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in edges[name]:
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in edges:
        if name not in order:
            visit(name)
    return found


def test_modules_never_import_each_other_in_a_circle() -> None:
    assert circles({name: set(imports_of(name)) for name in MODULES}) == []


def test_a_circle_is_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}

    assert circles(edges) == [["a", "b", "c"]]


def test_a_folder_has_few_enough_modules_to_hold_in_the_head() -> None:
    modules = Counter(place.parent for place in MODULES.values() if place.name != "__init__.py")
    crowded = {folder.name: count for folder, count in modules.items() if count > MOST_MODULES}

    assert {name: count for name, count in crowded.items() if name not in SHELVES} == {}
