"""What learners show when they are trained more than once, or side by side."""
