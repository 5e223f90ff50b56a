"""Pools of agents on one host: how many should run, and keeping them so. Read controller.py first."""
