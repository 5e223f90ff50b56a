"""The board of the fleet, as a value, a page and Markdown. Read board.py first."""
