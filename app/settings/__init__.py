"""The settings file: its contents, their validation and saving.

Door: settings.Settings and autosave.Autosave.
Never imported here: widgets, the store and the engine's internals.
"""
