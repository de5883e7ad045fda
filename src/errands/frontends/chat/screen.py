"""The screen: a terminal with a line to type at, and everything else above it.

The line stays where it is whatever comes: what is written goes above it, and the answer that is being given
stands right over it until a line of it is whole.
"""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import StdoutProxy

from errands.frontends.chat.chat_session import ChatSession
from errands.frontends.chat.commands import fitting
from errands.model.text.sanitise import visible
from errands.text import Look

PROMPT, QUESTION = "> ", "Start it? [y/N] "
PAUSE = 0.03  # seconds in which what is written is gathered, so that the line is drawn anew only once


class Screen:
    """Paper above a line; `with` it, lines can be written."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._unfinished = ""
        self._proxy: StdoutProxy | None = None
        self._session: PromptSession[str] | None = None

    @property
    def look(self) -> Look:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
        except OSError:
            columns = 80
        return Look(colour=self._colour, unicode=True, columns=columns)

    def lines(self, *lines: str) -> None:
        assert self._proxy is not None
        self._proxy.write("".join(f"{line}\n" for line in lines))
        self._proxy.flush()

    def unfinished(self, words: str) -> None:
        self._unfinished = words
        if self._session is not None:
            self._session.app.invalidate()

    def __enter__(self) -> Screen:
        self._proxy = StdoutProxy(sleep_between_writes=PAUSE, raw=True)
        return self

    def __exit__(self, *error: object) -> None:
        """Write what is left; nothing is written any more after that."""
        if self._proxy is not None:
            self._proxy.close()

    async def talk(self, room: ChatSession, history: str) -> None:
        """Read lines until the person leaves."""
        os.close(os.open(history, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._session = PromptSession(
            message=lambda: self._message(room),
            history=FileHistory(history),
            completer=_Names(room),
            complete_while_typing=False,
            key_bindings=_keys(room),
            erase_when_done=True,
        )
        source = self._session.app.input
        # While something is written the terminal would echo what is typed, into the midst of it.
        source.cooked_mode = source.raw_mode  # type: ignore[method-assign]
        try:
            while not room.is_over:
                prompt = QUESTION if room.asking else PROMPT
                if room.asking:
                    _throw_away(self._session.app.input)
                try:
                    line = await self._session.prompt_async()
                except EOFError:
                    break
                self.lines(prompt + visible(line))
                room.enter(line)
        finally:
            self._session = None
            room.leave()

    def _message(self, room: ChatSession) -> StyleAndTextTuples:
        above = [("", f"{self._unfinished}\n")] if self._unfinished else []
        return [*above, ("bold", QUESTION if room.asking else PROMPT)]


def _throw_away(source: Input) -> None:
    """Forget what was typed before a question was there: it is no answer to it."""
    clear_typeahead(source)
    with suppress(OSError, termios.error):
        termios.tcflush(source.fileno(), termios.TCIFLUSH)


class _Names(Completer):
    def __init__(self, room: ChatSession) -> None:
        self._room = room

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        line = document.text_before_cursor.lstrip()
        last = line.rpartition(" ")[2]
        for name, about in fitting(self._room, line):
            yield Completion(name, start_position=-len(last), display_meta=about)


def _keys(room: ChatSession) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def interrupt(event: KeyPressEvent) -> None:
        """Stop the answer; when there is none, throw the line away, as a shell does."""
        if not room.interrupt():
            event.current_buffer.reset()

    return keys
