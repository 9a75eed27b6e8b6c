"""What a run looks like: pictures."""
