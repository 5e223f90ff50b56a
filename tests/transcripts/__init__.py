"""What every command says, word for word: recorded once, compared ever after.

Belongs here: sessions on a few hubs (`hubs.py`, `cases.py`), what runs them (`stage.py`), what makes their answers the same
every time (`plain.py`), and the recordings, `*.txt`. They know nothing of bd but its console entry, so that whoever moves or
renames modules has them as a net. `python -m tests.transcripts --record` writes them anew, where a difference is intended.

In a recording `$` stands before what was typed, `|` before a line of stdout, `!` before one of stderr, `=` before an exit
code other than 0, and `+` before what came to the hub's branch: the commit's message, and its difference.
"""
