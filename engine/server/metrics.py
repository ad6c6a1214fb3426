"""Count the server's work, and report it in the format and with the names that Prometheus dashboards for vLLM read."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock

from engine.events import FinishReason, GenerationResult

_KEPT_LINES = 200
_SUCCESSES: tuple[FinishReason, ...] = ("stop", "length", "context", "time")
_FAILURES: tuple[FinishReason, ...] = ("cancelled", "error")


@dataclass(frozen=True, slots=True)
class ServerLine:
    """Describe one request: its time, its path, the status of the answer, and the seconds that it took."""

    time: datetime
    path: str
    status: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """Count a server's replies that run, wait and have ended, and its tokens."""

    running: int = 0
    waiting: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    emitted: int = 0
    proposed: int = 0
    accepted: int = 0


class ServerMetrics:
    """Add up replies, and keep the last requests. Attribute: cancelled (replies that ended before a token).

    Every method may be called from any thread.
    """

    def __init__(self) -> None:
        self.cancelled = 0
        self._lock = Lock()
        self._lines: deque[ServerLine] = deque(maxlen=_KEPT_LINES)
        self._ended: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()

    def count(self, result: GenerationResult) -> None:
        """Count a reply that has ended."""
        stats = result.stats
        counted = {
            "prompt_tokens": result.prompt_tokens,
            "prompt_tokens_cached": result.prompt_tokens - result.prompt_evaluated,
            "generation_tokens": stats.emitted,
            "spec_decode_num_drafts": sum(m.rounds for m in stats.by_method if m.proposed),
            "spec_decode_num_draft_tokens": stats.proposed,
            "spec_decode_num_accepted_tokens": stats.accepted,
        }
        with self._lock:
            self._ended[result.finish_reason] += 1
            self._sums.update(counted)

    def _counts(self) -> tuple[Counter[str], Counter[str]]:
        """Return copies of the counts of replies and of the sums: they go on being changed."""
        with self._lock:
            return self._ended.copy(), self._sums.copy()

    def note(self, path: str, status: int, seconds: float) -> None:
        """Keep a request that was answered."""
        self._lines.append(ServerLine(datetime.now(UTC), path, status, seconds))

    def lines(self) -> tuple[ServerLine, ...]:
        """Return the last requests, the oldest first."""
        return tuple(self._lines.copy())

    def figures(self, running: int, waiting: int) -> ServerFigures:
        """Return the sums."""
        ended, sums = self._counts()
        return ServerFigures(
            running,
            waiting,
            sum(ended.values()),
            sums["prompt_tokens"],
            sums["prompt_tokens_cached"],
            sums["generation_tokens"],
            sums["spec_decode_num_draft_tokens"],
            sums["spec_decode_num_accepted_tokens"],
        )

    def text(self, model: str, running: int, waiting: int) -> str:
        """Return all of it as Prometheus reads it."""
        name = model.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        label = f'{{model_name="{name}"}}'
        ended, sums = self._counts()
        lines = []
        for gauge, value in (("num_requests_running", running), ("num_requests_waiting", waiting)):
            lines += [f"# TYPE vllm:{gauge} gauge", f"vllm:{gauge}{label} {value}"]
        for counter in (
            *("prompt_tokens", "prompt_tokens_cached", "generation_tokens", "spec_decode_num_drafts"),
            *("spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens"),
        ):
            lines += [f"# TYPE vllm:{counter}_total counter", f"vllm:{counter}_total{label} {sums[counter]}"]
        ended["cancelled"] += self.cancelled
        for counter, reasons in (("vllm:request_success", _SUCCESSES), ("outrider:request_failure", _FAILURES)):
            lines.append(f"# TYPE {counter}_total counter")
            for reason in reasons:
                labels = f'{{model_name="{name}",finished_reason="{reason}"}}'
                lines.append(f"{counter}_total{labels} {ended[reason]}")
        return "\n".join([*lines, ""])
