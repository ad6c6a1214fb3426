"""Tools that a model may call: their hosts, the permissions, and the loop of replies and results.

Door: tool.Tool, tool.ToolOutput, tool.ToolHost, toolbox.Toolbox, permissions.Permissions, loop.run_tools and its steps.
Never imported here: Qt, backends, and the modules that decide a reply's tokens.
"""
