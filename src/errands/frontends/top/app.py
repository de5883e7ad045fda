"""The application: the screen and the keyboard."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from errands.engine.engine import Engine
from errands.engine.fleet.host_watch import HostWatch
from errands.frontends.top.keyboard import Keyboard
from errands.frontends.top.screen import TopScreen
from errands.frontends.top.task.conversation_view import ConversationView
from errands.text import Look


class TopApp(TopScreen):
    def __init__(self, engine: Engine, *, look: Look, hosts: HostWatch) -> None:
        super().__init__(engine, look=look, hosts=hosts)
        self._keyboard = Keyboard(self)

    def offered(self) -> list[str]:
        return self._keyboard.offered()

    def on_key(self, event: events.Key) -> None:
        if self._keyboard.press(event.character, event.key):
            event.stop()
            event.prevent_default()

    def on_rows_opened(self) -> None:
        self._keyboard.do("open")

    def on_conversation_view_opened(self, event: ConversationView.Opened) -> None:
        assert self.task_view.subject is not None
        self.trail.append(self.task_view.subject.id)
        self.open_task(event.task_id)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._keyboard.entered(event.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._keyboard.typing(event.value)
