"""What can be read out of a hub: selections, history, the doctor's findings."""
