"""What bin/test runs, in which order, and what it says at the end. Standard library only."""
