"""The settings file: what it holds, how it is checked and saved.

Door: settings.Settings and autosave.Autosave.
Never imported here: widgets, the store and the engine's inside.
"""
