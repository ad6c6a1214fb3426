"""The Speculation panel: plots, bars and counters.

Door: panel.SpeculationPanel.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
