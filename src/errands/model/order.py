"""The order of tasks that wait for each other."""

from __future__ import annotations

from errands.model.errors import Cycle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def ordered(after: Mapping[str, Sequence[str]]) -> list[str]:
    """Put names in an order in which each follows all it waits for; a circle is refused and shown.

    Names that are waited for but not in the mapping stand outside it and are left out.
    """
    done: list[str] = []
    settled: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            raise Cycle(f"these tasks wait for each other: {circle}; remove one `after` of the circle")
        if name in settled or name not in after:
            return
        for other in after[name]:
            visit(other, (*path, name))
        settled.add(name)
        done.append(name)

    for name in after:
        visit(name, ())
    return done
