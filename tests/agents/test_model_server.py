"""The fake model does what prompts say, in all protocols, and breaks on request."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import IncompleteRead, RemoteDisconnected
from typing import Any

import openai
import pytest

from tests.model_server import ModelServer

TOOL = {"type": "function", "function": {"name": "shell", "parameters": {}}}
PATHS = {"openai": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    return PATHS[request.param]


def ask(model: ModelServer, path: str, *messages: Any, stream: bool = False, offer: bool = True) -> Any:
    """Send a conversation; give the answer's object, or the objects of its stream."""
    said = [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]
    tools = [] if not offer else [TOOL if "chat" in path else {"name": "shell", "input_schema": {}}]
    said_as = "input" if "responses" in path else "messages"
    body = {"model": "fake", said_as: said, "stream": stream, "tools": tools}
    request = urllib.request.Request(model.url + path, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        if not stream:
            return json.load(answer)
        lines = answer.read().decode().splitlines()
    found = [line[6:] for line in lines if line.startswith("data: ")]
    return [json.loads(each) for each in found if each != "[DONE]"]


def words(answer: Any) -> str:
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"])
    if "output" in answer:
        return "".join(part["text"] for item in answer["output"] for part in item["content"])
    return "".join(block.get("text", "") for block in answer["content"])


def call(answer: Any) -> tuple[str, Any]:
    if "choices" in answer:
        (found,) = answer["choices"][0]["message"]["tool_calls"]
        return found["function"]["name"], json.loads(found["function"]["arguments"])
    if "output" in answer:
        (item,) = answer["output"]
        return item["name"], json.loads(item["arguments"])
    (block,) = answer["content"]
    return block["name"], block["input"]


def result(path: str, text: str) -> dict[str, Any]:
    if "chat" in path:
        return {"role": "tool", "tool_call_id": "c", "content": text}
    if "responses" in path:
        return {"type": "function_call_output", "call_id": "c", "output": text}
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": text}]}


def test_it_echoes_and_counts(model: ModelServer, path: str) -> None:
    assert words(ask(model, path, "hello")) == "echo 'hello' tools=1 history=1 results=[]"
    assert [asked.prompt for asked in model.asked] == ["hello"]


def test_a_stream_says_the_same(model: ModelServer, path: str) -> None:
    pieces = ask(model, path, "SAY one two", stream=True)

    if "chat" in path:
        text = "".join(each["choices"][0]["delta"].get("content", "") for each in pieces if each["choices"])
        assert pieces[-1]["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    elif "responses" in path:
        text = "".join(each["delta"] for each in pieces if each["type"] == "response.output_text.delta")
        assert [each["sequence_number"] for each in pieces] == list(range(len(pieces)))
        assert words(pieces[-1]["response"]) == text
        assert pieces[-1]["response"]["usage"]["total_tokens"] == 15
    else:
        text = "".join(
            each["delta"].get("text", "") for each in pieces if "index" in each and "delta" in each
        )
        assert pieces[-2]["usage"] == {"output_tokens": 5}
    assert text == "one two"


def test_calls_come_one_after_another(model: ModelServer, path: str) -> None:
    prompt = 'CALL shell {"command": "ls"}\nCALL shell {"command": "pwd"}\nSAY done'

    assert call(ask(model, path, prompt)) == ("shell", {"command": "ls"})
    assert call(ask(model, path, prompt, result(path, "a"))) == ("shell", {"command": "pwd"})
    assert words(ask(model, path, prompt, result(path, "a"), result(path, "b"))) == "done"


def test_a_tool_that_was_not_offered_is_not_called(model: ModelServer, path: str) -> None:
    assert words(ask(model, path, "CALL shell {}\nSAY a title", offer=False)) == "a title"


def test_it_recalls_what_stands_before_the_prompt(model: ModelServer, path: str) -> None:
    assert words(ask(model, path, "the word is plum", "RECALL plum")) == "recalled"
    assert words(ask(model, path, "the word is plum", "RECALL pear")) == "forgotten"


def test_it_recalls_all_of_it(model: ModelServer, path: str) -> None:
    prompt = 'CALL shell {"command": "ls"}'
    asked = ask(model, path, prompt)
    if "chat" in path:
        said = asked["choices"][0]["message"]
    elif "responses" in path:
        (said,) = asked["output"]
    else:
        said = {"role": "assistant", "content": asked["content"]}

    answer = words(ask(model, path, prompt, said, result(path, "plum"), "RECALL"))

    assert answer == f'{prompt}\nshell {{"command": "ls"}}\nplum'


def test_the_library_of_openai_understands_a_stream_of_responses(model: ModelServer) -> None:
    client = openai.OpenAI(base_url=model.openai_url, api_key="none", max_retries=0)
    tool: Any = {"type": "function", "name": "shell", "parameters": {}, "strict": False}
    prompt = 'CALL shell {"command": "ls"}\nSAY done'

    with client.responses.stream(model="fake", input=prompt, tools=[tool]) as stream:
        (called,) = stream.get_final_response().output
    assert called.type == "function_call"
    assert (called.name, called.arguments) == ("shell", '{"command": "ls"}')

    given: Any = {"type": "function_call_output", "call_id": called.call_id, "output": "a"}
    history: Any = [{"role": "user", "content": prompt}, called.to_dict(), given]
    with client.responses.stream(model="fake", input=history, tools=[tool]) as stream:
        assert stream.get_final_response().output_text == "done"
    client.close()


def test_its_help_says_how_to_steer_it_and_how_to_reach_it() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tests.model_server", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for words in ("CALL tool", "RECALL", "FAIL cut 2", "/v1/responses", "ANTHROPIC_BASE_URL", "--log FILE"):
        assert words in told


def test_reminders_of_a_program_are_no_prompt(model: ModelServer) -> None:
    blocks = [
        {"type": "text", "text": text} for text in ("SAY yes", "<system-reminder>SAY no</system-reminder>")
    ]

    assert words(ask(model, PATHS["anthropic"], {"role": "user", "content": blocks})) == "yes"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("refuse", RemoteDisconnected),
        ("500", urllib.error.HTTPError),
        ("429", urllib.error.HTTPError),
        ("garbage", json.JSONDecodeError),
        ("cut", IncompleteRead),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_it_fails_as_often_as_told(
    model: ModelServer, path: str, fault: str, error: type[Exception], stream: bool
) -> None:
    prompt = f"FAIL {fault} 1\nSAY fine"

    if stream and fault == "garbage":
        assert ask(model, path, prompt, stream=True) == []
    else:
        with pytest.raises(error):
            ask(model, path, prompt, stream=stream)
    assert words(ask(model, path, prompt)) == "fine"
