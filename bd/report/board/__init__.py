"""The fleet on one page. board.py works it out as a value; markdown.py and board_page.py show it."""
