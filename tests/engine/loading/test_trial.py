"""The check of an unknown file before it is loaded: header, memory, a trial in a child process, what has passed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.backends.base import Backend
from engine.backends.llama_cpp import backend as backend_module
from engine.cancel import CancelToken
from engine.cli.main import main as run_command
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, LoadFailed, ModelFileBroken, ModelNotSupported, ModelTooLarge, NotAvailable
from engine.formats.gguf import model as gguf_model
from engine.formats.gguf import reader, types
from engine.library.names import bundled_pair
from engine.loading import early, passed
from engine.loading import open as opening
from engine.loading import trial as probe
from engine.loading.early import trials
from engine.loading.trial import check_model_file, check_model_header
from engine.system.hidden_commands import run_hidden_command
from helpers.models.gguf_writer import Entry, tiny_draft
from helpers.models.random_bert import write_random_bert
from helpers.paths import ROOT
from helpers.processes import run_python

Popen = subprocess.Popen


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return tiny_draft().write(tmp_path / "tiny.gguf")


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The child processes that are started; none may be left."""
    started: list[subprocess.Popen[bytes]] = []

    def popen(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = Popen(*arguments, **options)
        started.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    yield started
    assert all(process.returncode is not None for process in started)


def child_is(monkeypatch: pytest.MonkeyPatch, code: str, *, begins: bool = True) -> None:
    """Let the child run this instead of the trial; `begins`: once it has said that it begins with the file."""
    begin = """print('outrider-probe {"progress": 0.0}', flush=True)\n""" if begins else ""
    monkeypatch.setattr(probe, "_command", lambda: [sys.executable, "-c", begin + code])


def test_a_header_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However often a load asks what a file is: its name, its context, its memory, its heads, its vocabulary."""
    path, read = Path(shutil.copy(bundled_pair()[0], tmp_path / "model.gguf")), list[Path]()
    time.sleep(0.06)  # A file that was written just now is read again.
    monkeypatch.setattr(reader, "_Reader", _counted(reader._Reader, read))
    for _ in range(2):
        with SpeculativeDecoder() as decoder:
            decoder.attach(LoadConfig(path), [])
            assert decoder.find_heads() == ()
    assert read == [path]


def _counted(kind: Callable[..., Any], seen: list[Path]) -> Callable[..., Any]:
    def make(path: Path, *rest: Any) -> Any:
        seen.append(path)
        return kind(path, *rest)

    return make


def test_a_good_file_passes_once_and_is_remembered(tiny: Path, children: list[subprocess.Popen[bytes]]) -> None:
    shown: list[float] = []
    check_model_file(LoadConfig(tiny), progress=shown.append)
    assert len(children) == 1
    assert shown == sorted(shown)
    assert shown[-1] > 0.9
    check_model_file(LoadConfig(tiny))
    assert len(children) == 1


def test_other_settings_and_other_contents_are_tried_anew(tiny: Path, children: list[subprocess.Popen[bytes]]) -> None:
    check_model_file(LoadConfig(tiny))
    check_model_file(LoadConfig(tiny, context_length=32))
    assert len(children) == 2
    stat = tiny.stat()
    draft = tiny_draft(seed=1)
    draft.write(tiny)
    assert tiny.stat().st_size == stat.st_size
    check_model_file(LoadConfig(tiny))
    assert len(children) == 3


def test_a_trusted_file_is_not_tried(tiny: Path, children: list[subprocess.Popen[bytes]]) -> None:
    check_model_file(LoadConfig(tiny, trusted=True))
    tiny.write_bytes(tiny.read_bytes()[:500])
    with pytest.raises(ModelFileBroken):
        check_model_file(LoadConfig(tiny, trusted=True))
    assert not children


def test_a_broken_header_needs_no_child(tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    draft = tiny_draft()
    draft.entries["llama.block_count"] = Entry(types.UINT32, 0)
    with pytest.raises(ModelFileBroken, match="block_count"):
        check_model_file(LoadConfig(draft.write(tmp_path / "x.gguf")))
    draft = tiny_draft()
    draft.entries["general.architecture"] = Entry(types.STRING, "clip")
    with pytest.raises(ModelNotSupported, match="vision part"):
        check_model_file(LoadConfig(draft.write(tmp_path / "x.gguf")))
    assert not children


def test_what_llama_cpp_refuses_is_explained(tmp_path: Path) -> None:
    draft = tiny_draft()
    del draft.tensors["blk.0.attn_q.weight"]
    with pytest.raises(ModelFileBroken, match=r"attn_q\.weight.* not found.*again") as caught:
        check_model_file(LoadConfig(draft.write(tmp_path / "x.gguf")))
    assert "error loading" not in str(caught.value)
    draft = tiny_draft()
    draft.entries = {key.replace("llama.", "klingon."): value for key, value in draft.entries.items()}
    draft.entries["general.architecture"] = Entry(types.STRING, "klingon")
    with pytest.raises(ModelNotSupported, match="does not support the model architecture 'klingon'"):
        check_model_file(LoadConfig(draft.write(tmp_path / "x.gguf")))


def test_a_file_that_ends_the_child_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: list[subprocess.Popen[bytes]]
) -> None:
    # The header would give it away, so that is not looked at here.
    monkeypatch.setattr(gguf_model, "check_model", lambda *_headers: None)
    draft = tiny_draft()
    draft.tensors["blk.0.ffn_up.weight"].kind = 26
    path = draft.write(tmp_path / "x.gguf")
    with pytest.raises(ModelFileBroken, match=r"llama\.cpp cannot run this file"):
        check_model_file(LoadConfig(path))
    assert children[0].returncode < 0
    with pytest.raises(ModelFileBroken):
        check_model_file(LoadConfig(path))
    assert len(children) == 2


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    draft = tiny_draft()
    draft.tensors["output_norm.weight"].data = b"\xff\xff\xff\x7f" * 8
    with pytest.raises(ModelFileBroken, match="weights are damaged"):
        check_model_file(LoadConfig(draft.write(tmp_path / "x.gguf")))


def test_a_template_without_end(tmp_path: Path) -> None:
    draft = tiny_draft()
    loop = "{% for a in 'x' * 99999 %}{% for b in 'x' * 99999 %}{% endfor %}{% endfor %}"
    draft.entries["tokenizer.chat_template"] = Entry(types.STRING, loop)
    path = draft.write(tmp_path / "x.gguf")
    with pytest.raises(ModelFileBroken, match="template does not terminate"):
        opening.open_backend(LoadConfig(path))


def test_a_template_that_refuses_is_no_fault(tmp_path: Path) -> None:
    for template in ("{{ raise_exception('no') }}", "{% broken", "{{ messages[0].x.y.z }}"):
        draft = tiny_draft()
        draft.entries["tokenizer.chat_template"] = Entry(types.STRING, template)
        opening.open_backend(LoadConfig(draft.write(tmp_path / "x.gguf"))).close()


def test_the_fragile_model_is_usable(shared_models: Path) -> None:
    check_model_file(LoadConfig(shared_models / "gguf" / "fragile" / "babyllama105-F32.gguf"))


def test_too_large(tiny: Path, monkeypatch: pytest.MonkeyPatch, children: list[subprocess.Popen[bytes]]) -> None:
    monkeypatch.setattr(probe, "available_memory", lambda: 1000)
    with pytest.raises(ModelTooLarge, match="needs about") as caught:
        check_model_file(LoadConfig(tiny))
    assert caught.value.available == 1000
    check_model_file(LoadConfig(tiny, trusted=True))
    assert not children


@pytest.mark.alone
def test_cancel_before_and_during(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, children: list[subprocess.Popen[bytes]]
) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        check_model_file(LoadConfig(tiny), cancel=cancel)
    assert not children
    cancel.clear()
    child_is(monkeypatch, "import time; time.sleep(60)")
    timer = threading.Timer(0.3, cancel.cancel)
    timer.start()
    started = time.perf_counter()
    with pytest.raises(Cancelled):
        check_model_file(LoadConfig(tiny), cancel=cancel)
    assert time.perf_counter() - started < 0.6
    timer.join()
    assert len(children) == 1


def test_a_child_that_hangs_is_ended(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_LEAST_LIMIT_S", 0.3)
    child_is(monkeypatch, "import time; time.sleep(60)")
    with pytest.raises(ModelFileBroken, match="took too long"):
        check_model_file(LoadConfig(tiny))


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("pass", ModelFileBroken, "it ended with 0"),
        ("import os; os.kill(os.getpid(), 11)", ModelFileBroken, "it ended with -11"),
        ("import os; print('x.cpp:7: GGML_ASSERT(a) failed', flush=True); os.abort()", ModelFileBroken, "ASSERT"),
        ("print('x' * 300000)", ModelFileBroken, "cannot run"),
        ("print('outrider-probe {not json')", ModelFileBroken, "cannot run"),
        ("print('outrider-probe []')", ModelFileBroken, "cannot run"),
        ("raise ImportError('no numpy')", LoadFailed, "no numpy"),
        ("import os; os.kill(os.getpid(), 4)", LoadFailed, "instructions that this processor lacks. Install"),
        ("import os; os.kill(os.getpid(), 9)", LoadFailed, "memory ran out while it was tested. Close"),
        ("import os; print('what():  std::bad_alloc', flush=True); os.abort()", LoadFailed, "memory ran out"),
        ("import os; print('x: out of memory', flush=True); os.kill(os.getpid(), 11)", LoadFailed, "memory ran out"),
        ("raise MemoryError", LoadFailed, "memory ran out"),
        ('raise RuntimeError("can\'t start new thread")', LoadFailed, "memory ran out"),
        ("raise MemoryError from ImportError('because' + '\\n of this' * 60)", LoadFailed, "memory ran out"),
        ("print('out of memory\\n' + 'x\\n' * 99, flush=True); raise ImportError", LoadFailed, "memory ran out"),
        ("raise ImportError('numpy' + '\\nread this' * 99)", LoadFailed, "failed .read this"),
        ("""print('outrider-probe {"verdict": "no memory", "reason": ""}')""", LoadFailed, "memory ran out"),
        ("""print('outrider-probe {"verdict": "not supported", "reason": "why"}')""", ModelNotSupported, "why"),
        ("""print('outrider-probe {"verdict": "broken", "reason": "why"}')""", ModelFileBroken, "why"),
        ("""print('outrider-probe {"verdict": "???", "reason": "why"}')""", LoadFailed, "why"),
    ],
)
def test_what_a_child_may_say(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, code: str, error: type[LoadFailed], words: str
) -> None:
    child_is(monkeypatch, code)
    with pytest.raises(error, match=words) as caught:
        check_model_file(LoadConfig(tiny))
    assert type(caught.value) is error
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("pass", "it ended with 0"),
        ("import os; os.kill(os.getpid(), 11)", "it ended with -11"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("print('OpenBLAS blas_thread_init: pthread_create failed'); raise KeyboardInterrupt", "memory ran out"),
    ],
)
def test_a_child_that_never_opened_the_file(tiny: Path, monkeypatch: pytest.MonkeyPatch, code: str, words: str) -> None:
    child_is(monkeypatch, code, begins=False)
    with pytest.raises(LoadFailed, match=words) as caught:
        check_model_file(LoadConfig(tiny))
    assert type(caught.value) is LoadFailed


_SAID_BY_CUDA = (
    "from engine.backends.llama_cpp.library import LibraryLog; LibraryLog()._keep(4, b'CUDA error: {}\\n', None)"
)


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("os.kill(os.getpid(), 11)", "crashed .signal 11., perhaps in the graphics driver"),
        ("os.kill(os.getpid(), 9)", "Give it fewer layers .GPU layers."),
        ("print('GGML_ASSERT(a) failed', flush=True); os.abort()", "ASSERT"),
        (f"{_SAID_BY_CUDA.format('CUBLAS_STATUS_NOT_INITIALIZED')}; os.abort()", "Give it fewer layers .GPU layers."),
        (f"{_SAID_BY_CUDA.format('unspecified launch failure')}; os.abort()", "perhaps in the graphics driver"),
    ],
)
def test_a_driver_may_be_at_fault(tiny: Path, monkeypatch: pytest.MonkeyPatch, ending: str, words: str) -> None:
    monkeypatch.setattr(probe, "gpu_library_installed", lambda: True)
    child_is(monkeypatch, f"import os; {ending}")
    with pytest.raises(LoadFailed, match=words):
        check_model_file(LoadConfig(tiny))
    with pytest.raises(LoadFailed) as caught:
        check_model_file(LoadConfig(tiny, gpu_layers=0))
    assert "raphics" not in str(caught.value)


@pytest.mark.parametrize("there", [False, True])
def test_a_library_that_cannot_be_loaded_is_not_the_files_fault(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    if there:
        for name in ("libllama.so", "libllama.dylib", "llama.dll"):
            (libraries / name).touch()
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(libraries))
    with pytest.raises(
        NotAvailable, match=r"llama\.cpp cannot be loaded .*A build for graphics cards needs the card's driver"
    ):
        check_model_file(LoadConfig(tiny))


def test_a_child_that_cannot_be_started(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_command", lambda: ["/no/such/program"])
    with pytest.raises(LoadFailed, match="cannot be started"):
        check_model_file(LoadConfig(tiny))


def test_works_from_any_folder(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "trap"
    (trap / "engine").mkdir(parents=True)
    (trap / "engine" / "__init__.py").write_text("raise SystemExit('the wrong engine')")
    (trap / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.chdir(trap)
    check_model_file(LoadConfig(tiny))
    monkeypatch.chdir(tmp_path)
    tiny_draft(seed=3).write(tmp_path / "relative name ü.gguf")
    check_model_file(LoadConfig(Path("relative name ü.gguf")))


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad-\xff.gguf"))
    tiny_draft().write(path)
    check_model_file(LoadConfig(path))


def test_a_frozen_program_starts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert probe._command()[:2] == [sys.executable, "--probe-model"]


def test_other_commands_are_not_ours() -> None:
    assert run_hidden_command([]) is None
    assert run_hidden_command(["models", "--probe-model"]) is None


def test_the_hidden_command_of_the_command_line(tiny: Path) -> None:
    settings = json.dumps(probe._settings(LoadConfig(tiny), check_model_header(tiny)))
    with Popen(
        [sys.executable, "-m", "engine", "--probe-model", settings],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        # The child lives as long as the other end of its input is held open.
        assert process.stdout is not None
        lines = process.stdout.read().splitlines()
        assert process.wait(timeout=60) == 0
    said = [json.loads(line.split(b" ", 1)[1]) for line in lines if line]
    assert said[-1] == {"verdict": "good", "reason": ""}
    done = run_python("-m", "engine", "--probe-model", "{")
    assert done.returncode in {0, 1}
    assert "Traceback" not in done.stderr


def test_the_child_ends_with_its_parent(tiny: Path) -> None:
    code = f"""
import json, subprocess, sys, time
from pathlib import Path
from engine.config import LoadConfig
from engine.loading import trial as probe
path = Path({str(tiny)!r})
settings = json.dumps(probe._settings(LoadConfig(path), probe.check_model_header(path)))
command = [*probe._command()[:-1], settings]
boot = command[3].replace("sys.exit(", "import time; from engine.loading import trial_steps; "
    "trial_steps.try_model = lambda *a: time.sleep(60); sys.exit(")
child = subprocess.Popen([*command[:3], boot, *command[4:]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
time.sleep(60)
"""
    with Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        time.sleep(1.0)
        assert child.is_running()
        parent.send_signal(signal.SIGKILL)
    psutil.wait_procs([child], timeout=5)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"passed": 7}', b'{"passed": [7, null]}', b"\xff" * 9])
def test_a_damaged_memory_is_ignored(tiny: Path, content: bytes) -> None:
    path = passed._passed_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert not passed.has_passed("x")
    passed.remember_passed("x")
    assert passed.has_passed("x")
    assert list(path.parent.iterdir()) == [path]


def test_a_memory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(passed, "_passed_path", lambda: tmp_path / "file" / "passed.json")
    passed.remember_passed("x")
    assert not passed.has_passed("x")


def test_the_memory_is_bounded() -> None:
    for index in range(passed._REMEMBERED + 10):
        passed.remember_passed(str(index))
    assert len(passed._passed()) == passed._REMEMBERED
    assert passed.has_passed(str(passed._REMEMBERED + 9))
    assert not passed.has_passed("0")


def test_a_file_may_be_loaded_while_the_child_that_has_loaded_it_computes(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
    child_is(monkeypatch, f"print('outrider-probe {{\"loaded\": true}}', flush=True)\n{wait}os.kill(os.getpid(), 11)")
    with pytest.raises(ModelFileBroken, match="it ended with -11"), probe.checked_file(LoadConfig(tiny)):
        gate.touch()  # The child lives until then.
    monkeypatch.setattr(probe, "_ROOM_FOR_BOTH", 10**9)
    with pytest.raises(ModelFileBroken, match="it ended with -11"), probe.checked_file(LoadConfig(tiny)):
        pytest.fail("memory has no room for both: the verdict comes first")


def test_each_step_is_taken_after_the_child_and_what_was_loaded_is_freed_where_it_fails_then(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, opened, seen = tmp_path / "taken", list[Backend](), list[tuple[str, str]]()
    taken.touch()
    real = opening._backend("llama.cpp")

    class Opens:
        """The backend, which notes what it opened."""

        @staticmethod
        def open(*args: object, **options: object) -> Backend:
            opened.append(real.open(*args, **options))  # type: ignore[arg-type]
            return opened[-1]

    def note(module: Any, name: str) -> None:
        function = getattr(module, name)

        def noted(*args: object, **options: object) -> Any:
            seen.append((name, taken.read_text().strip()))
            return function(*args, **options)

        monkeypatch.setattr(module, name, noted)

    note(backend_module, "load_model")
    note(backend_module, "make_context")
    note(opening, "note_row_difference")
    monkeypatch.setattr(opening, "_backend", lambda _name: Opens)
    steps = f"""
import json, os, time
for step in ("read", "loaded", "computed"):
    time.sleep(0.1)
    with open({str(taken)!r}, "w") as file:
        file.write(step)
    print("outrider-probe", json.dumps({{step: True}}), flush=True)
time.sleep(0.2)
os.kill(os.getpid(), 11)"""
    child_is(monkeypatch, steps)
    with pytest.raises(ModelFileBroken, match="it ended with -11"):
        opening.open_backend(LoadConfig(tiny))
    order = ["", "read", "loaded", "computed"]
    assert [name for name, _ in seen] == ["load_model", "make_context", "note_row_difference"]
    assert all(order.index(step) > place for place, (_, step) in enumerate(seen)), seen
    assert [backend.closed for backend in opened] == [True]


def test_the_child_of_an_unknown_file_is_started_at_once(
    tiny: Path, capfd: pytest.CaptureFixture[str], children: list[subprocess.Popen[bytes]]
) -> None:
    with pytest.raises(SystemExit):
        run_command(["generate", "-m", str(tiny), "--no-such-option"])
    assert len(children) == 1
    for _ in range(2):
        with trials(LoadConfig(tiny), "no.gguf", None):
            assert len(children) == 2
            check_model_file(LoadConfig(tiny))
            assert len(children) == 2
    with trials(LoadConfig(tiny_draft(seed=1).write(tiny), trusted=True)):
        assert len(children) == 2


def test_the_child_has_a_short_context_where_memory_is_no_question(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = '{"verdict": "broken", "reason": str(json.loads(sys.stdin.readline())["context_length"])}'
    child_is(monkeypatch, f"import json, sys; print('outrider-probe', json.dumps({said}))")
    with pytest.raises(ModelFileBroken, match=str(probe._TRIED_CONTEXT)):
        check_model_file(LoadConfig(tiny, context_length=9000))
    monkeypatch.setattr(probe, "_ROOM_FOR_BOTH", 10**9)
    with pytest.raises(ModelFileBroken, match="9000"):
        check_model_file(LoadConfig(tiny, context_length=9000))


def test_a_file_that_ends_the_child_while_it_reads_ahead(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, children: list[subprocess.Popen[bytes]]
) -> None:
    code = """import os, sys
from engine.backends.llama_cpp import weights
from engine.loading import trial_child
weights.load_model = lambda *_, **_options: os.abort()
trial_child.run(sys.argv[1])"""
    monkeypatch.setattr(early, "trial_command", lambda path: [sys.executable, "-c", code, str(path)])
    with trials(tiny), pytest.raises(ModelFileBroken, match="it ended with -6"):
        check_model_file(LoadConfig(tiny))
    assert len(children) == 1


def test_a_child_that_reads_ahead_tries_a_model_for_vectors_too(
    tiny: Path, tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    """Of such a model nothing can be read ahead; one that writes is refused with its weights read."""
    bert = write_random_bert(tmp_path / "bert.gguf")
    with trials(bert):
        check_model_file(LoadConfig(bert), embeds=True)
    with trials(tiny), pytest.raises(ModelNotSupported, match="no embedding model"):
        check_model_file(LoadConfig(tiny), embeds=True)
    assert len(children) == 2
