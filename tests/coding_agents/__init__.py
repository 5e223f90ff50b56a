"""Tests of what bd knows of coding agents: pure, with lines as the programs print them (tests/standins/lines.py)."""
