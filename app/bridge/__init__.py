"""The bridge: the only thread that runs the engine.

Door: bridge.EngineBridge, job.Job for its work, serving.ServerSwitch, and worker.Worker for other work.
Never imported here: app.state.models aside, any other room of the app.
"""
