"""Numbers and texts that nobody means, in every public entry: one clear error or a reply, no end by a signal.

What holds of a number is tried at the edges of the vocabulary and of C's integers; texts are tried with halves of
characters, with NUL, and nested deeply.
"""

import json
from pathlib import Path

import pytest

from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError, InvalidRequest, TokenOutOfRange
from engine.server.guard import Limits
from helpers.decoding.serving import asked, served
from helpers.models.pairs import open_files
from helpers.processes import run_engine, run_python

_EDGES = (-1, 0, 4095, 4096, 2**31, 2**32, 2**40)
"""The bundled target's vocabulary has 4,096 tokens."""

_LIBRARY = r"""
import itertools, json, math, sys
from engine import Constraint, EngineError, LoadConfig, load
from engine.generation.questions import Infill

numbers = [-1, 0, 4095, 4096, 2**31, 2**32, 2**40, -(2**63), math.nan, math.inf, 1.5, True, None, "5"]
deep = []
for _ in range(900):
    deep = [deep]
texts = ["a\ud83db", "a\x00b", "[" * 900, "\x00", "\ud83d", "\U0010ffff"]
target, draft = sys.argv[1:]
decoder = load(LoadConfig(target, threads=1, trusted=True, context_length=256), LoadConfig(draft, trusted=True))
reply, asked = {"max_tokens": 2}, {"role": "user", "content": "a"}

def schema_of(value):
    return decoder.generate("Hi", constraint={"const": value}, **reply)

def tool_of(value):
    return decoder.generate("Hi", tools=[{"name": "f", "parameters": {"x": value}}], **reply)

calls = {
    "prompt": lambda n: decoder.generate([5, n], **reply),
    "prompt alone": lambda n: decoder.generate([n], **reply),
    "long prompt": lambda n: decoder.generate([5] * 200 + [n], **reply),
    "stream": lambda n: list(decoder.stream([n, 5], **reply)),
    "many": lambda n: decoder.generate_many([[5, n]], **reply),
    "token_text": lambda n: decoder.token_text(n),
    "decode": lambda n: decoder.decode([5, n]),
    "decode with markers": lambda n: decoder.decode([n], markers=True),
    "piece": lambda n: decoder.target.tokenizer.piece(n) if isinstance(n, int) else None,
    "marker": lambda n: decoder.draft.tokenizer.marker(n) if isinstance(n, int) else None,
    "forward": lambda n: decoder.target.forward([5, n], 1) if isinstance(n, int) else None,
    "streams": lambda n: decoder.open_streams(n) if n != 4095 else None,
    "fit": lambda n: decoder.fit([{"role": "user", "content": "Hi"}], max_tokens=n),
    "bias": lambda n: decoder.generate("Hi", logit_bias={n: 1.0}, **reply),
    "bias of": lambda n: decoder.generate("Hi", logit_bias={5: n}, **reply),
    "context_length": lambda n: LoadConfig(target, context_length=n),
    "threads": lambda n: LoadConfig(target, threads=n),
    "gpu_layers": lambda n: LoadConfig(target, gpu_layers=n),
    "schema": schema_of,
    "tool": tool_of,
}
for name in ("banned_tokens", "stop_tokens"):
    calls[name] = lambda n, name=name: decoder.generate("Hi", **{name: [n]}, **reply)
for name in (
    "max_tokens", "min_tokens", "top", "seed", "temperature", "top_k", "top_p", "min_p", "typical", "lookahead",
    "repeat_penalty", "presence_penalty", "frequency_penalty", "penalty_window", "top_n_sigma", "max_time",
    "draft_temperature", "min_draft_confidence", "adaptive_start", "adaptive_max", "tree",
):
    calls[name] = lambda n, name=name: decoder.generate("Hi", **{"max_tokens": 2, name: n})
said = {
    "prompt": lambda t: decoder.generate(t, **reply),
    "raw prompt": lambda t: decoder.generate(t, raw=True, **reply),
    "message": lambda t: decoder.generate([{"role": "user", "content": t}], **reply),
    "continued": lambda t: decoder.generate([asked, {"role": "assistant", "content": t}], **reply),
    "stop": lambda t: decoder.generate("Hi", stop=t, **reply),
    "encode": lambda t: decoder.encode(t),
    "encode markers": lambda t: decoder.encode(t, parse_special=True),
    "count": lambda t: decoder.count(t),
    "infill": lambda t: decoder.infill_prompt(Infill(t, t, t, ((t, t),))),
    "regex": lambda t: decoder.generate("Hi", constraint=Constraint("regex", t), **reply),
    "grammar": lambda t: decoder.generate("Hi", constraint=Constraint("lark", t), **reply),
    "load": lambda t: load(t),
    "path": lambda t: load(LoadConfig(t)),
    "device": lambda t: LoadConfig(target, device=t),
    "thinking": lambda t: decoder.generate("Hi", thinking=t, **reply),
    "schema": schema_of,
    "tool": tool_of,
    "key": lambda t: t is deep or decoder.generate("Hi", constraint={"required": [t], "type": "object"}, **reply),
}
bad = []
for (name, call), value in itertools.chain(itertools.product(calls.items(), numbers),
                                           itertools.product(said.items(), [*texts, deep]),
                                           ((item, deep) for item in calls.items() if item[0] != "bias")):
    try:
        call(value)
    except EngineError as error:
        if not str(error) or "\n" in str(error):
            bad.append(f"{name}: {error!r}")
    except Exception as error:
        shown = "deep" if value is deep else repr(value)[:40]
        bad.append(f"{name}({shown}): {type(error).__name__}: {str(error)[:200]}")
    finally:
        decoder.close_streams()
assert decoder.generate([5, 6], max_tokens=3).stats.emitted == 3
decoder.close()
print(json.dumps(bad))
"""


