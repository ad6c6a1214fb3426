"""Markdown without Qt: blocks while a text grows, nodes, code colours.

Door: blocks and parser.
Never imported here: Qt, and any room of the app but app.state.
"""
