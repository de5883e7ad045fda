"""The screen: a terminal with an input line at the bottom, and all output above it.

Output never disturbs the input line. The unfinished last line of an answer is drawn right above it.
"""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import StdoutProxy

from errands.frontends.chat.chat_session import ChatSession
from errands.frontends.chat.commands import completions
from errands.model.errors import ErrandsError
from errands.model.text.sanitise import visible
from errands.text import Look, fitting

PAUSE = 0.03  # seconds in which output is collected, so that the input line is redrawn only once


class Screen:
    """Output above an input line; a context manager, inside which it can be written."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._unfinished = ""
        self._proxy: StdoutProxy | None = None
        self._prompt: PromptSession[str] | None = None
        self._drawn = "> "  # what the input line begins with
        self._named: tuple[str, int] | None = None  # the question that it names
        self._is_begun = False
        self._about: tuple[str, int] | None = None  # and the one it named when the person began to type

    @property
    def look(self) -> Look:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
        except OSError:
            columns = 80
        return Look(colour=self._colour, unicode=True, columns=columns)

    def lines(self, *lines: str) -> None:
        assert self._proxy is not None
        self._proxy.write("".join(f"{line}\n" for line in fitting(lines, self.look.columns)))
        self._proxy.flush()

    def unfinished(self, text: str) -> None:
        self._unfinished = text
        if self._prompt is not None:
            self._prompt.app.invalidate()

    def __enter__(self) -> Screen:
        self._proxy = StdoutProxy(sleep_between_writes=PAUSE, raw=True)
        return self

    def __exit__(self, *error: object) -> None:
        """Flush what is left."""
        if self._proxy is not None:
            self._proxy.close()

    async def talk(self, session: ChatSession, history: str) -> None:
        """Read lines until the person leaves."""
        os.close(os.open(history, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._prompt = PromptSession(
            message=lambda: self._message(session),
            history=FileHistory(history),
            completer=_Completer(session),
            complete_while_typing=False,
            key_bindings=_keys(session),
            erase_when_done=True,
        )
        self._prompt.default_buffer.on_text_changed += self._note_question
        buffer = self._prompt.default_buffer
        session.is_typing = lambda: bool(buffer.text)
        source = self._prompt.app.input
        # In cooked mode the terminal would echo keys into the middle of what is being written.
        source.cooked_mode = source.raw_mode  # type: ignore[method-assign]
        try:
            while not session.is_over:
                self._is_begun, self._about = False, None
                if session.asking:
                    _discard_typeahead(self._prompt.app.input)
                try:
                    line = await self._prompt.prompt_async()
                except EOFError:
                    break
                self.lines(self._drawn + visible(line))
                session.enter(line, self._about)
        finally:
            self._prompt = None
            session.leave()

    def _message(self, session: ChatSession) -> StyleAndTextTuples:
        above = [("", f"{self._unfinished}\n")] if self._unfinished else []
        with suppress(ErrandsError):  # the store is busy: the line stays as it is
            self._drawn, self._named = session.prompt, session.questions.oldest
        return [*above, ("bold", self._drawn)]

    def _note_question(self, buffer: Buffer) -> None:
        """Note which question a line that begins now would answer: it cannot be about a later one."""
        if not buffer.text:
            self._is_begun, self._about = False, None
        elif not self._is_begun:
            self._is_begun, self._about = True, self._named


def _discard_typeahead(source: Input) -> None:
    """Discard keys typed before the question was shown: they do not answer it."""
    clear_typeahead(source)
    with suppress(OSError, termios.error):
        termios.tcflush(source.fileno(), termios.TCIFLUSH)


class _Completer(Completer):
    def __init__(self, session: ChatSession) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        line = document.text_before_cursor.lstrip()
        last = line.rpartition(" ")[2]
        for name, about in completions(self._session, line):
            yield Completion(name, start_position=-len(last), display_meta=about)


def _keys(session: ChatSession) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def interrupt(event: KeyPressEvent) -> None:
        """Interrupt the answer; without one, clear the line, as a shell does."""
        if not session.interrupt():
            event.current_buffer.reset()

    return keys
