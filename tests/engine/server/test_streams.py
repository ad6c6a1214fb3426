"""Replies of several clients in one batch: each is what it is alone."""

import asyncio
import json
import threading
import time

import pytest

from engine.cancel import CancelToken
from engine.config import GenerationRequest, LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled
from engine.library.names import bundled_pair, resolve_source
from engine.server.guard import Limits
from engine.server.request_queue import RequestQueue
from engine.server.streams import ReplyStreams
from helpers.decoding.serving import asked, served
from helpers.models.pairs import open_files

PROMPTS = ("A fox sat", "The rain in the mountains was", "Once upon a time there", "One, two,")


def together(streams: tuple[SpeculativeDecoder, ...], **options: object) -> dict[str, list[int]]:
    """Have each stream write the reply to a prompt of its own, all at once."""
    written: dict[str, list[int]] = {}
    ready = threading.Barrier(len(streams))

    def write(stream: SpeculativeDecoder, prompt: str) -> None:
        ready.wait(60)
        written[prompt] = list(stream.generate(prompt, raw=True, ignore_eos=True, **options).tokens)  # type: ignore[arg-type]

    threads = [threading.Thread(target=write, args=pair) for pair in zip(streams, PROMPTS, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return written


@pytest.mark.parametrize("options", [{}, {"temperature": 0.9, "seed": 3, "top_k": 40}], ids=["greedy", "drawn"])
def test_streams_write_what_each_writes_alone(decoder: SpeculativeDecoder, options: dict[str, object]) -> None:
    asked_for = {"max_tokens": 48, "lookahead": 4, **options}
    alone = {
        prompt: list(decoder.generate(prompt, raw=True, ignore_eos=True, **asked_for).tokens)  # type: ignore[arg-type]
        for prompt in PROMPTS
    }
    streams = decoder.open_streams(4)
    try:
        for _ in range(2):  # The second time all of the prompts are in some cache.
            assert together(streams, **asked_for) == alone
        assert max(stream.stats.proposed for stream in streams) > 0
    finally:
        decoder.close_streams()
    assert decoder.generate(PROMPTS[0], raw=True, ignore_eos=True, max_tokens=48, lookahead=4).stats.emitted == 48


def test_a_head_drafts_in_streams_what_it_drafts_alone() -> None:
    asked_for = {"max_tokens": 24, "lookahead": 3}
    with open_files(bundled_pair()[0], None) as decoder:
        decoder.attach_heads(LoadConfig(resolve_source("demo-head"), trusted=True))
        alone = {
            prompt: list(decoder.generate(prompt, raw=True, ignore_eos=True, **asked_for).tokens)  # type: ignore[arg-type]
            for prompt in PROMPTS
        }
        streams = decoder.open_streams(4)
        for _ in range(2):
            assert together(streams, **asked_for) == alone
        accepted = sum(stream.stats.accepted for stream in streams)
        assert accepted == 2 * decoder.stats.accepted > 0


def test_one_that_is_cancelled_leaves_the_others(decoder: SpeculativeDecoder) -> None:
    expected = list(decoder.generate(PROMPTS[0], raw=True, ignore_eos=True, max_tokens=200, lookahead=4).tokens)
    first, second = decoder.open_streams(2)
    cancel, begun, written = CancelToken(), threading.Event(), list[int]()

    def endless() -> None:
        try:
            for _ in second.stream(PROMPTS[1], cancel=cancel, raw=True, ignore_eos=True, max_tokens=900, lookahead=4):
                begun.set()
        except Cancelled:
            pass

    def write() -> None:
        written.extend(first.generate(PROMPTS[0], raw=True, ignore_eos=True, max_tokens=200, lookahead=4).tokens)

    try:
        threads = [threading.Thread(target=endless), threading.Thread(target=write)]
        threads[0].start()
        assert begun.wait(60)
        threads[1].start()
        cancel.cancel()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        assert written == expected
    finally:
        decoder.close_streams()


def test_a_shared_beginning_is_read_once(decoder: SpeculativeDecoder) -> None:
    prompt = list(range(40, 40 + 150))
    first, second = decoder.open_streams(2)
    try:
        assert first.generate(prompt, max_tokens=2).prompt_evaluated == 150
        assert second.generate([*prompt, 7, 8], max_tokens=2).prompt_evaluated <= 3
    finally:
        decoder.close_streams()


def test_clients_are_served_together(decoder: SpeculativeDecoder) -> None:
    """None is lost or mixed up while streams begin and end beside each other."""
    prompts = [f"Client {number} asks for the {turn}. time" for number in range(6) for turn in range(3)]
    expected = {prompt: decoder.generate(prompt, raw=True, max_tokens=24).text for prompt in prompts}
    got: dict[str, str] = {}
    streams = ReplyStreams(4, least_bytes=0)
    streams.open(decoder, GenerationRequest("Once"), 2**20)  # As it happens where requests wait.
    with served(decoder, Limits(), streams) as url:

        def ask(number: int) -> None:
            for prompt in prompts[3 * number : 3 * number + 3]:
                body = json.dumps({"prompt": prompt, "max_tokens": 24}).encode()
                got[prompt] = asked(url, "/v1/completions", body, X_Client_Id=str(number))[1]["choices"][0]["text"]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        opened = decoder.open_streams(4)  # Those that are there.
        assert sum(stream.stats.emitted for stream in opened) > 0
    assert got == expected


def test_turns_beside_each_other_overtake_nobody() -> None:
    order: list[str] = []

    async def work(queue: RequestQueue, name: str, *, shared: bool) -> None:
        async with queue.take(name, lambda: shared) as beside:
            assert beside == shared
            order.append(f"+{name}")
            await asyncio.sleep(0)
            order.append(f"-{name}")

    async def all_of_it() -> None:
        queue = RequestQueue(9, 2)
        async with queue.take("first") as beside:
            assert not beside
            tasks = [asyncio.create_task(work(queue, name, shared=name != "c")) for name in "abcde"]
            await asyncio.sleep(0)
            assert (queue.running, queue.waiting) == (1, 5)
            queue.share()
            assert (queue.running, queue.waiting) == (2, 5), "one more, which has not noticed yet"
        await asyncio.wait(tasks)
        assert (queue.running, queue.waiting) == (0, 0)

    asyncio.run(all_of_it())
    assert order.index("+c") > max(order.index("-a"), order.index("-b"))
    assert order.index("-c") < min(order.index("+d"), order.index("+e"))
    assert {order.index("+d"), order.index("+e")} == {6, 7}


def test_turns_go_round_until_nothing_fits() -> None:
    """A single client has as many turns beside each other as several ones."""
    running: list[tuple[int, int]] = []

    async def work(queue: RequestQueue, client: str) -> None:
        async with queue.take(client, lambda: True):
            running.append((queue.running, queue.waiting))
            await asyncio.sleep(0)

    async def all_of_it(clients: str) -> None:
        queue = RequestQueue(99, 4)
        async with queue.take("first"):
            tasks = [asyncio.create_task(work(queue, client)) for client in clients]
            await asyncio.sleep(0)
        await asyncio.wait(tasks)
        assert (queue.running, queue.waiting) == (0, 0)

    for clients in ("a" * 24, "ab" * 12, "a" * 20 + "bcd"):
        running.clear()
        asyncio.run(all_of_it(clients))
        assert len(running) == len(clients)
        assert {together for together, waiting in running if waiting > 4} == {4}
    order: list[str] = []

    async def note(queue: RequestQueue, client: str) -> None:
        async with queue.take(client, lambda: True):
            order.append(client)
            await asyncio.sleep(0)

    async def in_turn() -> None:
        queue = RequestQueue(99, 2)
        async with queue.take("first"):
            tasks = [asyncio.create_task(note(queue, client)) for client in "aaaabb"]
            await asyncio.sleep(0)
        await asyncio.wait(tasks)

    asyncio.run(in_turn())
    assert "".join(order[:4]) == "abab", "one of each client, again and again"


@pytest.mark.parametrize("client", ["the same", "another"])
def test_the_second_reply_does_not_wait_for_the_end_of_the_first(client: str) -> None:
    """Streams open as soon as somebody waits, also while a reply is being written that began alone."""
    long = {"prompt": "Once upon a time", "max_tokens": 1200, "logit_bias": {"4": -100}}
    short = {"prompt": "The rain in the mountains was", "max_tokens": 12}
    with open_files(*bundled_pair()) as decoder:
        expected = [
            decoder.generate(body["prompt"], raw=True, max_tokens=body["max_tokens"], logit_bias={4: -100}).text  # type: ignore[arg-type]
            for body in (long, short)
        ]
        with served(decoder, Limits(), ReplyStreams(4, least_bytes=0)) as url:
            got: list[tuple[int, str]] = []

            def ask(number: int, body: dict[str, object], client: str) -> None:
                told = json.dumps({**body, "logit_bias": {"4": -100}}).encode()
                answer = asked(url, "/v1/completions", told, X_Client_Id=client)[1]
                got.append((number, answer["choices"][0]["text"]))

            threads = [threading.Thread(target=ask, args=(0, long, "the same"))]
            threads[0].start()
            while 'vllm:num_requests_running{model_name="demo"} 1' not in asked(url, "/metrics")[1]:
                time.sleep(0.01)
            for _ in range(5):
                threads.append(threading.Thread(target=ask, args=(1, short, client)))
                threads[-1].start()
            for thread in threads:
                thread.join(120)
    assert [number for number, _ in got] == [1, 1, 1, 1, 1, 0]
    assert all(text == expected[number] for number, text in got)
