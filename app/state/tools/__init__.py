"""Tools as the window shows them: which are on, whose they are, and how their hosts are.

Door: choice.ToolChoice, shown.HostShown, shown.ToolShown.
Never imported here: Qt, and any room of the app but app.state.
"""
