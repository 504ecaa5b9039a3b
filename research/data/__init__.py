"""Sentence pairs and reviews: fetched, held out, and made by a model itself."""
