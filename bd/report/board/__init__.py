"""The fleet on one page. board.py computes it as a value; markdown.py and board_page.py show it."""
