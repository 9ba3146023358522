"""The wire: what a report is as bytes, one by one and in bulk; nothing here knows a mechanism."""
