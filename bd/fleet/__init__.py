"""What runs over time, and what sets a fleet up."""
