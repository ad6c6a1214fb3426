"""List llama.cpp's build settings for Outrider. The set-up runs this file alone, before anything is installed."""

from __future__ import annotations

from pathlib import Path

_HOOK = Path(__file__).resolve().parents[1] / "backends" / "llama_cpp" / "kernels" / "ggml.cmake"


def shared_settings() -> dict[str, str]:
    """Return CMake's settings by their names, whatever llama.cpp computes on.

    llama.cpp's llamafile kernels take two tokens or more, so that a token verified with others would get other logits
    than a token alone. The products of llama_cpp/kernels give the same bits for any number of tokens, and are quicker.

    RPC shares the layers of a model out among machines. The faster networks that it could use would make the result
    depend on what is installed where it is compiled.
    """
    return {
        "GGML_LLAMAFILE": "OFF",
        "GGML_RPC": "ON",
        "GGML_RPC_RDMA": "OFF",
        "CMAKE_PROJECT_ggml_INCLUDE": _HOOK.as_posix(),
    }
