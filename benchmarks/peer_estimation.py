"""Estimates of k-ary randomised response by other libraries; run in the peers' environment."""

import json
import sys
import time

import numpy as np

module, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    given = json.load(file)
k, epsilon = given["k"], given["epsilon"]
reports, matrix = np.array(given["reports"]), np.array(given["matrix"])

if module == "multi_freq_ldpy":
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator

    def estimate():
        return GRR_Aggregator(reports, k, epsilon)

elif module == "pure_ldp":
    from pure_ldp.frequency_oracles.direct_encoding import DEServer

    def estimate():
        server = DEServer(epsilon, k)
        for report in reports.tolist():
            server.aggregate(report)
        return np.array([server.estimate(value + 1, suppress_warnings=True) for value in range(k)]) / len(reports)

else:
    import qif

    def estimate():
        q = np.bincount(reports, minlength=k) / len(reports)
        p = np.full(k, 1 / k)
        for _ in range(5000):  # the iterative Bayesian update, with its products
            p = p * (matrix @ (q / (p @ matrix)))
        return p

    assert qif  # libqif itself has no estimator of this kind: its users write the update


estimate()
best = float("inf")
for _ in range(3):
    start = time.perf_counter()
    result = estimate()
    best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "estimate": np.asarray(result, float).tolist()}))
