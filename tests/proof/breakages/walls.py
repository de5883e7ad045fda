"""Breakages of who may approve, and of the walls around runs (A8, A13)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "A13",
        "work that nobody approved runs without its sandbox",
        file="engine/daemon/launch.py",
        old="            if is_contained(task):\n",
        new="            if is_contained(task) and False:\n",
        test="engine/walls/test_contained.py",
    ),
    Breakage(
        "A13",
        "a sandbox has the network of the host",
        file="engine/walls/sandbox.py",
        old='(() if sandbox.network else ("--unshare-net",))',
        new="()",
        test="engine/walls/test_contained.py",
    ),
    Breakage(
        "A8",
        "a run approves what it proposes to a server that listens outside",
        file="frontends/mcp/frontend.py",
        old="return client.peer is None or not is_inside_a_run(*client.peer)",
        new="return True",
        test="frontends/mcp/test_http.py",
    ),
    Breakage(
        "A8",
        "an ancestor that ends while it is looked at hides the ones above it",
        file="engine/actor.py",
        old="        if pid == 0 and all(",
        new="        if pid < 0 or all(",
        test="engine/approval/test_inside.py::test_if_its_parent_ends_while_it_is_looked_at",
    ),
    Breakage(
        "A8",
        "a process in a new namespace of process numbers can approve",
        file="engine/approval/approve.py",
        old="    if core.bell.is_out_of_sight():",
        new="    if False:",
        test="engine/approval/test_inside.py::test_in_a_namespace_of_its_own",
    ),
    Breakage(
        "A8",
        "a watched command can approve",
        file="engine/actor.py",
        old='    b"/errands/runners/shim/watch_shim.py\\0",\n',
        new="",
        test="sources/test_commands.py::test_a_watched_command_cannot_approve_anything",
    ),
    Breakage(
        "A13",
        "a watched command that only reads can write",
        file="engine/triggers/source_context.py",
        old='self._engine.home.scratch if read_only else ""',
        new='""',
        test="sources/test_commands.py::test_a_watched_command_that_only_reads_is_held_to_that",
    ),
    Breakage(
        "A8",
        "a process inside a run can approve",
        file="engine/approval/approve.py",
        old="    if _enclosing[0]:\n",
        new="    if False:\n",
        test="engine/approval/test_consent.py::test_consent_is_refused_inside_a_run",
    ),
    Breakage(
        "A13",
        "a command that only reads starts without walls",
        file="engine/daemon/launch.py",
        old="read_only=read_only,",
        new="read_only=False,",
        test="engine/walls/test_walls_alone.py",
    ),
    Breakage(
        "A13",
        "sockets are not refused",
        file="runners/system/read_only_filter.py",
        old="        (_SOCKETS, errno.EACCES),\n",
        new="",
        test="runners/test_read_only.py",
    ),
    Breakage(
        "A13",
        "the thread that starts commands can be read by them",
        file="runners/system/landlock.py",
        old="(_SET_DUMPABLE, 0, 0, 0, 0)",
        new="(_SET_DUMPABLE, 1, 0, 0, 0)",
        test="runners/test_read_only.py",
    ),
]
