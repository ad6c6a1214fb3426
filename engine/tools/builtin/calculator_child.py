"""Run one piece of JavaScript, in the child, within limits of memory and time.

QuickJS has no files, no network and no timers of its own, and is given none. What it says is cut here.
"""

from __future__ import annotations

import json
import os
from typing import Any

from engine.system.child_side import be_harmless, limit_memory, limit_seconds, own_output

_MEMORY_BYTES = 256 * 2**20
_ENGINE_BYTES = 128 * 2**20
_STACK_BYTES = 512 * 2**10
_MOST_REQUEST_BYTES = 2**20
_MOST_LETTERS, _MOST_JSON = 40_000, 4_000_000

_BEFORE = """
(() => {
  const printed = []; let room = 40000;
  const show = (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null) {
      try { const told = JSON.stringify(value); if (told !== undefined) return told; } catch (_) { }
    }
    return String(value);
  };
  globalThis.console = { log: (...values) => {
    if (room <= 0) return;
    const line = values.map(show).join(' ').slice(0, room);
    room -= line.length + 1; printed.push(line);
  } };
  globalThis.print = globalThis.console.log;
  globalThis.__own = [() => printed.join('\\n'), show, (value) => JSON.stringify(value) ?? ''];
})()
"""
_OWN = (f"{_BEFORE}; __own[0]", "__own[1]", "(() => { const own = __own[2]; delete globalThis.__own; return own; })()")


def run(_argument: str) -> int:
    """Answer the request at the standard input, and give the exit code 0."""
    out = own_output()
    be_harmless()
    request = os.fdopen(0, "rb", closefd=False).read(_MOST_REQUEST_BYTES)
    out.write(json.dumps(_answer(json.loads(request))).encode())
    return 0


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        import quickjs  # noqa: PLC0415 - the parent never loads it
    except ImportError:
        return {"problem": "Calculating needs quickjs-ng: pip install quickjs-ng"}
    limit_memory(_MEMORY_BYTES)
    limit_seconds(request["seconds"] + 1)
    context = quickjs.Context()
    context.set_memory_limit(_ENGINE_BYTES)
    context.set_max_stack_size(_STACK_BYTES)
    context.set_time_limit(request["seconds"])
    try:
        printed, show, as_json = (context.eval(each) for each in _OWN)
        value = context.eval(str(request["code"]))
        answer = {"value": "" if value is None else str(show(value))[:_MOST_LETTERS]}
        answer["printed"] = str(printed())[:_MOST_LETTERS]
        data = as_json(value)
        return answer | ({"json": data} if isinstance(data, str) and len(data) <= _MOST_JSON else {})
    except quickjs.JSException as error:
        return {"problem": " ".join(str(error)[:2_000].split())[:600] or "The code failed."}
    except MemoryError:
        return {"problem": "The calculation takes too much memory."}
