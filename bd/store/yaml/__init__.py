"""YAML files to fields, and back. Read codec.py first.

- Unchanged parts keep their bytes: comments, order, quotes, line ends.
- codec.py is the only importer of ruamel; plain_reader.py reads what bd itself wrote without it, with the same result.
"""
