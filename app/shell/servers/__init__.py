"""Servers: asks for those that can be the target, and turns the local one on and off.

Door: windows.ServerWindows, switch.ServerControl.
Never imported here: engine.server, whose switch the bridge has.
"""
