"""The kernels for each instruction set are tried with cases of chance, under sanitizers, and broken on purpose.

llama.cpp's own tests of single operations and, with the tools for it, an emulated ARM processor belong to it.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from llama_build import with_amx

from helpers.campaigns import Campaign
from helpers.paths import BUNDLED_MODELS
from helpers.weights.kernels_check import (
    KERNELS,
    build,
    check,
    copy_of_kernels,
    emulator_of_arm,
    lacks_arm_tools,
    needs_linux,
    needs_llama_source,
    processor_has,
    settings_for_arm,
)

pytestmark = [pytest.mark.soak, needs_linux, needs_llama_source, pytest.mark.timeout(7_200)]

CASES = 5_000
CASES_SANITIZED = 1_000
CASES_EMULATED = 500
LONG, SHARE_LONG = ("--long", "--only", "attention"), 20
"""Attention to up to 40,000 positions, and how seldom it is tried."""

_AVX2 = {f"GGML_{name}": "ON" for name in ("SSE42", "AVX", "AVX2", "FMA", "F16C", "BMI2")} | {"GGML_NATIVE": "OFF"}
_AVX512 = _AVX2 | {"GGML_AVX512": "ON"}
_NEEDS_AVX512 = ("avx512f", "avx512bw", "avx512vl", "avx512dq")
BUILDS = {
    "avx2": (_AVX2, ("avx2", "fma", "f16c")),
    # 256 bits wide, in the encoding of AVX-512.
    "avx2-vnni": (_AVX2 | {"CMAKE_CXX_FLAGS": "-mavx512vl -mavx512vnni"}, (*_NEEDS_AVX512, "avx512_vnni")),
    # In the encoding without AVX-512; where the processor lacks that, it is encoded the other way.
    "avx2-vnni-vex": (_AVX2 | {"GGML_AVX_VNNI": "ON"}, (*_NEEDS_AVX512, "avx512_vnni")),
    "avx512": (_AVX512, _NEEDS_AVX512),
    "avx512-vnni": (_AVX512 | {"GGML_AVX512_VNNI": "ON"}, (*_NEEDS_AVX512, "avx512_vnni")),
}
_SANITIZERS = "-fsanitize=address,undefined -fno-omit-frame-pointer -g1"
"""What is undefined is told, and the program goes on: llama.cpp's own products shift into the sign, and more."""

BROKEN = {
    # A token alone takes another way than several: right, but with other bits.
    "another way for one token": (
        "mul_mat.cpp",
        "!params->use_ref && outrider::multiply(",
        "!params->use_ref && ggml_nrows(dst->src[1]) != 1 && outrider::multiply(",
        "alone and among all",
    ),
    # One block of weights more is read than there is: no result shows it.
    "a block too many": (
        "products.h",
        "blocks(weights->ne[0] / ggml_blck_size(Format::TYPE))",
        "blocks(weights->ne[0] / ggml_blck_size(Format::TYPE) + 1)",
        "CRASHED|BROKEN",
    ),
    "a number of a quantised cache too small": (
        "attention_packed.h",
        "return centred(bytes, 8);",
        "return centred(bytes, 9);",
        "wrong by",
    ),
    # All of four groups of eight weights as the first one.
    "weights moved the wrong way": (
        "grids.h",
        "dwords_right(down, first + 4 * n)",
        "dwords_right(down, first)",
        "wrong by",
    ),
    # llama.cpp's own attention for a token alone.
    "another attention for one token": (
        "attention.cpp",
        "params->use_ref || !Attention::fits(dst)",
        "params->use_ref || dst->src[0]->ne[1] == 1 || !Attention::fits(dst)",
        "alone and among all|wrong by",
    ),
    "packed experts taken for a file's rows": (
        "mul_mat.cpp",
        "return multiply_packed_experts(params, dst, expert, expert_rows, scratch) ||",
        "return",
        "of experts, packed and not",
    ),
    "a wrong scale": ("attention.cpp", "scale(parameter(dst, 0))", "scale(1.001f * parameter(dst, 0))", "wrong by"),
}


_ASSEMBLER = """#!/bin/sh
for file; do
    case "$file" in *.s) sed -i 's/{{vex}} *vpdp/vpdp/' "$file" ;; esac
done
exec {} "$@"
"""


