"""Rendered Markdown: text, code bars, links and folded reasoning.

Door: reply.ReplyView.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
