"""Menus, the command palette and the shortcut sheet.

Door: commands.Commands and palette.CommandPalette.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
