"""Loading: from a name to a loaded backend, tried in a child process first.

Door: open.open_model, and trial.check_model_file for the trial.
Never imported here: engine.generation, engine.drafting and engine.decoder.
"""
