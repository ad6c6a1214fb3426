"""Loading: from a name to a loaded backend, tried in a child process first.

Door: open.open_model, and trial_entry.run_hidden_command for the child.
Never imported here: engine.generation, engine.drafting and engine.decoder.
"""
