"""Chats with everything in them, in the form of OpenAI's chat interface."""

from typing import Any


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


FIVE_TURNS: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a guide."},
    {"role": "user", "content": "What is the weather in Cologne?"},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I must look it up.",
        "tool_calls": [_call("call-1", "weather", '{"place": "Cologne"}')],
    },
    {"role": "tool", "content": "Rain, 12 °C", "tool_call_id": "call-1", "name": "weather"},
    {"role": "assistant", "content": "Take an umbrella.", "reasoning_content": "Rain it is."},
    {"role": "user", "content": "And in Bonn and Aachen?"},
    {
        "role": "assistant",
        "content": "I look at both.",
        "tool_calls": [
            _call("call-2", "weather", '{"place": "Bonn"}'),
            _call("call-3", "weather", '{"place": "Aachen"}'),
        ],
    },
    {"role": "tool", "content": "Fog", "tool_call_id": "call-2"},
    {"role": "tool", "content": "Sun", "tool_call_id": "call-3"},
    {"role": "assistant", "content": "Go to Aachen."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        ],
        "name": "Ann",
    },
    {"role": "assistant", "content": "A cathedral.", "reasoning_content": "They want a picture explained."},
    {"role": "developer", "content": "Be brief from now on."},
    {"role": "user", "content": "And this file?\n\nFile: a.txt"},
    {"role": "assistant", "content": "There is none.", "refusal": {"kind": "soft"}},
    {"role": "user", "content": [{"type": "text", "text": "One more."}, {"type": "text", "text": "Please."}]},
    {"role": "assistant", "content": "Gladly."},
]
