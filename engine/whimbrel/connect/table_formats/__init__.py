"""Tables in the formats of lakes: Delta and Iceberg."""
