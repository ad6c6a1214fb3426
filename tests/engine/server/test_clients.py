"""Requests as programs send them: they are taken, and what of them is not done is told."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.chat import render
from engine.chat.reply_grammar import GrammarRequest, open_grammar
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.events import Finished, GenerationResult
from engine.library.names import bundled_pair
from engine.messages.parts import ToolCall
from engine.server.guard import CONTAINER_HOSTS, Limits
from engine.server.interfaces.form import ReplyContext
from engine.server.interfaces.ollama import OllamaForm
from engine.server.interfaces.responses import ResponsesForm
from engine.server.interfaces.tools import read_tools
from engine.server.interfaces.unsupported import NotDone, tidied
from engine.server.kept_responses import KeptResponses
from engine.server.registry import ModelRegistry
from engine.stats import GenerationStats
from helpers.decoding.serving import NAME, asked, posted, served
from helpers.models.calling import HERMES, write_calling_demo
from helpers.models.pairs import open_files
from helpers.models.published import FOLDER, QWEN, SMOL

CHAT, TEXT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
QUESTION: list[dict[str, Any]] = [{"role": "user", "content": "Tell me a story about a fox."}]
CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "weather", "description": "Weather", "parameters": CITY}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
]
PATCH = {"type": "custom", "name": "patch", "description": "Change", "format": {"type": "text"}}
CUT_OFF = '{"city": "Par'


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpeculativeDecoder]:
    path = write_calling_demo(tmp_path_factory.mktemp("calling") / "calling.gguf")
    with open_files(path, bundled_pair()[1]) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def url(decoder: SpeculativeDecoder) -> Iterator[str]:
    with served(decoder, Limits()) as address:
        assert posted(address, TEXT, {"prompt": "a", "max_tokens": 1})[0] == 200
        start_question_threads(address)
        yield address


def start_question_threads(address: str) -> None:
    """Ask so much at once that every thread that answers questions is there."""
    with ThreadPoolExecutor(8) as asking:
        long = {"content": "a fox and " * 2000}
        assert {told[0] for told in asking.map(lambda _: posted(address, "/tokenize", long), range(16))} == {200}


@pytest.fixture
def parser() -> None:
    render.keep_warm(posted)
    try:
        if open_grammar(GrammarRequest(HERMES)) is None:
            pytest.skip("llama.cpp was compiled without the door")
    finally:
        render.release(posted)


def told(url: str, path: str, body: object) -> tuple[Any, str]:
    """The answer to a request that is taken, and what was left out of it."""
    response = httpx.post(url + path, json=body, timeout=60)
    assert response.status_code == 200, response.text
    return response.json(), response.headers.get("outrider-left-out", "")


def content(answer: Any) -> str:
    return str(answer["choices"][0]["message"]["content"])


def test_values_of_other_servers_mean_what_they_mean_there(url: str) -> None:
    plain = content(posted(url, CHAT, {"messages": QUESTION, "max_tokens": 8})[1])
    same: dict[str, Any] = {"max_tokens": 8.0, "seed": -1, "top_k": -1, "stop": "", "min_p": -1, "repeat_penalty": 0}
    same |= {"top_p": 1.5, "n_probs": 0}
    for name, value in (*same.items(), ("stop", [""]), ("n_predict", 8), ("typical_p", 1), ("response_format", {})):
        body = {"messages": QUESTION, "max_tokens": 8} | {name: value}
        status, answer = posted(url, CHAT, body)
        assert (status, content(answer)) == (200, plain), name
    unlimited = posted(url, CHAT, {"messages": QUESTION, "max_tokens": -1})[1]
    assert unlimited["choices"][0]["finish_reason"] == "stop"
    assert content(unlimited).startswith(plain)
    assert posted(url, CHAT, {"messages": QUESTION, "max_tokens": 2, "temperature": 1, "seed": -7})[0] == 200
    assert tidied({"top_p": 0, "repeat_last_n": -1})["penalty_window"] == 0


def test_what_llama_cpp_takes_is_taken(url: str) -> None:
    """Found by asking its server the same: a default, a role, a null, and other ways to say a prompt or a number."""
    whole = posted(url, MESSAGES, {"messages": QUESTION})[1]
    assert (whole["stop_reason"], bool(whole["content"])) == ("end_turn", True)
    odd: list[dict[str, Any]] = [*QUESTION, {"role": "tool", "content": "x"}, {"role": "user", "content": None}]
    assert posted(url, MESSAGES, {"messages": odd, "max_tokens": 1})[0] == 200
    plain = posted(url, TEXT, {"prompt": "Hello", "max_tokens": 4})[1]["choices"][0]["text"]
    for body in ({"prompt": {"prompt_string": "Hello"}}, {"prompt": "Hello", "best_of": 3}):
        assert posted(url, TEXT, {**body, "max_tokens": 4})[1]["choices"][0]["text"] == plain
    assert "best_of" in told(url, TEXT, {"prompt": "Hello", "best_of": 3, "max_tokens": 1})[1]
    for name in ("n_probs", "logprobs"):
        told_of = posted(url, CHAT, {"messages": QUESTION, "max_tokens": 1, name: 3})[1]
        assert len(told_of["choices"][0]["logprobs"]["content"][0]["top_logprobs"]) == 3


JUMP = {"type": "function", "function": {"name": "jump"}}
TAKEN: list[tuple[str, dict[str, Any], str]] = [
    (CHAT, {"temperature": -1}, "temperature -1: taken as 0"),
    (CHAT, {"temperature": 1e9, "seed": 1}, "taken as 100"),
    (CHAT, {"presence_penalty": -500, "frequency_penalty": 101}, "frequency_penalty 101: taken as 100"),
    (CHAT, {"repeat_penalty": -3, "typical_p": 2, "top_k": -9, "top_n_sigma": 400}, "repeat_penalty -3: taken as 1"),
    (CHAT, {"top_k": 4.5, "max_tokens": 1.5}, ""),
    (CHAT, {"stop": 3}, "stop: it is no text"),
    (CHAT, {"logit_bias": [[5, 1.5], ["the", False], [10**8, 1], [1]]}, "logit_bias: what is no token"),
    (CHAT, {"logit_bias": "x"}, "logit_bias"),
    (CHAT, {"response_format": {"type": "json_schema"}, "max_tokens": 3}, ""),
    (CHAT, {"response_format": "json"}, "response_format: it has no type"),
    (CHAT, {"reasoning_effort": "much"}, "reasoning_effort much: known are none"),
    (CHAT, {"reasoning_effort": 3}, "reasoning_effort 3"),
    (CHAT, {"chat_template_kwargs": [1]}, "chat_template_kwargs: it is no object"),
    (CHAT, {"grammar": 5}, "grammar: it is no text"),
    (CHAT, {"model": 5}, "model: it is no name"),
    (CHAT, {"tool_choice": "required"}, "tool_choice required: the functions are none"),
    (CHAT, {"tools": TOOLS, "tool_choice": JUMP}, "tool_choice jump: the functions are weather, now"),
    (CHAT, {"tools": TOOLS, "tool_choice": {"type": "web_search"}}, "tool_choice web_search: it names no function"),
    (CHAT, {"tools": TOOLS, "tool_choice": 3}, "tool_choice 3"),
    (CHAT, {"samplers": ["top_k"], "xtc_probability": 2, "dry_base": 0, "lora": []}, "xtc_probability"),
    (RESPONSES, {"background": True}, "background"),
    (RESPONSES, {"instructions": 5}, "instructions: they are no text"),
    (RESPONSES, {"reasoning": {"effort": "much"}}, "reasoning_effort much"),
    (RESPONSES, {"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice required"),
    (MESSAGES, {"tool_choice": {"type": "any"}}, "tool_choice required"),
    (MESSAGES, {"output_config": {"effort": "much"}}, "reasoning_effort much"),
]


def test_what_llama_cpp_does_not_refuse_is_taken_and_told(url: str) -> None:
    """Read in the source of its server: numbers are bounded there, and what it does not know is passed over."""
    bodies = {CHAT: {"messages": QUESTION, "max_tokens": 1}, MESSAGES: {"messages": QUESTION, "max_tokens": 1}}
    bodies[RESPONSES] = {"input": "Hi", "max_output_tokens": 1}
    for path, more, expected in TAKEN:
        left = told(url, path, bodies[path] | more)[1]
        assert expected in left, (more, left)
        assert expected or not left, (more, left)


def test_tokens_and_texts_are_said_together_as_llama_cpp_says_them(url: str, decoder: SpeculativeDecoder) -> None:
    tokens = decoder.encode("Once upon", add_special=True)
    plain = posted(url, TEXT, {"prompt": [*tokens, *decoder.encode(" a time")], "max_tokens": 6})[1]
    for prompt in ([*tokens, " a time"], [[*tokens, " a time"]], ["Once upon", *decoder.encode(" a time")]):
        assert posted(url, TEXT, {"prompt": prompt, "max_tokens": 6})[1]["choices"] == plain["choices"]
    assert posted(url, "/tokenize", {"content": [*tokens, " a time"]})[1]["tokens"][: len(tokens)] == tokens
    assert posted(url, "/tokenize", {})[1]["tokens"] == []
    assert posted(url, "/detokenize", {})[1]["content"] == ""
    body = {"messages": QUESTION, "max_tokens": 1, "logprobs": True, "top_logprobs": 1}
    first = content(posted(url, CHAT, body)[1])
    for bias in ({first: False}, [[first, -100]]):
        assert content(posted(url, CHAT, {**body, "logit_bias": bias})[1]) != first
    opened, bare = ({"messages": QUESTION, "max_tokens": 1, "add_generation_prompt": on} for on in (True, False))
    counts = [posted(url, CHAT, each)[1]["usage"]["prompt_tokens"] for each in (opened, bare)]
    assert counts[1] < counts[0]


@pytest.mark.parametrize("count", [20, 5, 6])
def test_twenty_alternatives_are_told(url: str, count: int) -> None:
    body = {"messages": QUESTION, "max_tokens": 6, "temperature": 0.7, "seed": 3, "logprobs": True}
    listed = posted(url, CHAT, {**body, "top_logprobs": count})[1]["choices"][0]
    assert [len(each["top_logprobs"]) for each in listed["logprobs"]["content"]] == [count] * 6
    assert content({"choices": [listed]}) == content(posted(url, CHAT, body)[1])
    answer, left = told(url, CHAT, {**body, "top_logprobs": 21, "max_tokens": 1})
    assert len(answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]) == 20
    assert "20 are told" in left


def test_nothing_is_told_of_a_reply_of_no_tokens(url: str) -> None:
    answer, _ = told(url, CHAT, {"messages": QUESTION, "max_tokens": 0})
    assert (content(answer), answer["choices"][0]["finish_reason"]) == ("", "length")
    assert answer["usage"]["completion_tokens"] == 0
    answer, _ = told(url, TEXT, {"prompt": "Once upon", "max_tokens": 0, "echo": True})
    assert answer["choices"][0]["text"] == "Once upon"


def test_what_is_left_out_is_told_in_a_header_and_once_in_the_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    body = {"messages": QUESTION, "max_tokens": 1, "reasoning_effort": "low", "model": "gpt-4o-mini", "mirostat": 2}
    with caplog.at_level("INFO", "outrider.server"):
        answers = [told(url, CHAT, {**body, "stream": False}) for _ in range(2)]
    for answer, left in answers:
        assert answer["model"] == NAME
        for word in ("thinking effort low", "model name", "mirostat"):
            assert word in left
    assert caplog.text.count("mirostat") == 1
    assert told(url, CHAT, {"messages": QUESTION, "max_tokens": 1, "user": "me", "store": False})[1] == ""
    with httpx.stream("POST", url + CHAT, json={**body, "stream": True}, timeout=60) as stream:
        assert "thinking effort low" in stream.headers["outrider-left-out"]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (CHAT, {"messages": QUESTION, "modalities": ["text", "audio"]}, "writes text alone"),
        (CHAT, {"messages": QUESTION, "lora": [{"id": 0}]}, "cannot choose adapters"),
        (CHAT, {"messages": QUESTION, "grammar": "root ::= ("}, "The grammar cannot be used"),
        (CHAT, {"messages": QUESTION, "tools": TOOLS, "tool_choice": "sometimes"}, '"tool_choice" must be'),
        (CHAT, {"messages": QUESTION, "tools": [3]}, "list of objects"),
        (CHAT, {"messages": QUESTION, "continue_final_message": True}, "needs an assistant's message"),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "cannot hear"),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "hologram"}]}]}, "hologram are not supported"),
        (TEXT, {"prompt": "a", "echo": True, "logprobs": 1}, "No logprobs of prompts"),
        (TEXT, {"prompt": [1, 2], "suffix": "a"}, '"suffix" must be a text'),
        (TEXT, {"prompt": ["a"] * 40, "n": 4}, "At most 128 replies"),
        (RESPONSES, {"input": "a", "prompt": {"id": "p"}}, "No prompts are stored"),
        (
            MESSAGES,
            {"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image"}]}]},
            "needs an address",
        ),
        (MESSAGES, {"max_tokens": 1, "messages": [{"role": "user", "content": [IMAGE]}]}, "see pictures"),
        (CHAT, {"messages": [{"role": "system", "content": [{"type": "video_url"}]}]}, "Videos are not read"),
    ],
)
def test_what_would_change_the_answer_is_refused_with_what_to_do(url: str, path: str, body: Any, said: str) -> None:
    status, answer = posted(url, path, body)
    assert status == 400
    assert said in answer["error"]["message"]


def test_other_servers_names_of_constraints(url: str) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [7]}}, "required": ["a"], "additionalProperties": False}
    for more in (
        {"json_schema": schema},
        {"response_format": {"type": "json_object", "schema": schema}},
        {"grammar": 'root ::= "{" "\\"a\\": 7" "}"'},
    ):
        assert json.loads(content(posted(url, CHAT, {"messages": QUESTION, "max_tokens": 30, **more})[1])) == {"a": 7}


def test_variables_of_the_template_are_given_to_it(decoder: SpeculativeDecoder, url: str) -> None:
    body = {"messages": QUESTION, "max_tokens": 1, "chat_template_kwargs": {"bos_token": "x", "enable_thinking": False}}
    assert "chat_template_kwargs bos_token" in told(url, CHAT, body)[1]
    own = decoder.generate(QUESTION, max_tokens=1, template_options={"messages": []})
    assert own.prompt_tokens < decoder.generate(QUESTION, max_tokens=1).prompt_tokens
    with pytest.raises(InvalidRequest, match="plain JSON"):
        decoder.generate(QUESTION, template_options={"a": object()})


def test_a_call_that_was_cut_off_stays_in_the_conversation(url: str) -> None:
    call: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": CUT_OFF}}
    for calls in ([call], [call, {**call, "id": "c2", "function": {"name": "now", "arguments": "{}"}}]):
        history = [*QUESTION, {"role": "assistant", "content": None, "tool_calls": calls}]
        history += [{"role": "tool", "tool_call_id": each["id"], "content": "failed"} for each in calls]
        answer, left = told(url, CHAT, {"messages": history, "tools": TOOLS, "max_tokens": 2})
        assert "cut off" in left
        counted = posted(url, "/tokenize", {"messages": history, "with_pieces": True})[1]
        assert CUT_OFF in "".join(each["piece"] for each in counted["tokens"])
        items = [{"type": "function_call", "call_id": each["id"], **each["function"]} for each in calls]
        assert told(url, RESPONSES, {"input": [*QUESTION, *items], "max_output_tokens": 2})[1].count("cut off") == 1
        assert answer["usage"]["completion_tokens"] == 2


def test_older_and_odd_messages_are_read(url: str) -> None:
    history = [
        {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
        {"role": "user", "content": None},
        {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": ""}},
        {"role": "function", "name": "now", "content": "noon"},
        {"role": "assistant", "content": None, "reasoning": {}, "reasoning_details": []},
        {
            "role": "assistant",
            "tool_calls": [{"id": "x", "type": "custom", "custom": {"name": "patch", "input": "+a"}}],
        },
        {"role": "tool", "tool_call_id": "x", "content": ["done"]},
        *QUESTION,
    ]
    assert posted(url, CHAT, {"messages": history, "max_tokens": 1})[0] == 200


def test_a_begun_message_is_continued(url: str, decoder: SpeculativeDecoder) -> None:
    begun = "Once there was"
    history: list[Any] = [*QUESTION, {"role": "assistant", "content": begun}]
    whole = decoder.generate(history, max_tokens=8).content
    rest = whole.removeprefix(begun)
    assert whole.startswith(begun)
    assert rest
    body = {"messages": history, "max_tokens": 8}
    message = posted(url, MESSAGES, body)[1]
    assert message["content"] == [{"type": "text", "text": rest}]
    assert content(posted(url, CHAT, body)[1]) == rest
    assert content(posted(url, CHAT, {**body, "continue_final_message": True, "echo": False})[1]) == rest
    assert content(posted(url, CHAT, {**body, "echo": True})[1]) == whole
    for echo, expected in ((False, rest), (True, whole)):
        stream = posted(url, CHAT, {**body, "echo": echo, "stream": True})[1]
        chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == expected


def calls_of(answer: Any) -> list[tuple[str, Any]]:
    calls = answer["choices"][0]["message"].get("tool_calls", [])
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


@pytest.mark.usefixtures("parser")
def test_calls_are_enforced_where_they_are_demanded(url: str) -> None:
    named = {"type": "function", "function": {"name": "weather"}}
    body: dict[str, Any] = {}
    for seed in range(6):
        body = {"messages": QUESTION, "tools": TOOLS, "temperature": 0.8, "seed": seed, "parallel_tool_calls": False}
        answer = posted(url, CHAT, {**body, "tool_choice": "required"})[1]
        ((name, arguments),) = calls_of(answer)
        assert answer["choices"][0]["finish_reason"] == "tool_calls"
        assert answer["choices"][0]["message"]["content"] is None
        assert arguments in ([{}] if name == "now" else [{"city": "Paris"}, {"city": "Rome"}])
        ((name, arguments),) = calls_of(posted(url, CHAT, {**body, "tool_choice": named})[1])
        assert (name, list(arguments)) == ("weather", ["city"])
    several = posted(url, CHAT, {**body, "tool_choice": "required", "parallel_tool_calls": True, "temperature": 1.5})[1]
    assert calls_of(several)


@pytest.mark.usefixtures("parser")
def test_calls_are_enforced_in_every_interface(url: str) -> None:
    tool = {"name": "weather", "input_schema": CITY}
    server_tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    body = {"messages": QUESTION, "max_tokens": 99, "tools": [tool, server_tool]}
    for choice in ({"type": "any"}, {"type": "tool", "name": "weather", "disable_parallel_tool_use": True}):
        answer, left = told(url, MESSAGES, {**body, "tool_choice": choice, "model": "claude-x"})
        assert answer["stop_reason"] == "tool_use"
        assert (answer["content"][0]["type"], list(answer["content"][0]["input"])) == ("tool_use", ["city"])
        assert "web_search_20250305" in left
    space = {
        "type": "namespace",
        "name": "mcp__sky",
        "tools": [{"type": "function", "name": "weather"} | {"parameters": CITY}],
    }
    body = {"input": "Go", "tools": [PATCH, space, {"type": "web_search"}], "max_output_tokens": 99}
    answer, left = told(url, RESPONSES, {**body, "tool_choice": {"type": "function", "name": "weather"}})
    (item,) = answer["output"]
    assert (item["type"], item["name"], item["namespace"]) == ("function_call", "weather", "mcp__sky")
    assert "tool web_search" in left


def test_a_call_of_a_tool_that_takes_a_text_is_told_as_one() -> None:
    stats = GenerationStats(plain_tokens=1)
    call = ToolCall("", "patch", {"input": "+a"})
    result = GenerationResult("…", (1,), 7, 5, "stop", "a", 0, stats, tool_calls=(call,))
    for stream in (False, True):
        form = ResponsesForm(NAME, ReplyContext(), {"input": "a"}, read_tools([PATCH], NotDone()).tools)
        form.note(0, Finished(result))
        if stream:
            text = b"".join([*form.pieces(0, Finished(result)), *form.end()]).decode()
            assert '"type":"response.custom_tool_call_input.done"' in text
            (item,) = json.loads(text.strip().rpartition("data: ")[2])["response"]["output"]
        else:
            (item,) = form.whole()["output"]
        assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "patch", "+a")


@pytest.mark.usefixtures("parser")
def test_tools_and_a_format_of_answers_go_together(url: str) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [7]}}, "required": ["a"], "additionalProperties": False}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    for seed in range(4):
        body = {"messages": QUESTION, "tools": TOOLS, "response_format": wanted, "temperature": 1.2, "seed": seed}
        answer = posted(url, CHAT, {**body, "max_tokens": 200})[1]
        assert calls_of(answer) or json.loads(content(answer)) == {"a": 7}


def test_tools_of_every_shape_are_offered() -> None:
    left = NotDone()
    offered = read_tools(
        [
            {"function": {"name": "a"}},
            {"type": "function", "name": "b", "parameters": None},
            {"name": "c", "input_schema": {"type": "object"}},
            {"type": "custom", "custom": {"name": "d", "format": {"type": "grammar", "grammar": {"definition": "x"}}}},
            {"type": "namespace", "name": "functions", "tools": [{"name": "e"}]},
            {"type": "namespace", "name": "s__", "tools": [{"name": "f"}, {"type": "file_search"}]},
            {"type": "mcp", "server_label": "x"},
            {"name": "a"},
        ],
        left,
    )
    assert list(offered.tools) == ["a", "b", "c", "d", "e", "s__f"]
    assert "x" in offered.functions[3]["function"]["description"]
    assert left.ignored == ("tool file_search: nothing is run here", "tool mcp: nothing is run here")


def test_a_coding_agent_has_its_turns(url: str) -> None:
    tools: list[Any] = [
        {"type": "function", "name": "shell", "strict": False, "parameters": {"type": "object", "properties": {}}},
        {"type": "custom", "name": "patch", "description": "Edit", "format": {"type": "grammar", "syntax": "lark"}},
        {"type": "web_search", "external_web_access": False},
    ]
    common = {"instructions": "Be brief.", "tools": tools, "tool_choice": "auto", "parallel_tool_calls": False,
              "store": False, "stream": True, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "x",
              "reasoning": {"effort": "medium", "summary": "auto"}, "text": {"verbosity": "low"},
              "max_output_tokens": 2}  # fmt: skip
    turns: list[list[Any]] = [
        [],
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]}],
        [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Here"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "custom_tool_call", "call_id": "1", "name": "patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "1", "output": "done"},
            {"type": "function_call", "call_id": "2", "name": "look", "namespace": "mcp__a", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "seen"}]},
            {"type": "local_shell_call", "call_id": "3", "status": "completed", "action": {"type": "exec"}},
            {"type": "local_shell_call_output", "call_id": "3", "output": {"content": "ok", "success": True}},
            {"type": "web_search_call", "status": "completed", "action": {"type": "search"}},
            {"type": "ghost_snapshot", "ghost_commit": {}},
        ],
    ]
    for items in turns:
        status, stream = posted(url, RESPONSES, {**common, "input": items})
        assert status == 200, stream
        assert stream.rstrip().rpartition("event: ")[2].startswith("response.incomplete")


def test_a_response_goes_on_with_the_one_before(url: str) -> None:
    first, _ = told(url, RESPONSES, {"input": "Tell me a story.", "max_output_tokens": 6})
    said = first["output"][0]["content"][0]["text"]
    following = {"input": "Go on.", "max_output_tokens": 6}
    second, _ = told(url, RESPONSES, {**following, "previous_response_id": first["id"]})
    history = [{"role": "user", "content": "Tell me a story."}, {"role": "assistant", "content": said}]
    whole, _ = told(url, RESPONSES, {**following, "input": [*history, {"role": "user", "content": "Go on."}]})
    assert second["output"][0]["content"] == whole["output"][0]["content"]
    assert second["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
    third, _ = told(url, RESPONSES, {**following, "previous_response_id": second["id"], "store": False})
    assert third["usage"]["input_tokens"] > second["usage"]["input_tokens"]
    assert posted(url, RESPONSES, {**following, "previous_response_id": third["id"]})[0] == 400


def test_kept_responses_are_bounded() -> None:
    kept = KeptResponses(3, 400)
    for number in range(5):
        kept.keep({"input": "a"}, {"id": str(number), "output": []})
    for gone in ("0", "1", 3, "other"):
        with pytest.raises(InvalidRequest, match="Send the whole conversation"):
            kept.with_before({"previous_response_id": gone, "input": "b"})
    assert len(kept.with_before({"previous_response_id": "4", "input": "b"})["input"]) == 2
    kept.keep({"input": "a" * 500}, {"id": "large", "output": []})
    assert not kept._kept


def test_what_llama_cpps_clients_ask_for(url: str, decoder: SpeculativeDecoder) -> None:
    target = decoder.target
    assert target is not None
    status, props = asked(url, "/props")
    assert (status, props["chat_template"], props["model_alias"]) == (200, HERMES, NAME)
    assert props["default_generation_settings"]["n_ctx"] == target.context_length
    slots = httpx.get(f"{url}/slots").json()
    assert len(slots) == props["total_slots"]
    assert {"id", "n_ctx", "is_processing", "speculative"} <= set(slots[0])
    read = posted(url, "/apply-template", {"messages": QUESTION, "tools": TOOLS})[1]["prompt"]
    assert read == decoder.read_prompt(QUESTION, tools=TOOLS).text
    assert read.startswith("<|begin|><|system|>weather<|end|><|user|>Tell me")
    counted = posted(url, "/v1/messages/count_tokens", {"messages": QUESTION, "tools": [{"name": "weather"}]})[1]
    assert counted["input_tokens"] == decoder.read_prompt(QUESTION, tools=TOOLS).tokens
    answer, left = told(
        url, "/completion", {"prompt": "Once upon", "n_predict": 6, "cache_prompt": True, "id_slot": -1}
    )
    assert (answer["content"], answer["stop_type"], left) == (
        decoder.generate("Once upon", raw=True, max_tokens=6).text, "limit", "",
    )  # fmt: skip
    assert posted(url, "/chat/completions", {"messages": QUESTION, "max_tokens": 1})[0] == 200
    assert asked(url, "/models")[1] == asked(url, "/v1/models")[1]


def test_several_prompts_are_each_answered(url: str, decoder: SpeculativeDecoder) -> None:
    ids = decoder.encode("There was", add_special=True)
    body = {"prompt": ["Once upon", ids], "max_tokens": 4, "n": 2, "temperature": 0, "echo": True}
    answer, _ = told(url, TEXT, body)
    expected = [decoder.generate(each, raw=True, max_tokens=4).text for each in ("Once upon", "There was")]
    texts = [choice["text"] for choice in answer["choices"]]
    assert texts == [f"Once upon{expected[0]}"] * 2 + [f"There was{expected[1]}"] * 2
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert answer["usage"]["prompt_tokens"] == len(ids) + len(decoder.encode("Once upon", add_special=True))
    stream = posted(url, TEXT, {**body, "stream": True})[1]
    said = ["", "", "", ""]
    for line in stream.splitlines():
        if line.startswith("data: {"):
            (choice,) = json.loads(line[6:])["choices"]
            said[choice["index"]] += choice["text"]
    assert said == texts


@pytest.fixture(scope="module")
def ollama(decoder: SpeculativeDecoder) -> Iterator[str]:
    with served(decoder, Limits(), ollama=True) as address:
        assert posted(address, "/api/generate", {"stream": False})[0] == 200
        start_question_threads(address)
        yield address


def lines_of(url: str, path: str, body: object) -> list[dict[str, Any]]:
    """The lines of a stream, asked for as by a program that names no type."""
    response = httpx.post(url + path, content=json.dumps(body), timeout=60)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/x-ndjson"), response.text
    return [json.loads(line) for line in response.text.splitlines()]


def test_ollamas_conversations(ollama: str, decoder: SpeculativeDecoder) -> None:
    own = decoder.generate(QUESTION, max_tokens=8)
    body = {"model": "llama3.2:latest", "messages": QUESTION, "options": {"num_predict": 8, "num_ctx": 4096}}
    lines = lines_of(ollama, "/api/chat", {**body, "keep_alive": "5m"})
    assert "".join(line["message"]["content"] for line in lines) == own.content
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert (lines[-1]["done_reason"], lines[-1]["prompt_eval_count"], lines[-1]["eval_count"]) == (
        "length", own.prompt_tokens, 8,
    )  # fmt: skip
    whole, left = told(ollama, "/api/chat", {**body, "stream": False})
    assert (whole["message"]["content"], whole["done"]) == (own.content, True)
    assert "num_ctx" in left
    text = {"prompt": QUESTION[0]["content"], "stream": False, "options": {"num_predict": 8}}
    assert told(ollama, "/api/generate", text)[0]["response"] == own.content
    plain = told(ollama, "/api/generate", {**text, "raw": True})[0]["response"]
    assert plain == decoder.generate(QUESTION[0]["content"], raw=True, max_tokens=8).text
    loads: list[tuple[str, dict[str, Any]]] = [("/api/generate", {}), ("/api/chat", {"messages": []})]
    for path, empty in loads:
        assert told(ollama, path, {**empty, "stream": False})[0]["done_reason"] == "load"


@pytest.mark.usefixtures("parser")
def test_ollamas_tools_and_formats(ollama: str) -> None:
    call = {"function": {"name": "weather", "arguments": {"city": "Rome"}}}
    history = [
        *QUESTION,
        {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_name": "weather", "content": "hot"},
    ]
    schema = {"type": "object", "properties": {"a": {"enum": [7]}}, "required": ["a"], "additionalProperties": False}
    body = {"messages": history, "tools": TOOLS, "stream": False, "options": {"num_predict": 40}}
    assert told(ollama, "/api/chat", {**body, "think": False})[0]["done"]
    answer = told(ollama, "/api/chat", {**body, "tools": [], "format": schema})[0]
    assert json.loads(answer["message"]["content"]) == {"a": 7}
    form = OllamaForm("chat", NAME, ReplyContext())
    result = GenerationResult(
        "…", (1,), 7, 5, "stop", "a", 0, GenerationStats(plain_tokens=1), 0, "Hm.", "", (ToolCall("", "now", {}),)
    )
    form.note(0, Finished(result))
    assert form.whole()["message"]["tool_calls"] == [{"function": {"name": "now", "arguments": {}}}]
    assert b'"tool_calls":[{"function":{"name":"now","arguments":{}}}]' in b"".join(form.pieces(0, Finished(result)))


def test_ollamas_lists_and_refusals(ollama: str, url: str) -> None:
    assert asked(ollama, "/api/tags")[1]["models"][0]["name"] == NAME
    assert asked(ollama, "/api/ps")[1]["models"][0]["model"] == NAME
    assert posted(ollama, "/api/show", {"model": "any"})[1]["capabilities"] == ["completion", "tools"]
    assert "version" in asked(ollama, "/api/version")[1]
    assert asked(ollama, "/")[0] == 200
    for path, body, said in (
        ("/api/chat", {"messages": [{"role": "user", "content": "a", "images": ["x"]}]}, "see pictures"),
        ("/api/generate", {"prompt": "a", "context": [1]}, '"context" is not read'),
        ("/api/generate", {"prompt": "a", "suffix": "b"}, "cannot fill gaps"),
        ("/api/chat", {"messages": QUESTION, "options": 3}, '"options" must be'),
        ("/api/chat", {"messages": QUESTION, "think": "much"}, '"think" must be'),
        ("/api/show", {"model": 3}, '"model" must be'),
    ):
        status, answer = posted(ollama, path, body)
        assert status == 400
        assert said in answer["error"]
    status, answer = asked(url, "/api/chat", b"{}", Content_Type="text/plain")
    assert status == 404
    assert "--ollama" in answer["error"]["message"]
    page = {"Origin": "null"}
    assert asked(ollama, "/api/chat", b"{}", Content_Type="text/plain", **page)[0] == 403
    with served(ModelRegistry(), Limits(origins=("*",)), ollama=True) as open_to_pages:
        assert asked(open_to_pages, "/api/chat", b"{}", Content_Type="text/plain", **page)[0] == 415


RECORDED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("recorded.json").read_text("utf-8"))


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: f"{each['client']}{each['path']}")
@pytest.mark.usefixtures("parser")
def test_what_programs_send_is_taken(ollama: str, recorded: dict[str, Any]) -> None:
    body = recorded["body"]
    if recorded.get("gaps"):
        status, answer = posted(ollama, recorded["path"], body)
        assert (status, "cannot fill gaps" in str(answer)) == (400, True)
        return
    body = {**body, "max_tokens": 4} if body.get("max_tokens") == -1 else body
    response = httpx.post(ollama + recorded["path"], json=body, timeout=60)
    assert response.status_code == 200, response.text
    assert "error" not in response.text.replace('"error":null', "")
    choice = body.get("tool_choice")
    if choice == "required" or isinstance(choice, dict):
        ((name, arguments),) = calls_of(response.json())[:1]
        assert name == body["tools"][0]["function"]["name"]
        assert arguments in [{"age": 1}, {"age": 2}, {"answer": "a"}, {"answer": "b"}]


def test_at_least_eight_programs_are_recorded() -> None:
    assert len({each["client"] for each in RECORDED}) >= 8


def test_containers_and_names_that_were_allowed_may_call(url: str) -> None:
    for host in (*CONTAINER_HOSTS, "LOCALHOST", "localhost.", "app.localhost:80"):
        assert asked(url, "/health", Host=host)[0] == 200, host
    status, answer = asked(url, "/health", Host="desk.local:8642")
    assert (status, answer["error"]["code"]) == (403, "host_not_allowed")
    assert "--allow-host desk.local." in answer["error"]["message"]
    for odd in ("<b>", "a b", "-x", "x" * 300):
        assert asked(url, "/health", Host=odd)[0] == 403
        assert odd not in asked(url, "/health", Host=odd)[1]["error"]["message"]
    with served(ModelRegistry(), Limits(hosts=("Desk.local.", "schön.example"))) as other:
        for host in ("desk.local", "DESK.LOCAL:1", "xn--schn-7qa.example"):
            assert asked(other, "/health", Host=host)[0] == 200
    for wrong in ("", "a b", "http://x", "x:1"):
        with pytest.raises(InvalidRequest, match="is no name of a computer"):
            Limits(hosts=(wrong,))


def test_both_addresses_of_this_machine_listen(url: str) -> None:
    port = int(url.rpartition(":")[2])
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    with socket.create_connection(("::1", port), 20) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 200 " in connection.recv(1000)


def test_of_one_model_any_name_is_meant(url: str) -> None:
    for path, body in (
        (CHAT, {"messages": QUESTION, "max_tokens": 1}),
        (MESSAGES, {"messages": QUESTION, "max_tokens": 1}),
        ("/v1/messages/count_tokens", {"messages": QUESTION}),
        ("/tokenize", {"content": "a"}),
    ):
        assert posted(url, path, {**body, "model": "claude-3-5-haiku"})[0] == 200
    assert asked(url, "/v1/models/other")[0] == 404


@pytest.mark.usefixtures("parser")
@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_hundred_demanded_calls_are_calls(decoder: SpeculativeDecoder, tmp_path: Path) -> None:
    """Drawn at temperature 0.8: with the demo model, and with models that people use, where they are here."""
    tools = [tool["function"] for tool in TOOLS]
    found = [path for name in (QWEN, SMOL) for path in sorted(FOLDER.glob(f"{name}*.gguf"))]
    for path in (None, *found):
        loaded = decoder if path is None else open_files(path, None)
        for seed in range(100):
            wanted: Any = {"must_call": ["weather", "now"]} if seed % 2 else {"must_call": "weather"}
            result = loaded.generate(QUESTION, tools=tools, temperature=0.8, seed=seed, max_tokens=400, **wanted)
            assert result.finish_reason == "stop", result.text
            assert result.tool_calls, result.text
            for call in result.tool_calls:
                assert call.name in wanted["must_call"]
                assert call.arguments in ([{}] if call.name == "now" else [{"city": "Paris"}, {"city": "Rome"}])
        if path is not None:
            loaded.close()
