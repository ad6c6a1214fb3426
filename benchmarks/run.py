"""Run the whole suite, or with ARGS="NAME …" the benchmark of that name in a folder below: `make bench`.

Exit status 1 says that a must is not met; what a benchmark did not foresee gives 2, as all that could not be measured.
"""

import logging
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    # The project for what is measured, its tests for the helpers; not this folder.
    sys.path[:1] = [str(here.parent), str(here.parent / "tests")]
    modules = {path.stem: path.relative_to(here.parent) for path in sorted(here.rglob("*.py"))}
    named = len(sys.argv) > 1 and sys.argv[1] in modules
    module = modules[sys.argv.pop(1) if named else "suite"]
    try:
        runpy.run_module(".".join(module.with_suffix("").parts), run_name="__main__", alter_sys=True)
    except Exception:
        logging.getLogger("bench").exception("The benchmark ended where it should not:")
        sys.exit(2)
