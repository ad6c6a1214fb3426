"""Measured comparisons of ways to decode: turns, medians, spread and equality.

Door: measure.measure_ways for the window, runs.run_benchmark for the command line.
Never imported here: engine.cli and anything that prints.
"""
