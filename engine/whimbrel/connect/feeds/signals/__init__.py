"""Feeds of samples: datagrams, Lab Streaming Layer, sound card and generated waves."""
