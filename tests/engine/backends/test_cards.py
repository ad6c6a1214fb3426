"""A llama.cpp that was compiled for graphics cards: everything runs there, and its failures are one clear line.

Needs such a build and a driver, so it is run by hand. OUTRIDER_CARDS_LLAMA names the folder of libllama, and
OUTRIDER_CARDS_PROGRAM an installed outrider-engine, whose own one is tested then: its folder is
_internal/llama_cpp/lib. For Vulkan's software driver set GGML_VK_VISIBLE_DEVICES=0 too, since llama.cpp passes over
processors otherwise.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.paths import BUNDLED_MODELS, ROOT

LIBRARIES = os.environ.get("OUTRIDER_CARDS_LLAMA")
PROGRAM = os.environ.get("OUTRIDER_CARDS_PROGRAM")
ENGINE = [PROGRAM] if PROGRAM else [sys.executable, "-m", "engine"]
pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(LIBRARIES is None, reason="OUTRIDER_CARDS_LLAMA names no build for graphics cards"),
]
ALL = ("--gpu-layers", "99")
TARGET = str(BUNDLED_MODELS / "demo-target.Q8_0.gguf")
PROMPT = "Tell me a story about a fox."
OFFLOADED = """
import ctypes, sys
from pathlib import Path
import llama_cpp
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.config import LoadConfig
said = []
keep = llama_cpp.llama_log_callback(lambda level, text, data: said.append(text.decode("utf-8", "replace")))
llama_cpp.llama_log_set(keep, ctypes.c_void_p(0))
LlamaCppBackend.open(LoadConfig(Path(sys.argv[1]), gpu_layers=99, trusted=True)).close()
print([line for line in said if "offloaded" in line][-1])
"""

BESIDE = """
import ctypes, json, sys
from pathlib import Path
import llama_cpp
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.library import card_names, computes_alike
from engine.config import LoadConfig
said = []
keep = llama_cpp.llama_log_callback(lambda level, text, data: said.append(text.decode("utf-8", "replace")))
llama_cpp.llama_log_set(keep, ctypes.c_void_p(0))
backend = LlamaCppBackend.open(LoadConfig(Path(sys.argv[1]), gpu_layers=0, trusted=True))
tokens = list(range(100, 133))
together = backend.forward(tokens, 33)[-1].copy()
backend.truncate(32)
same = bool((backend.forward(tokens[32:], 1)[0] == together).all())
names = {name.rstrip("0123456789") for name in card_names()}
used = [line for line in said if "buffer size" in line and any(name in line.lower() for name in names)]
facts = {"device": backend.device, "own": backend.own_kernels, "ours": computes_alike(), "same": same, "used": used}
print(json.dumps(facts))
backend.close()
"""
AGAIN = """
import json, sys
from engine import load
asked = {"lookahead": 4, "temperature": 0.0, "max_tokens": 24}
replies = []
for layers in (-1, -1, 2, -1):
    with load("demo", "demo", gpu_layers=layers) as decoder:
        replies.append(decoder.generate("Tell me a story about a fox.", **asked).tokens)
with load("demo", "demo") as one, load("demo", "demo") as two:
    replies += [each.generate("Tell me a story about a fox.", **asked).tokens for each in (one, two)]
print(json.dumps([list(reply) for reply in replies]))
"""
FULL = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
device, context, free, total, place = ctypes.c_int(), ctypes.c_void_p(), *(ctypes.c_size_t() for _ in range(3))
assert not driver.cuInit(0) and not driver.cuDeviceGet(ctypes.byref(device), 0)
assert not driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) and not driver.cuCtxSetCurrent(context)
assert not driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
left = int(sys.argv[1])
assert not driver.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(free.value - left))
print("full", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def shaders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Mesa keeps compiled shaders: once for all tests."""
    known = os.environ.get("MESA_SHADER_CACHE_DIR")
    return Path(known) if known else tmp_path_factory.mktemp("shaders")


@pytest.fixture
def environment(shaders: Path) -> dict[str, str]:
    """The environment of a process that computes with this build."""
    chosen = {} if PROGRAM else {"LLAMA_CPP_LIB_PATH": str(LIBRARIES), "PYTHONPATH": str(ROOT)}
    return {**os.environ, **chosen, "MESA_SHADER_CACHE_DIR": str(shaders)}


def _run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ENGINE, *command], env=environment, capture_output=True, text=True, check=False)


def _reply(environment: dict[str, str], *options: str) -> dict[str, Any]:
    done = _run(environment, "generate", "--json", "--max-tokens", "40", *options, PROMPT)
    assert done.returncode == 0, done.stderr
    reply: dict[str, Any] = json.loads(done.stdout)
    return reply


