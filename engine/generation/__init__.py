"""Generation of one reply: a request becomes a plan, and the loop runs it.

Door: planner.make_plan and loop.GenerationLoop.
Never imported here: engine.decoder and concrete backends.
"""
