"""Tools that a model may call: where they come from, who allows a call, and the loop of replies and results.

Door: tool.Tool, tool.ToolOutput and tool.ToolHost, toolbox.Toolbox, permissions.Permissions, loop.run_tools and the
steps of which it is made (loop.planned_calls, loop.run_call, loop.result_message) for who drives them by itself.
Never imported here: Qt, backends, and the parts of a reply that decide tokens.
"""