_CHAINS = """
from engine import Constraint
links = range(5_000)
chain = {n: {"items": {"$ref": f"#/$defs/{n + 1}"}} for n in links}
Constraint.json_schema({"$ref": "#/$defs/0", "$defs": chain | {5_000: True}})
Constraint.lark("start: r0\\n" + "\\n".join(f"r{n}: r{n + 1}" for n in range(60_000)) + '\\nr60000: "a"')
"""


def test_chains_of_definitions_do_not_overflow_the_stack() -> None:
    done = run_python("-c", _CHAINS)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("number", [-(2**63), -(2**63) + 1])
def test_a_value_that_would_end_the_process_is_refused(number: int) -> None:
    with pytest.raises(InvalidRequest, match="nearer to 0"):
        Constraint.json_schema({"anyOf": [{"enum": [[number]]}]})
    with pytest.raises(InvalidRequest, match="nearer to 0"):
        Constraint.lark(f'start: %json {{"const": {number}}}')


def test_the_library_names_what_is_wrong(bundled_target: Path, bundled_draft: Path) -> None:
    done = run_python("-X", "faulthandler", "-c", _LIBRARY, str(bundled_target), str(bundled_draft), timeout=300)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-3000:]}"
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("token", [4095, 4096, 2**40])
def test_the_command_line_names_the_token(token: int) -> None:
    done = run_engine("generate", "--tokens", f"5,{token}", "-n", "2", "--lookahead", "0")
    assert done.returncode == (0 if 0 <= token < 4096 else 2), done.stderr
    assert "Traceback" not in done.stderr


def test_the_server_lives_on(bundled_target: Path) -> None:
    with open_files(bundled_target, None) as decoder, served(decoder, Limits()) as url:
        for token in _EDGES:
            body = json.dumps({"prompt": [5, token], "max_tokens": 2}).encode()
            status, said = asked(url, "/v1/completions", body)
            assert status == (200 if 0 <= token < 4096 else 400), said
            status, _ = asked(url, "/detokenize", json.dumps({"tokens": [token]}).encode())
            assert status == (200 if 0 <= token < 4096 else 400)


def test_a_folder_of_safetensors_names_the_token(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from helpers.models.tiny_models import open_folder, write_tiny  # noqa: PLC0415 - needs the extra

    decoder = SpeculativeDecoder()
    decoder.attach_target(open_folder(write_tiny(tmp_path / "llama", "llama", vocab_size=256)))
    for token in (-1, 256, 2**31, 2**40):
        with pytest.raises(TokenOutOfRange):
            decoder.generate([5, token], max_tokens=2)
        assert decoder.target is not None
        for ask in (decoder.target.tokenizer.piece, decoder.target.tokenizer.marker):
            with pytest.raises(EngineError):
                ask(token)
    decoder.close()
