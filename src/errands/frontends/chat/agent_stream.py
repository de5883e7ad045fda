"""Speaking: what an agent says, put on paper as it comes; secrets masked, nothing that drives a terminal."""

from __future__ import annotations

from errands.engine.agents.speech import Said
from errands.frontends.chat.output import Output
from errands.model.text.mask import Mask
from errands.model.text.sanitise import Stream, line
from errands.text import clip, width

LONGEST_CALL = 200  # characters that are shown of a tool call


class AgentStream:
    """One answer, from its first piece to its end."""

    def __init__(self, paper: Output, mask: Mask) -> None:
        self._paper = paper
        self._mask = mask
        self._block = ""  # what was said since the last call, as it came
        self._begin()

    def hear(self, said: Said) -> None:
        match said.kind:
            case "piece":
                self._block += said.text
                self._write(said.text)
            case "text":
                if not self._block:
                    self._write(said.text)
                self._block = said.text
                self._end()
            case "tool":
                self._call(f"[{said.name}] {said.text}")
            case "tool_end" if said.failed:
                self._call(f"[{said.name} failed] {said.text}")

    def finish(self, answer: str) -> None:
        """Write what was not said yet of an answer."""
        self._write(answer.removeprefix(self._block) if self._block else answer)
        self._end()

    def _begin(self) -> None:
        self._clean, self._hidden, self._line = Stream(), self._mask.stream(), ""

    def _call(self, words: str) -> None:
        self._end()
        self._block = ""
        look = self._paper.look
        shown = clip(line(self._mask.text(words)).rstrip(), min(LONGEST_CALL, max(look.columns - 1, 20)))
        self._paper.lines(look.paint(shown, "dim"))

    def _write(self, words: str) -> None:
        self._add(self._hidden.feed(self._clean.feed(words)))

    def _end(self) -> None:
        self._add(self._hidden.feed(self._clean.close()) + self._hidden.close())
        if self._line.strip():
            self._paper.lines(self._line.rstrip())
        self._begin()
        self._paper.unfinished("")

    def _add(self, words: str) -> None:
        *whole, self._line = (self._line + words).split("\n")
        if whole:
            self._paper.lines(*whole)
        # A line as long as the terminal is wide would be cut off below: it is broken, as the terminal would.
        wide = max(self._paper.look.columns - 1, 20)
        while width(self._line) > wide:
            head, tail = _broken(self._line, wide)
            self._paper.lines(head)
            self._line = tail
        self._paper.unfinished(self._line)


def _broken(words: str, wide: int) -> tuple[str, str]:
    head = clip(words, wide, mark="")
    place = head.rfind(" ")
    if place > wide // 2:
        return words[:place], words[place + 1 :]
    return head, words[len(head) :]
