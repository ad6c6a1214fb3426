"""What `make bench` runs: plain decoding, or with ARGS="NAME …" the benchmark of that name beside this file."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here.parent))
    named = len(sys.argv) > 1 and (here / f"{sys.argv[1]}.py").is_file()
    name = sys.argv.pop(1) if named else "decoding"
    runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
