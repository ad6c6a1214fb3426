"""Servers: asks for those that can be the target, turns the local one on and off, and connects programs to it.

Door: windows.ServerWindows, switch.ServerControl.
Never imported here: engine.server, whose switch the bridge has.
"""