def _script(environment: dict[str, str], script: str, *arguments: str) -> str:
    """What a script prints that has this build in a process of its own."""
    own = {**environment, "LLAMA_CPP_LIB_PATH": str(LIBRARIES), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_layers_are_on_the_card(environment: dict[str, str]) -> None:
    told = _script(environment, OFFLOADED, TARGET)
    first, second = told.split("offloaded ")[1].split(" ")[0].split("/")
    assert int(first) == int(second) > 0


def test_beside_the_card_the_processor_computes_as_without_one(environment: dict[str, str]) -> None:
    """Its kernels pack the weights, and no forward goes to the card: of 32 tokens llama.cpp would lend it one."""
    facts = json.loads(_script(environment, BESIDE, TARGET))
    assert (facts["device"], facts["used"]) == ("cpu", [])
    assert facts["own"] == facts["ours"]
    assert facts["same"] or not facts["ours"]


def test_models_are_loaded_again_shared_and_twice_at_once(environment: dict[str, str]) -> None:
    first, again, shared, last, *both = json.loads(_script(environment, AGAIN))
    assert first == again == last == both[0] == both[1]
    assert len(shared) == len(first)


def test_drafts_change_no_reply_wherever_they_compute(environment: dict[str, str]) -> None:
    """Each reply is the plain one of its target's device, or parts from it where that is shown to be a tie."""
    plain = _reply(environment, *ALL, "--lookahead", "0")
    assert plain["device"] not in ("", "cpu")
    assert plain["batch_invariant"] is not None
    drafted = _reply(environment, *ALL, "--lookahead", "4")
    mixed = _reply(environment, *ALL, "--draft-gpu-layers", "0", "--lookahead", "4")
    other = _reply(environment, "--gpu-layers", "0", "--draft-gpu-layers", "99", "--lookahead", "4")
    on_processor = _reply(environment, "--gpu-layers", "0", "--lookahead", "0")
    for reply in (drafted, mixed, other):
        assert reply["stats"]["proposed"] > reply["stats"]["accepted"] > 0
    assert (mixed["device"], other["device"]) == (plain["device"], "cpu")
    assert other["tokens"] == on_processor["tokens"]
    if plain["batch_invariant"]:
        assert drafted["tokens"] == mixed["tokens"] == plain["tokens"]
    sizes = ("--repeats", "1", "--max-tokens", "24", "--lookaheads", "1,4")
    report = json.loads(_run(environment, "bench", "--json", *ALL, *sizes).stdout)
    assert report["target"]["device"] == report["draft"]["device"] == plain["device"]
    assert report["equal"]["same"] > 0
    assert report["equal"]["different"] == report["equal"]["not_examined"] == 0


def test_costs_are_measured_there(environment: dict[str, str]) -> None:
    done = _run(environment, "calibrate", "--json", "--budget", "3", *ALL, "--draft-gpu-layers", "0")
    report = json.loads(done.stdout)
    assert (report["device"] != "cpu", report["draft_device"]) == (True, "cpu")
    assert len(report["verify"]) > 1
    assert report["draft_ms"] > 0.0


def test_ctrl_c_ends_a_reply(environment: dict[str, str]) -> None:
    command = [*ENGINE, "generate", *ALL, "--lookahead", "4", "--temperature", "1.5", PROMPT]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors


def test_a_card_without_memory_is_one_line(environment: dict[str, str]) -> None:
    done = _run({**environment, "GGML_VK_FORCE_MAX_BUFFER_SIZE": "100000"}, "generate", *ALL, "--max-tokens", "4", "A")
    if done.returncode == 0:
        pytest.skip("not Vulkan: its buffers cannot be limited")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("outrider-engine:")]
    assert done.returncode == 2
    assert "Give it fewer layers (GPU layers)" in line
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("left_mib", [100, 600])
def test_a_card_that_others_fill_is_one_line(environment: dict[str, str], left_mib: int) -> None:
    """With 100 MiB there is no room for a context of CUDA's, with more for some of what a model takes."""
    if not any(Path(str(LIBRARIES)).glob("libggml-cuda*")):
        pytest.skip("not CUDA")
    command = [sys.executable, "-c", FULL, str(left_mib * 2**20)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "full\n"
        done = _run(environment, "generate", *ALL, "--max-tokens", "4", "A")
        other.communicate("")
    assert "Traceback" not in done.stderr
    if done.returncode != 0:
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("outrider-engine:")]
        assert done.returncode == 2
        assert "Give it fewer layers (GPU layers)" in line
    assert done.returncode == 2 or left_mib > 100


def test_without_a_driver_the_processor_computes_and_a_line_says_so(environment: dict[str, str]) -> None:
    missing = {"VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent", "CUDA_VISIBLE_DEVICES": ""}
    done = _run({**environment, **missing}, "generate", "--json", *ALL, "--max-tokens", "4", "A")
    assert json.loads(done.stdout)["device"] == "cpu"
    assert "llama.cpp finds no graphics card that it can use: demo-target.Q8_0 runs on the processor." in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="hides the library in Linux's way")
def test_without_the_loader_of_drivers_the_processor_computes_where_it_is_in_a_module(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """The build of the installers has the card's code in a module; from the sources everything is linked with it."""
    if not any(Path(str(LIBRARIES)).glob("libggml-vulkan*")):
        pytest.skip("not Vulkan")
    (tmp_path / "libvulkan.so.1").touch()
    done = _run({**environment, "LD_LIBRARY_PATH": str(tmp_path)}, "generate", "--json", *ALL, "--max-tokens", "4", "A")
    assert "Traceback" not in done.stderr
    if done.returncode != 0:
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("outrider-engine:")]
        assert "libvulkan.so.1" in line
        assert "A build for graphics cards needs the card's driver" in line
        assert not PROGRAM
        return
    assert json.loads(done.stdout)["device"] == "cpu"
    assert "llama.cpp finds no graphics card that it can use: demo-target.Q8_0 runs on the processor." in done.stderr
