"""What vLLM and SGLang send, written after their documentation: no recording of a server that ran here."""

from typing import Any

from helpers.remote.scripted import piece

VLLM_MODELS: dict[str, Any] = {
    "object": "list",
    "data": [{"id": "meta/big", "object": "model", "owned_by": "vllm", "max_model_len": 4096}],
}
SGLANG_MODELS: dict[str, Any] = {
    "object": "list",
    "data": [{"id": "qwen", "object": "model", "owned_by": "sglang", "max_model_len": 4096}],
}


def usage(written: int, *, prompt: int = 17, cached: int | None = None) -> dict[str, Any]:
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    told = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    return {"usage": told | details}


def vllm_stream() -> list[dict[str, Any]]:
    """A reply that thinks first, with the usage in each piece (`continuous_usage_stats`), and alone at the end."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "meta/big"}
    thought = {"choices": [{"index": 0, "delta": {"reasoning": "Let me see. "}, "finish_reason": None}]}
    return [
        head | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]} | usage(0),
        head | thought | usage(4),
        head | piece("A fox") | usage(7),
        head | piece(" ran.") | usage(9),
        head | piece("", finish="stop") | usage(10),
        head | {"choices": []} | usage(10, cached=16),
    ]


def vllm_metrics(*, replies: int, tokens: int, drafts: int, proposed: int, accepted: tuple[int, ...]) -> str:
    """The page of counters, as far as it speaks of replies and drafts; other lines are there too."""
    label = '{engine="0",model_name="meta/big"}'
    lines = [
        "# HELP vllm:request_success_total Count of successfully processed requests.",
        "# TYPE vllm:request_success_total counter",
        f'vllm:request_success_total{{engine="0",finished_reason="stop",model_name="meta/big"}} {replies - 1}.0',
        'vllm:request_success_total{engine="0",finished_reason="length",model_name="meta/big"} 1.0',
        "# TYPE vllm:generation_tokens_total counter",
        f"vllm:generation_tokens_total{label} {tokens}.0",
        f"vllm:generation_tokens_created{label} 1.7e+09",
        f"vllm:spec_decode_num_drafts_total{label} {drafts}.0",
        f"vllm:spec_decode_num_draft_tokens_total{label} {proposed}.0",
        f"vllm:spec_decode_num_accepted_tokens_total{label} {sum(accepted)}.0",
        f"vllm:num_requests_running{label} 0.0",
    ]
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    lines += [
        f'{name}{{engine="0",model_name="meta/big",position="{place}"}} {count}.0'
        for place, count in enumerate(accepted)
    ]
    return "\n".join([*lines, "python_gc_objects_collected_total 812.0", ""])


def sglang_stream() -> list[dict[str, Any]]:
    """A reply with SGLang's own account of its drafts in the last piece (`return_meta_info`)."""
    last = piece("", finish="stop")
    last["choices"][0]["meta_info"] = {
        "prompt_tokens": 17,
        "completion_tokens": 12,
        "spec_verify_ct": 4,
        "spec_draft_token_num": 12,
        "spec_accept_token_num": 7,
        "spec_accept_rate": 7 / 12,
        "spec_accept_length": 3.0,
    }
    return [piece("A fox"), piece(" ran far."), last, {"choices": [], **usage(12)}]
