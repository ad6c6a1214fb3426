"""The main window, its panels, About and the first launch.

Door: main_window.MainWindow.
Never imported here: app.bridge, app.shell, threads and tasks.
"""