def _with_other_encoding(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """Encode the compiler's AVX-VNNI instructions as AVX-512 has them, if the processor has that alone."""
    assembler = folder / "as"
    assembler.write_text(_ASSEMBLER.format(shutil.which("as")), encoding="utf-8")
    assembler.chmod(0o755)
    return settings | {"CMAKE_CXX_FLAGS": f"-B{folder}", "CMAKE_C_FLAGS": f"-B{folder}"}


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
def test_compiled_for_a_processor_with_amx_there_is_none_of_it() -> None:
    """As -march=native is on such a processor, and as llama.cpp's own variant for it."""
    flags = "-march=sapphirerapids"
    settings = {"CMAKE_C_FLAGS": flags, "CMAKE_CXX_FLAGS": flags, "GGML_NATIVE": "OFF"}
    settings |= {"GGML_AMX_TILE": "ON", "GGML_AMX_INT8": "ON", "GGML_AMX_BF16": "ON", "BUILD_SHARED_LIBS": "ON"}
    place = build("amx", settings)
    assert list(place.rglob("libggml-cpu*.so*"))
    assert not with_amx(place)


def _note(campaign: Campaign, said: str) -> None:
    same = re.search(r"(\d+) results have the same bits", said)
    largest = re.search(r"largest error ([\d.]+)", said)
    assert same is not None, said
    assert largest is not None, said
    campaign.note(results=int(same[1]), largest_error=float(largest[1]))


@pytest.mark.parametrize("name", BUILDS)
def test_every_instruction_set(campaign: Campaign, tmp_path: Path, name: str) -> None:
    settings, needed = BUILDS[name]
    if not processor_has(*needed):
        pytest.skip(f"this processor lacks one of {', '.join(needed)}")
    if name == "avx2-vnni-vex" and not processor_has("avx_vnni"):
        settings = _with_other_encoding(tmp_path, settings)
    program = build(name, settings) / "kernels-check"
    cases = campaign.tries(CASES)
    _note(campaign, check(program, "--seed", str(campaign.seed), "--cases", str(cases)))
    check(program, *LONG, "--seed", str(campaign.seed), "--cases", str(cases // SHARE_LONG))


@pytest.mark.parametrize("name", ["avx2", "avx2-vnni", "avx512-vnni"])
def test_sanitizers_find_nothing(campaign: Campaign, name: str) -> None:
    settings, needed = BUILDS[name]
    if not processor_has(*needed):
        pytest.skip(f"this processor lacks one of {', '.join(needed)}")
    flags = {"CMAKE_C_FLAGS": _SANITIZERS, "CMAKE_CXX_FLAGS": _SANITIZERS}
    # Further optimised, the products would take the compiler an hour.
    flags |= {"CMAKE_C_FLAGS_RELEASE": "-O1 -DNDEBUG", "CMAKE_CXX_FLAGS_RELEASE": "-O1 -DNDEBUG"}
    program = build(f"{name}-sanitized", settings | flags) / "kernels-check"
    cases = campaign.tries(CASES_SANITIZED)
    # What llama.cpp's pool of threads keeps at the end is no leak of ours.
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    said = ""
    for tries, words in ((cases // SHARE_LONG, LONG), (cases, ())):
        command = [str(program), *words, "--seed", str(campaign.seed), "--cases", str(tries)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        assert not [line for line in done.stderr.splitlines() if "runtime error" in line and str(KERNELS) in line]
        said = done.stdout
    _note(campaign, said)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found(tmp_path: Path, name: str) -> None:
    changed, old, new, said = BROKEN[name]
    kernels = copy_of_kernels(tmp_path, changed, old, new)
    program = build("broken", {}, kernels=kernels) / "kernels-check"
    assert re.search(said, check(program, "--cases", "300", expected=1))


def test_llama_cpp_tests_of_operations_pass() -> None:
    """Its test-backend-ops compares each operation with its reference, which does without the kernels."""
    program = build("whole", {"OUTRIDER_WHOLE": "ON"}, "test-backend-ops") / "bin" / "test-backend-ops"
    for operation in ("MUL_MAT", "MUL_MAT_ID", "FLASH_ATTN_EXT"):
        said = check(program, "test", "-b", "CPU", "-o", operation)
        passed = re.search(r"(\d+)/(\d+) tests passed", said)
        assert passed is not None, said[-2000:]
        assert int(passed[1]) == int(passed[2]) > 0, said[-2000:]


@pytest.mark.parametrize("emulated", ["max", "cortex-a76", "cortex-a72"])
def test_an_emulated_arm_processor(campaign: Campaign, emulated: str) -> None:
    """With i8mm, with dot products alone, and without them, where llama.cpp's own code remains."""
    if lacking := lacks_arm_tools():
        pytest.skip(f"not here: {lacking}")
    features = {"max": "armv8.2-a+dotprod+fp16+i8mm", "cortex-a76": "armv8.2-a+dotprod+fp16", "cortex-a72": "armv8-a"}
    settings = settings_for_arm(features[emulated]) | {"OUTRIDER_WHOLE": "ON"}
    place = build(f"arm-{emulated}", settings, "kernels-check", "greedy-check")
    emulator = emulator_of_arm(emulated)
    arguments = ("--small", "--seed", str(campaign.seed), "--cases", str(campaign.tries(CASES_EMULATED)))
    said = check(place / "kernels-check", *arguments, emulator=emulator)
    assert ("same bits" in said) is (emulated != "cortex-a72"), said
    model = str(BUNDLED_MODELS / "demo-target.Q8_0.gguf")
    assert "OTHER" not in check(place / "greedy-check", model, "24", emulator=emulator)
