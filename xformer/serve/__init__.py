"""Text in, results out: services, batching, limits, and the pool of loaded models."""
