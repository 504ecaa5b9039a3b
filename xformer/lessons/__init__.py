"""Lessons beside the page: what they are made of, how an answer is checked on the live
model, and how they look."""
