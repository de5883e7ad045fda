"""The agent stream: writes an answer as it arrives, with secrets and control characters removed."""

from __future__ import annotations

from errands.engine.agents.speech import Said
from errands.frontends.chat.output import Output
from errands.model.text.mask import Mask
from errands.model.text.sanitise import Stream, line
from errands.text import clip, width

LONGEST_CALL = 200  # characters shown of a tool call


class AgentStream:
    """One answer, from its first piece to its end."""

    def __init__(self, output: Output, mask: Mask) -> None:
        self._output = output
        self._mask = mask
        self._block = ""  # the text since the last tool call, as it arrived
        self._begin()

    def write(self, said: Said) -> None:
        match said.kind:
            case "piece":
                self._block += said.text
                self._feed(said.text)
            case "text":
                if not self._block:
                    self._feed(said.text)
                self._block = said.text
                self._end()
            case "tool":
                self._tool_call(f"[{said.name}] {said.text}")
            case "tool_end" if said.failed:
                self._tool_call(f"[{said.name} failed] {said.text}")

    def finish(self, answer: str) -> None:
        """Write the part of the answer that was not streamed."""
        self._feed(answer.removeprefix(self._block) if self._block else answer)
        self._end()

    def _begin(self) -> None:
        self._clean, self._masked, self._line = Stream(), self._mask.stream(), ""

    def _tool_call(self, text: str) -> None:
        self._end()
        self._block = ""
        look = self._output.look
        shown = clip(line(self._mask.text(text)).rstrip(), min(LONGEST_CALL, max(look.columns - 1, 20)))
        self._output.lines(look.paint(shown, "dim"))

    def _feed(self, text: str) -> None:
        self._add(self._masked.feed(self._clean.feed(text)))

    def _end(self) -> None:
        self._add(self._masked.feed(self._clean.close()) + self._masked.close())
        if self._line.strip():
            self._output.lines(self._line.rstrip())
        self._begin()
        self._output.unfinished("")

    def _add(self, text: str) -> None:
        *whole, self._line = (self._line + text).split("\n")
        if whole:
            self._output.lines(*whole)
        # A line wider than the terminal would be cut off above the input line, so it is broken here.
        wide = max(self._output.look.columns - 1, 20)
        while width(self._line) > wide:
            head, tail = _break(self._line, wide)
            self._output.lines(head)
            self._line = tail
        self._output.unfinished(self._line)


def _break(text: str, wide: int) -> tuple[str, str]:
    head = clip(text, wide, mark="")
    place = head.rfind(" ")
    if place > wide // 2:
        return text[:place], text[place + 1 :]
    return head, text[len(head) :]
