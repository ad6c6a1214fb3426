"""Client libraries against the server, as their guides show them, where they are installed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from engine.chat import render
from engine.chat.reply_grammar import GrammarRequest, open_grammar
from engine.cli.main import main
from engine.library.names import bundled_pair
from engine.server.guard import Limits
from helpers.decoding.serving import asked, served
from helpers.models.calling import HERMES, write_calling_demo
from helpers.models.pairs import open_files

pytestmark = [  # Some of the libraries close no connection.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
CLOUD = "gpt-4o-mini"
QUESTION: Any = [{"role": "user", "content": "Tell me of a fox."}]
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    render.keep_warm(main)
    if open_grammar(GrammarRequest(HERMES)) is None:
        pytest.skip("llama.cpp was compiled without the door")
    path = write_calling_demo(tmp_path_factory.mktemp("calling") / "calling.gguf")
    with open_files(path, bundled_pair()[1]) as loaded, served(loaded, Limits(), ollama=True) as address:
        assert asked(address, "/api/generate", b'{"stream": false}')[0] == 200
        assert asked(address, "/tokenize", b'{"content": "a"}')[0] == 200
        yield address
    render.release(main)


def person() -> Any:
    """A class whose fields leave a small model no choice but to be right."""
    pydantic: Any = pytest.importorskip("pydantic")
    from typing import Literal  # noqa: PLC0415 - for the class alone

    return pydantic.create_model("Person", name=(Literal["Ann", "Bob"], ...), age=(Literal[30, 40], ...))


def test_openai(url: str) -> None:
    openai: Any = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        parsed = client.chat.completions.parse(model=CLOUD, messages=QUESTION, response_format=person())
        assert parsed.choices[0].message.parsed.age in (30, 40)
        tool = {"type": "function", "function": {"name": "weather", "parameters": CITY}}
        called = client.chat.completions.create(
            model=CLOUD, messages=QUESTION, tools=[tool], tool_choice="required", reasoning_effort="low"
        )
        assert called.choices[0].message.tool_calls[0].function.name == "weather"
        first = client.responses.create(model=CLOUD, input="A fox.", max_output_tokens=4)
        following = client.responses.create(
            model=CLOUD, input="Go on.", previous_response_id=first.id, max_output_tokens=4
        )
        assert following.usage.input_tokens > first.usage.input_tokens


def test_anthropic(url: str) -> None:
    anthropic: Any = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        reply = client.messages.create(
            model="claude",
            max_tokens=60,
            messages=QUESTION,
            tools=[{"name": "weather", "input_schema": CITY}],
            tool_choice={"type": "any"},
        )
        assert (reply.stop_reason, reply.content[0].name) == ("tool_use", "weather")
        begun = [*QUESTION, {"role": "assistant", "content": "Once there was"}]
        with client.messages.stream(model="claude", max_tokens=6, messages=begun) as stream:
            assert not stream.get_final_text().startswith("Once there was")


def test_langchain(url: str) -> None:
    library: Any = pytest.importorskip("langchain_openai")
    model = library.ChatOpenAI(model=CLOUD, base_url=f"{url}/v1", api_key="none", temperature=0)
    for method in ("function_calling", "json_schema"):
        assert model.with_structured_output(person(), method=method).invoke("Who?").name in ("Ann", "Bob")


def test_pydantic_ai(url: str) -> None:
    _installed("pydantic_ai")
    said = child(
        f"""
from typing import Literal
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

class Person(BaseModel):
    name: Literal["Ann", "Bob"]

model = OpenAIChatModel({CLOUD!r}, provider=OpenAIProvider(base_url={url + "/v1"!r}, api_key="none"))
print(Agent(model, output_type=Person).run_sync("Who?").output.name)
"""
    )
    assert said in ("Ann", "Bob")


def _installed(name: str) -> None:
    """Skip if a library is missing, without importing it."""
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def child(code: str, **environment: str) -> str:
    """What a program prints: some libraries leave threads behind, which are not ours."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_instructor(url: str) -> None:
    instructor: Any = pytest.importorskip("instructor")
    openai: Any = pytest.importorskip("openai")
    client = instructor.from_openai(openai.OpenAI(base_url=f"{url}/v1", api_key="none"), mode=instructor.Mode.TOOLS)
    told = client.chat.completions.create(model=CLOUD, response_model=person(), messages=QUESTION)
    assert told.name in ("Ann", "Bob")


def test_litellm(url: str) -> None:
    _installed("litellm")
    for model, base in (("openai/any", f"{url}/v1"), ("ollama_chat/any", url)):
        code = f"""
import litellm
told = litellm.completion(model={model!r}, api_base={base!r}, api_key="none", messages={QUESTION!r}, max_tokens=4)
print(told.choices[0].message.content)
"""
        assert child(code, LITELLM_LOCAL_MODEL_COST_MAP="True")  # It asks the network for one otherwise.


def test_ollama(url: str) -> None:
    ollama: Any = pytest.importorskip("ollama")
    client = ollama.Client(host=url)
    options = {"num_predict": 6}
    whole = client.chat(model="any", messages=QUESTION, options=options).message.content
    assert whole
    pieces = client.chat(model="any", messages=QUESTION, options=options, stream=True)
    assert "".join(piece.message.content for piece in pieces) == whole
    assert "tools" in client.show("any").capabilities


def test_llm_once_connected(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installed("llm")
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    assert main(["connect", "llm", "--write", "--url", url]) == 0
    asked = [sys.executable, "-m", "llm", "-m", "outrider", "-o", "max_tokens", "4", "Hello"]
    done = subprocess.run(
        asked, env={**os.environ, "OPENAI_API_KEY": "none"}, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, bool(done.stdout.strip())) == (0, True), done.stderr
