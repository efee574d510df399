"""What the machine is: joint kinds, bodies, trees, files."""
