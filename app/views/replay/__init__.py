"""Views of a replay: a recorded reply is played back, round by round.

Door: player.ReplayPlayer and dialog.ReplayDialog.
Never imported here: the bridge, the shell, threads and tasks; views.window and views.chat.
"""
