"""The library: which models a folder holds, what they need and which of them go together.

Door: scan.scan_folder, compat.judge_pair, names.resolve_source and memory_needs.memory_needs.
Never imported here: concrete backends and engine.loading.
"""
