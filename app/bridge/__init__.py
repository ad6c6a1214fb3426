"""The bridge: the only thread that runs the engine.

Door: bridge.EngineBridge, and job.Job for its work.
Never imported here: app.state.models aside, any other room of the app.
"""
