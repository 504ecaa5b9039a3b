"""Experiments that are run once, whose records ship with the page."""
