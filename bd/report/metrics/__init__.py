"""The fleet in numbers. Read metrics.py first.

flow.py reads a history into rows that are kept and extended; series.py looks at a stretch of time; charts.py, svg.py and
prometheus.py show the numbers.
"""
