"""What an agent does, and what its tools start, is one tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.model.span import executing
from tests.engine.agent_project import Project
from tests.engine.daemons import Daemons, finished


@pytest.mark.spec("X10")
def test_a_shell_task_that_an_agent_started_stands_below_the_tool_call(
    client: Engine, daemons: Daemons, own_home: Path, tmp_path: Path
) -> None:
    project = Project(tmp_path / "project", Path(f"{own_home}-config"))
    Path(project.path, "deed").write_text("#!/bin/sh\necho $TRACEPARENT\n")
    daemons.start()
    asked = client.submit(Draft(prompt="Please run `./deed a`", agent="offline", cwd=project.path))
    view = finished(client, asked.id)
    assert view.state == "completed", view.latest.error
    spans = client.tracing.tree(asked.id)
    start, execute, agent, tool, child, inside = spans

    assert [span.name for span in spans] == [
        "background_task_start",
        "background_task_execute",
        "invoke_agent offline",
        "execute_tool command",
        "background_task_start",
        "background_task_execute",
    ]
    assert {span.place.trace_id for span in spans} == {start.place.trace_id}
    parents = [span.parent_id for span in spans[1:]]
    assert parents == [span.place.span_id for span in (start, execute, agent, tool, child)]
    assert inside.place.traceparent in (view.agent.answer or "" if view.agent else "")
    assert executing(view.latest, None) == execute.place
    assert client.tracing.tree(str(inside.attributes["task.id"])) == spans
