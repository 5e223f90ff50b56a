"""Text of YAML files <-> fields, byte for byte where nothing changed. Read codec.py first."""
