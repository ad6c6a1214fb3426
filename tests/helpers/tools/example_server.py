"""An MCP server as mcp's own examples make one: three tools, a resource and a prompt."""

import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("Example")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(title="Greet somebody")
def greet(name: str) -> str:
    """Greet."""
    print(f"greeting {name}", file=sys.stderr, flush=True)
    return f"Hello, {name}!"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no such thing")


@server.resource("notes://today")
def today() -> str:
    """Give today's notes."""
    return "Nothing."


@server.prompt()
def review(code: str) -> str:
    """Ask for a review."""
    return f"Review: {code}"


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
