"""OpenDP's geometric noise, in seconds a draw; run in the peers' environment."""

import json
import time

import opendp.prelude as dp

dp.enable_features("contrib")


def seconds_per_call(function, argument, calls):
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(calls):
            function(argument)
        best = min(best, (time.perf_counter() - start) / calls)
    return best


vector_space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
scalar_space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
many = [50] * 100_000

print(
    json.dumps(
        {
            "version": dp.__version__ if hasattr(dp, "__version__") else None,
            "vector": seconds_per_call(dp.m.make_geometric(*vector_space, scale=1.0), many, 1) / len(many),
            "scalar": seconds_per_call(dp.m.make_geometric(*scalar_space, scale=1.0), 50, 2000),
            "scalar_clamped": seconds_per_call(dp.m.make_geometric(*scalar_space, scale=1.0, bounds=(0, 100)), 50, 500),
        }
    )
)
