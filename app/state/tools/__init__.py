"""Tools for the window: those that are on, their hosts, and the hosts' states.

Door: choice.ToolChoice, shown.HostShown, shown.ToolShown.
Never imported here: Qt, and any room of the app but app.state.
"""
