"""Servers of settled rows over Arrow Flight and WebSocket."""

from whimbrel.connect.serving.broadcast_sink import Published
from whimbrel.connect.serving.durable_rows import DurableRows
from whimbrel.connect.serving.flight_server import FlightServer, ServedLevel
from whimbrel.connect.serving.websocket_server import WebSocketServer

__all__ = ["DurableRows", "FlightServer", "Published", "ServedLevel", "WebSocketServer"]
