"""The interfaces of the local server: bodies of requests to requests of the engine, and replies back.

Door: a read_… function and a Form for each interface, in requests, replies, responses, messages and texts.
Never imported here: Starlette and the rest of the server.
"""
