"""Where things are, seen from the tests."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
BENCH = ROOT / "benchmarks" / "run.py"
BUNDLED_MODELS = ROOT / "resources" / "models"

# Small real models made by other people, not part of the project: tests skip without them.
SHARED_MODELS = Path(os.environ.get("OUTRIDER_TEST_MODELS", ROOT.parent / "shared" / "models"))
