"""A window with a chat: real keys, a pseudo-terminal, and a screen that tests can read."""

from __future__ import annotations

import codecs
import os
import select
import signal
import sys
import time
from collections.abc import Callable

import pexpect
import pyte

from tests.frontends.cli.commands import reads_the_same_at_start, start_on_terminal
from tests.frontends.cli.person import COMMAND, Person

INTERRUPT, END, TAB, ENTER, BACKSPACE = "\x03", "\x04", "\t", "\r", "\x7f"
LINES, COLUMNS = 40, 100


class _Chat:
    """A chat on a terminal, forked from a loaded process: loading took most of its time."""

    def __init__(
        self, person: Person, words: tuple[str, ...], size: tuple[int, int], environ: dict[str, str]
    ) -> None:
        self._screen, self._status = start_on_terminal(
            ("chat", *words), size=size, cwd=person.cwd, environ=environ, more="errands.frontends.chat.screen"
        )
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_open = True
        self.exitstatus: int | None = None

    def send(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def read_nonblocking(self, size: int, timeout: float) -> str:
        if not select.select([self._screen], [], [], timeout)[0]:
            raise pexpect.TIMEOUT("nothing new")
        try:
            return self._decoder.decode(os.read(self._screen, size))
        except OSError:  # nothing has the terminal open any more
            raise pexpect.EOF("the end") from None

    def close(self, force: bool = False) -> None:
        if not self._is_open:
            return
        self._is_open = False
        os.close(self._screen)
        with open(self._status) as status:
            pid = int(status.readline())
            if force:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.exitstatus = int(status.readline())


class Window:
    def __init__(
        self,
        person: Person,
        *words: str,
        command: list[str] | None = None,
        size: tuple[int, int] = (LINES, COLUMNS),
        **environ: str,
    ) -> None:
        lines, self._columns = size
        # Cursor position requests are not answered: it is our own screen.
        environ = {**person.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environ}
        self._child: pexpect.spawn[str] | _Chat
        if command is None and reads_the_same_at_start(environ):
            self._child = _Chat(person, words, size, environ)
        else:
            interpreter, *rest = command or COMMAND
            self._child = pexpect.spawn(
                interpreter,
                [*rest, "chat", *words],
                env=environ,
                cwd=str(person.cwd),
                dimensions=size,
                encoding="utf-8",
                timeout=60,
            )
            self._child.delaybeforesend = None
        self._screen = pyte.HistoryScreen(self._columns, lines, history=10_000, ratio=0.5)
        self._stream = pyte.Stream(self._screen)
        self._past: list[str] | None = None  # what was read last, until something else is printed
        self._display: list[str] | None = None
        self.is_closed = False

    def types(self, keys: str) -> None:
        self._child.send(keys)

    def enters(self, line: str) -> None:
        """Type a line and send it once it is visible."""
        self.types(line)
        self.shows_at_the_end(line)
        self.types(ENTER)

    @property
    def lines(self) -> list[str]:
        """All lines ever shown: first those that scrolled away, then the screen."""
        display = self._shown()
        if self._past is None:
            self._past = [
                "".join(row[column].data for column in range(self._columns)).rstrip()
                for row in self._screen.history.top
            ]
        return [*self._past, *display]

    @property
    def frame(self) -> str:
        """What the window shows now."""
        return "\n".join(self._shown()).rstrip()

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip()

    @property
    def line(self) -> str:
        """The line of the cursor."""
        return self._shown()[self._screen.cursor.y]

    def shows(self, words: str, *, times: int = 1) -> str:
        """Wait until words are shown; return the whole text."""
        self.until(lambda: self.text.count(words) >= times, f"{words!r} x {times}")
        return self.text

    def shows_at_the_end(self, words: str) -> None:
        """Wait until the line being typed ends with these words."""
        # A long line is broken, so its end is in one of the last two.
        self.until(
            lambda: words.rstrip()[-60:] in "".join(self.text.split("\n")[-2:]), f"{words!r} at the end"
        )

    def until(self, fact: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + 60
        while not fact():
            assert time.monotonic() < deadline, f"never came true: {what}; what is shown:\n{self.text}"
            time.sleep(0.01)  # a thread of ours may make it true

    def leaves(self) -> str:
        """Press Ctrl-D and wait for the end; return the whole text."""
        self.until(lambda: self.line.endswith(">"), "an empty line")
        self.types(END)
        self.until(self.has_ended, "the end")
        self._child.close()
        assert self._child.exitstatus == 0, self.text
        return self.text

    def has_ended(self) -> bool:
        self._read()
        return self.is_closed

    def close(self) -> None:
        self._child.close(force=True)

    def _shown(self) -> list[str]:
        """Return the lines of the screen; reading them takes milliseconds, and tests look again and again."""
        self._read()
        if self._display is None:
            self._display = [line.rstrip() for line in self._screen.display]
        return self._display

    def _read(self) -> None:
        try:
            while not self.is_closed:
                self._stream.feed(self._child.read_nonblocking(65536, 0.01))
                self._past = self._display = None
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            self.is_closed = True


WITHOUT_TOOLKIT = [
    sys.executable,
    "-c",
    "import sys; sys.modules['prompt_toolkit'] = None; from errands.__main__ import main; main()",
]
