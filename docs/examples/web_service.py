"""Answer questions over HTTP: a service of one's own around one decoder, with Starlette and uvicorn.

With `--port N` it serves until Ctrl+C; without, it asks itself two questions at once and ends. It needs the extra
`server`. For OpenAI's interface there is `outrider-engine serve`.
"""

import asyncio
import json
import socket
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import uvicorn
from outrider import CancelToken, EngineError, InvalidRequest, SpeculativeDecoder, bundled_pair, load
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

MOST_TOKENS, LONGEST_S = 200, 30.0


def make_service(decoder: SpeculativeDecoder) -> Starlette:
    """Return the service. A decoder writes one reply at a time: requests wait for their turn."""
    turn = asyncio.Lock()

    async def answer(request: Request) -> JSONResponse:
        try:
            asked = await request.json()
            question = str(asked["question"])
        except (ValueError, KeyError, TypeError):
            return JSONResponse({"error": 'Send JSON with a "question".'}, 400)
        try:
            async with turn:
                # A token of its own: who gives up ends no other's reply.
                result = await decoder.agenerate(
                    question, cancel=CancelToken(), max_tokens=MOST_TOKENS, max_time=LONGEST_S
                )
        except EngineError as error:
            return JSONResponse({"error": str(error)}, 400 if isinstance(error, InvalidRequest) else 500)
        return JSONResponse({"answer": result.content.strip(), "finish_reason": result.finish_reason})

    return Starlette(routes=[Route("/answer", answer, methods=["POST"])])


def ask(port: int, question: str) -> str:
    """Return the service's answer."""
    body = json.dumps({"question": question}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/answer", body, timeout=60) as reply:
        return str(json.load(reply)["answer"])


with load(*bundled_pair()) as decoder, socket.socket() as listening:
    listening.bind(("127.0.0.1", int(sys.argv[2]) if sys.argv[1:2] == ["--port"] else 0))
    listening.listen()
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(make_service(decoder), log_level="warning"))
    if sys.argv[1:2] == ["--port"]:
        print(f'curl http://127.0.0.1:{port}/answer -d \'{{"question": "Hello!"}}\'')
        server.run(sockets=[listening])
    else:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        questions = ("Tell me a joke.", "What is Outrider?")
        with ThreadPoolExecutor() as clients:
            for question, said in zip(questions, clients.map(lambda each: ask(port, each), questions), strict=True):
                print(f"{question}\n    {said}")
        server.should_exit = True
        thread.join()
