"""The fleet in numbers. Read metrics.py first.

flow.py reads a history into rows, which are kept and extended; series.py shows a period over time; charts.py, svg.py and
prometheus.py present the numbers.
"""
