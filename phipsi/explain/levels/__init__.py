"""An expression explained on seven levels, from its operators to coordinate transforms."""
