"""Measured comparisons of ways to decode: turns, medians, spread and equality.

Door: measure.measure_ways for the window, measure.measure for the command line.
Never imported here: engine.cli and anything that prints.
"""
