"""Compare: plain and speculative decoding side by side, and the lookahead sweep.

Door: dialog.RunDialog and sweep.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
