"""Sentence pairs and reviews: fetched, made up, read, and packed into batches."""
