"""The only way to write: decide, push by compare-and-swap, find out what became of it. Read driver.py first."""
