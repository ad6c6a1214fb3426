"""Words: state in translated sentences.

Door: one file a subject; views ask these functions for their texts.
Never imported here: widgets, app.control and app.bridge.
"""
