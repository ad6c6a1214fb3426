"""Widgets that several views share: labels, pickers, notices, icons and the theme.

Door: one file a widget.
Never imported here: any other room of app.views.
"""
