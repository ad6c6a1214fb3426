"""The bridge: the only thread that runs the engine.

Door: bridge.EngineBridge, job.Job for its work, and serving.ServerSwitch.
Never imported here: app.state.models aside, any other room of the app.
"""
