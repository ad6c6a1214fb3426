"""The library: a folder's models, their needs and their pairs.

Door: scan.scan_folder, compat.judge_pair, names.resolve_source and memory_needs.memory_needs.
Never imported here: concrete backends and engine.loading.
"""
