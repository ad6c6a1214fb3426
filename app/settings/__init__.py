"""The settings file: what it holds, how it is checked and saved.

Door: settings.Settings and keeper.SettingsKeeper.
Never imported here: widgets, the store and the engine's inside.
"""
