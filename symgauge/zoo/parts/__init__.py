"""What families share: reading configurations, placing slots, small sizes. A family's file says what differs."""
