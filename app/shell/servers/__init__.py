"""Servers: asks for the target's address, turns the local server on and off, and connects programs to it.

Door: windows.ServerWindows, switch.ServerControl.
Never imported here: engine.server, whose switch the bridge has.
"""
