"""What moves and bends: fields in Hamel form, beams, sections, ends, loads."""
