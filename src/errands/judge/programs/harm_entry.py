"""A harm: what a well-known program changes, in words for a question."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.verdict import Undo


@record
class Harm:
    """What a program does; `{}` in the text is replaced by the operands, or by `nothing` without any.

    `when` lists options or operands of which one must be given (`-r` also in a bundle such as `-rf`), `()`
    for no operands. Of several harms of one program the first that applies is reported.
    """

    text: str
    kind: str
    undo: Undo
    when: str
    nothing: str


def does(
    text: str, kind: str, undo: Undo = "unknown", *, when: str = "", nothing: str = "(nothing named)"
) -> Harm:
    """Describe a harm."""
    return Harm(text=text, kind=kind, undo=undo, when=when, nothing=nothing)


def each(names: str, *harms: Harm) -> dict[str, tuple[Harm, ...]]:
    """Give these programs the same harms."""
    return dict.fromkeys(names.split(), harms)


def uses(programs: str, names: str, *harms: Harm) -> dict[str, tuple[Harm, ...]]:
    """Give uses of programs, such as subcommands, the same harms."""
    return {f"{program} {name}": harms for program in programs.split() for name in names.split()}
