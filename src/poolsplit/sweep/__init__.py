"""A grid of points run through any executor, each once, in any order, with one answer."""
