"""What we believe: pure functions of (snapshot, settings, now, rng). No I/O, no clock, no state."""
