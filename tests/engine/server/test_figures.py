"""What the server counts: from any thread, and each end of a reply under its own name."""

import threading
from dataclasses import replace
from typing import get_args

from engine.events import FinishReason, GenerationResult
from engine.server.metrics import ServerMetrics
from engine.stats import GenerationStats

RESULT = GenerationResult("a", (1, 2), 7, 5, "stop", "a", 0, GenerationStats(plain_tokens=2))


def test_each_end_is_counted_under_its_own_name() -> None:
    metrics = ServerMetrics()
    for reason in get_args(FinishReason):
        metrics.count(replace(RESULT, finish_reason=reason))
    metrics.cancelled += 1
    text = metrics.text("a", 0, 0)
    counted = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    for reason in ("stop", "length", "context", "time"):
        assert counted[f'vllm:request_success_total{{model_name="a",finished_reason="{reason}"}}'] == "1"
    told = {name: value for name, value in counted.items() if name.startswith("outrider:request_failure_total")}
    assert [(name.split('"')[-2], value) for name, value in told.items()] == [("cancelled", "2"), ("error", "1")]
    assert not [name for name in counted if "success" in name and ("cancelled" in name or "error" in name)]
    assert metrics.figures(0, 0).replies == 6


def test_figures_are_read_while_others_count() -> None:
    """The window reads them on its own thread; a reason that is new changes the size of the counter."""
    failures: list[Exception] = []
    over = threading.Event()
    metrics = [ServerMetrics()]

    def read() -> None:
        while not over.is_set():
            try:
                metrics[-1].figures(0, 0)
                metrics[-1].text("a", 0, 0)
            except RuntimeError as error:
                failures.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for _ in range(300):
            metrics.append(ServerMetrics())
            for reason in get_args(FinishReason):
                metrics[-1].count(replace(RESULT, finish_reason=reason))
    finally:
        over.set()
        thread.join(30)
    assert not failures
    held = metrics[-1]
    with held._lock:
        waits = threading.Thread(target=held.figures, args=(0, 0))
        waits.start()
        waits.join(0.1)
        assert waits.is_alive(), "what is being counted is not read"
    waits.join(30)
