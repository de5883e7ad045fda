"""CrewAI: our server in the configuration of an agent, which CrewAI starts and whose tools it offers."""

from __future__ import annotations

import json
import sys
from typing import Any

from crewai import LLM, Agent, Crew, Task
from crewai.mcp import MCPServerStdio


def converse(given: dict[str, Any]) -> list[str]:
    command, *arguments = given["command"]
    server = MCPServerStdio(command=command, args=arguments, env=given["env"])
    model = LLM(model="openai/fake", base_url=given["model"], api_key="none")
    answers = []
    for prompt in given["prompts"]:
        agent = Agent(role="tester", goal="test", backstory="-", llm=model, mcps=[server])
        # A line of its own, because CrewAI writes words of its own before it.
        task = Task(description=f"Do this.\n{prompt}\n", expected_output="the result", agent=agent)
        answers.append(str(Crew(agents=[agent], tasks=[task]).kickoff()))
    return answers


if __name__ == "__main__":
    sys.stdout.write(json.dumps(converse(json.loads(sys.argv[1]))) + "\n")
