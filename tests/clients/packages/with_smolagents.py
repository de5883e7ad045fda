"""smolagents: our tools in an agent that answers with the last result it has read.

It sends results back as words of the user, which the fake model would take for its next prompt; so its model
is one of smolagents' own kind that does what the task says.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from mcp import StdioServerParameters
from smolagents import MCPClient, ToolCallingAgent
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    Model,
)


class Scripted(Model):  # type: ignore[misc, unused-ignore]
    """Makes the calls of the newest task, one after the other, then answers with what they returned."""

    def generate(self, messages: list[Any], **options: Any) -> ChatMessage:
        texts = [(each.role, _text(each.content)) for each in messages]
        place = max(n for n, (_, text) in enumerate(texts) if text.startswith("New task:"))
        calls = [line.split(" ", 2)[1:] for line in texts[place][1].splitlines() if line.startswith("CALL ")]
        results = [text for role, text in texts[place:] if role == MessageRole.TOOL_RESPONSE]
        if len(results) < len(calls):
            name, arguments = calls[len(results)]
        else:
            name, arguments = "final_answer", json.dumps({"answer": "\n".join(results)})
        function = ChatMessageToolCallFunction(name=name, arguments=json.loads(arguments))
        call = ChatMessageToolCall(id=f"call_{len(messages)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def converse(given: dict[str, Any]) -> list[str]:
    command, *arguments = given["command"]
    server = StdioServerParameters(command=command, args=arguments, env=given["env"], cwd=given["cwd"])
    with MCPClient(server, structured_output=False) as tools:
        agent = ToolCallingAgent(tools=tools, model=Scripted(), verbosity_level=0)
        return [str(agent.run(prompt, reset=False)) for prompt in given["prompts"]]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(converse(json.loads(sys.argv[1]))) + "\n")
