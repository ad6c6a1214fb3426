from outrider import bundled_pair, load
with load(*bundled_pair()) as d:
    r = d.generate("x", max_token=3)
    n: str = r.seed
    for x in d.generate_many(["a"], n=2): print(x.logprobs.foo)
