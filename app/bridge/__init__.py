"""The bridge: the only thread that runs the engine.

Door: bridge.Bridge.
Never imported here: app.state.models aside, any other room of the app.
"""
