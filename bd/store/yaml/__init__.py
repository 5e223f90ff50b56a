"""Text of YAML files to fields, and back. Read codec.py first.

- What is not changed keeps its bytes: comments, order, quotes, line ends.
- codec.py is the only importer of ruamel; plain_reader.py reads what bd itself wrote without it, to the same result.
"""
