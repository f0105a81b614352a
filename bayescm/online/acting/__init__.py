"""What follows from a monitor: alarms are handed over, a challenger is promoted or dropped."""
