"""Real clients of the Go tool, unmodified, on top of bd.

`make clients` installs them into `.clients/`; without them, or without node or a browser, these tests
are skipped and say what is missing. What the clients send is also tested without them, in
tests/cli/test_clients.py.
"""
