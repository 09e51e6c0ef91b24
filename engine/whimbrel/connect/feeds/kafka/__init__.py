"""Kafka topics as feeds."""
