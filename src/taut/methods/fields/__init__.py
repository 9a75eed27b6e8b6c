"""Schemes for fields and beams."""
