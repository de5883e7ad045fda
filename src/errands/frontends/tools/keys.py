"""The keys of the live views: one table for every frontend that shows tasks on a whole screen.

`errands top` reads its keys from here, and so does its page in the documents. The same key may do one thing
in a list and another one in a question; in one place it does one thing.
"""

from __future__ import annotations

from typing import Literal

from errands.model.record import record

Place = Literal["everywhere", "list", "task", "log", "question"]

# The views in the order of their keys.
VIEWS = (
    ("now", "Now"),
    ("tasks", "Tasks"),
    ("timeline", "Timeline"),
    ("schedules", "Schedules"),
    ("lanes", "Lanes"),
)


@record
class Key:
    """`keys` do `action`; `label` is shown in the line of keys, and `help` in the list of all of them."""

    action: str
    keys: tuple[str, ...]
    place: Place
    label: str
    help: str


PLACES: dict[Place, str] = {
    "everywhere": "everywhere",
    "list": "in a list",
    "task": "on a task, or on all that are selected",
    "log": "in output",
    "question": "on a question",
}

# By place: the action, its keys, its label and its help.
_ROWS: dict[Place, tuple[tuple[str, str, str, str], ...]] = {
    "everywhere": (
        *((f"view_{name}", str(n), title, f"show {title}") for n, (name, title) in enumerate(VIEWS, 1)),
        ("down", "j down", "", "move down"),
        ("up", "k up", "", "move up"),
        ("page_down", "space pagedown", "", "move down a screen"),
        ("page_up", "b pageup", "", "move up a screen"),
        ("first", "g home", "", "go to the beginning"),
        ("last", "G end", "", "go to the end"),
        ("back", "escape", "back", "go back; in a list, remove the filter and the selection"),
        ("find", "/", "find", "filter a list, or find a text in output"),
        ("new", "o i", "new", "start a new task: a command or, after >, a prompt for an agent"),
        ("keys", "?", "keys", "list the keys"),
        ("leave", "q ctrl+c", "leave", "leave"),
    ),
    "list": (
        ("open", "enter", "open", "open the task: its output, runs, conversation, trace and question"),
        ("select", "x", "select", "select a task, or not"),
        ("select_all", "X", "", "select all tasks that match the filter, or none"),
        (
            "dismiss",
            "d",
            "seen",
            "in Now: mark what has failed so far as seen, which removes it from the list",
        ),
        ("zoom_in", "+", "", "in Timeline: show a shorter time"),
        ("zoom_out", "-", "zoom", "in Timeline: show a longer time, from 15 minutes to a week"),
        ("earlier", "<", "", "in Timeline: show the time before"),
        ("later", ">", "", "in Timeline: show the time after, up to now"),
        ("group", "l", "group", "in Timeline: one row for each lane, name or batch"),
        ("width", "=", "width", "in Lanes: set how many tasks a lane runs at once"),
    ),
    "task": (
        ("next_part", "tab right", "next", "show the next part of a task, such as its runs"),
        ("previous_part", "shift+tab left", "", "show the previous part of a task"),
        ("cancel", "c", "cancel", "cancel (asks)"),
        ("restart", "r", "restart", "run again what has ended (asks)"),
        ("resume", "u", "resume", "type a follow-up prompt for an agent that has answered"),
        ("pause", "p", "pause", "pause or unpause: what runs, what waits, a schedule"),
        ("fire", "!", "run now", "run a scheduled task now (asks)"),
        ("send", "s", "send", "send a line of input to a running task"),
        ("timeline_here", "t", "", "show the task in Timeline, among those of its name"),
        ("unfold", "enter", "", "in a conversation: show or hide a call, or open the task that it started"),
        ("earlier_month", "[", "", "in the calendar of a schedule: show the month before"),
        ("later_month", "]", "", "in the calendar of a schedule: show the month after"),
        ("clear", "D", "", "remove what has ended (asks)"),
    ),
    "log": (
        (
            "follow",
            "f",
            "follow",
            "follow new output, or stop; scrolling up stops it, the end starts it again",
        ),
        ("whole_screen", "z", "zoom", "show the output on the whole screen, or not"),
        ("wrap", "w", "wrap", "wrap long lines, or not"),
        ("next_match", "n", "", "go to the next match"),
        ("previous_match", "N", "", "go to the previous match"),
        ("next_error", "e", "error", "go to the next line that looks like an error"),
        ("previous_error", "E", "", "go to the previous line that looks like an error"),
        ("gap", "m", "", "go to where output was not kept"),
        ("earlier_run", "[", "", "show the run before"),
        ("later_run", "]", "", "show the run after"),
        ("copy", "C", "copy", "copy what is on the screen to the clipboard of the terminal"),
        ("plain", "v", "", "leave the screen and print what it shows, to copy it with the mouse"),
    ),
    "question": (
        ("approve", "y", "approve", "show the whole question; once it was seen to its end: approve"),
        (
            "approve_task",
            "t",
            "for this task",
            "approve the same for the rest of the agent's task, where that is offered",
        ),
        ("approve_always", "a", "always", "approve the same from now on, where that is offered"),
        ("reject", "n", "reject", "reject, with a note"),
    ),
}
KEYS = tuple(
    Key(action=action, keys=tuple(keys.split()), place=place, label=label, help=help)
    for place, rows in _ROWS.items()
    for action, keys, label, help in rows
)


def action_of(key: str, places: tuple[Place, ...]) -> str:
    """Return what a key does in the first of these places that has it; empty if it does nothing."""
    for place in (*places, "everywhere"):
        for each in KEYS:
            if each.place == place and key in each.keys:
                return each.action
    return ""
