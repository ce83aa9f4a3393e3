"""Answers as text for people and as documents for programs."""
