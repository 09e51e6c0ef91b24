"""Servers of settled rows over Arrow Flight and WebSocket."""

from whimbrel.connect.serving.broadcast_sink import Published
from whimbrel.connect.serving.flight_server import FlightServer
from whimbrel.connect.serving.websocket_server import WebSocketServer

__all__ = ["FlightServer", "Published", "WebSocketServer"]
