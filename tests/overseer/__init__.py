"""Tests of bd/overseer."""
