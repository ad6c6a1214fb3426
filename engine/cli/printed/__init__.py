"""Printed output: the tables and the plot of `bench`.

Door: bench_tables.print_report, bench_plot.prepare_plot.
Never imported here: a command, and main.
"""
