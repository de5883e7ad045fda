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

KEYS: tuple[Key, ...] = (
    *(
        Key(
            action=f"view_{name}",
            keys=(str(number),),
            place="everywhere",
            label=title,
            help=f"show {title}",
        )
        for number, (name, title) in enumerate(VIEWS, start=1)
    ),
    Key(action="down", keys=("j", "down"), place="everywhere", label="", help="move down"),
    Key(action="up", keys=("k", "up"), place="everywhere", label="", help="move up"),
    Key(
        action="page_down",
        keys=("space", "pagedown"),
        place="everywhere",
        label="",
        help="move down a screen",
    ),
    Key(action="page_up", keys=("b", "pageup"), place="everywhere", label="", help="move up a screen"),
    Key(action="first", keys=("g", "home"), place="everywhere", label="", help="go to the beginning"),
    Key(action="last", keys=("G", "end"), place="everywhere", label="", help="go to the end"),
    Key(
        action="open",
        keys=("enter",),
        place="list",
        label="open",
        help="open the task: its output, runs, conversation, trace and question",
    ),
    Key(
        action="back",
        keys=("escape",),
        place="everywhere",
        label="back",
        help="go back; in a list, remove the filter and the selection",
    ),
    Key(
        action="next_part",
        keys=("tab", "right"),
        place="task",
        label="next",
        help="show the next part of a task, such as its runs",
    ),
    Key(
        action="previous_part",
        keys=("shift+tab", "left"),
        place="task",
        label="",
        help="show the previous part of a task",
    ),
    Key(
        action="find",
        keys=("/",),
        place="everywhere",
        label="find",
        help="filter a list, or find a text in output",
    ),
    Key(
        action="new",
        keys=("o", "i"),
        place="everywhere",
        label="new",
        help="start a new task: a command or, after >, a prompt for an agent",
    ),
    Key(action="select", keys=("x",), place="list", label="select", help="select a task, or not"),
    Key(
        action="select_all",
        keys=("X",),
        place="list",
        label="",
        help="select all tasks that match the filter, or none",
    ),
    Key(
        action="dismiss",
        keys=("d",),
        place="list",
        label="seen",
        help="in Now: remove from the list what has failed so far",
    ),
    Key(
        action="zoom_in",
        keys=("+",),
        place="list",
        label="",
        help="in Timeline: show a shorter time",
    ),
    Key(
        action="zoom_out",
        keys=("-",),
        place="list",
        label="zoom",
        help="in Timeline: show a longer time, from 15 minutes to a week",
    ),
    Key(
        action="earlier",
        keys=("<",),
        place="list",
        label="",
        help="in Timeline: show the time before",
    ),
    Key(
        action="later",
        keys=(">",),
        place="list",
        label="",
        help="in Timeline: show the time after, up to now",
    ),
    Key(
        action="group",
        keys=("l",),
        place="list",
        label="group",
        help="in Timeline: one row for each lane, name or batch",
    ),
    Key(
        action="width",
        keys=("=",),
        place="list",
        label="width",
        help="in Lanes: set how many tasks a lane runs at once",
    ),
    Key(
        action="approve",
        keys=("y",),
        place="question",
        label="approve",
        help="show the whole question; once it was seen to its end: approve",
    ),
    Key(
        action="approve_task",
        keys=("t",),
        place="question",
        label="for this task",
        help="approve the same for the rest of the agent's task, where that is offered",
    ),
    Key(
        action="approve_always",
        keys=("a",),
        place="question",
        label="always",
        help="approve the same from now on, where that is offered",
    ),
    Key(action="reject", keys=("n",), place="question", label="reject", help="reject, with a note"),
    Key(action="cancel", keys=("c",), place="task", label="cancel", help="cancel (asks)"),
    Key(action="restart", keys=("r",), place="task", label="restart", help="run again what has ended (asks)"),
    Key(
        action="resume",
        keys=("u",),
        place="task",
        label="resume",
        help="type a follow-up prompt for an agent that has answered",
    ),
    Key(
        action="pause",
        keys=("p",),
        place="task",
        label="pause",
        help="pause or unpause: what runs, what waits, a schedule",
    ),
    Key(action="fire", keys=("!",), place="task", label="run now", help="run a scheduled task now (asks)"),
    Key(
        action="send", keys=("s",), place="task", label="send", help="send a line of input to a running task"
    ),
    Key(
        action="timeline_here",
        keys=("t",),
        place="task",
        label="",
        help="show the task in Timeline, among those of its name",
    ),
    Key(
        action="unfold",
        keys=("enter",),
        place="task",
        label="",
        help="in a conversation: show or hide a call, or open the task that it started",
    ),
    Key(
        action="earlier_month",
        keys=("[",),
        place="task",
        label="",
        help="in the calendar of a schedule: show the month before",
    ),
    Key(
        action="later_month",
        keys=("]",),
        place="task",
        label="",
        help="in the calendar of a schedule: show the month after",
    ),
    Key(action="clear", keys=("D",), place="task", label="", help="remove what has ended (asks)"),
    Key(
        action="follow",
        keys=("f",),
        place="log",
        label="follow",
        help="follow new output, or stop; scrolling up stops it, the end starts it again",
    ),
    Key(
        action="whole_screen",
        keys=("z",),
        place="log",
        label="zoom",
        help="show the output on the whole screen, or not",
    ),
    Key(action="wrap", keys=("w",), place="log", label="wrap", help="wrap long lines, or not"),
    Key(action="next_match", keys=("n",), place="log", label="", help="go to the next match"),
    Key(action="previous_match", keys=("N",), place="log", label="", help="go to the previous match"),
    Key(
        action="next_error",
        keys=("e",),
        place="log",
        label="error",
        help="go to the next line that looks like an error",
    ),
    Key(
        action="previous_error",
        keys=("E",),
        place="log",
        label="",
        help="go to the previous line that looks like an error",
    ),
    Key(action="gap", keys=("m",), place="log", label="", help="go to where output was not kept"),
    Key(action="earlier_run", keys=("[",), place="log", label="", help="show the run before"),
    Key(action="later_run", keys=("]",), place="log", label="", help="show the run after"),
    Key(
        action="copy",
        keys=("C",),
        place="log",
        label="copy",
        help="copy what is on the screen to the clipboard of the terminal",
    ),
    Key(
        action="plain",
        keys=("v",),
        place="log",
        label="",
        help="leave the screen and print what it shows, to copy it with the mouse",
    ),
    Key(action="keys", keys=("?",), place="everywhere", label="keys", help="list the keys"),
    Key(action="leave", keys=("q", "ctrl+c"), place="everywhere", label="leave", help="leave"),
)


def action_of(key: str, places: tuple[Place, ...]) -> str:
    """Return what a key does in the first of these places that has it; empty if it does nothing."""
    for place in (*places, "everywhere"):
        for each in KEYS:
            if each.place == place and key in each.keys:
                return each.action
    return ""
