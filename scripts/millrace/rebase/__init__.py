"""The series, carried to another upstream release."""
