"""Estimates of k-ary randomised response by other libraries; run in the peers' environment."""

import json
import sys
import time

import numpy as np

method, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    given = json.load(file)
k, epsilon, reports = given["k"], given["epsilon"], np.array(given["reports"])

if method == "pure-ldp":
    from pure_ldp.frequency_oracles.direct_encoding import DEServer

    def estimate():
        server = DEServer(epsilon, k)
        for report in reports.tolist():
            server.aggregate(report)
        return np.array([server.estimate(value + 1, suppress_warnings=True) for value in range(k)]) / len(reports)

else:
    from multi_freq_ldpy.pure_frequency_oracles import GRR

    aggregate = {"IBU": GRR.GRR_Aggregator_IBU, "inversion": GRR.GRR_Aggregator_MI}[method]

    def estimate():
        return aggregate(reports, k, epsilon)


estimate()
best = float("inf")
for _ in range(3):
    start = time.perf_counter()
    result = estimate()
    best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "estimate": np.asarray(result, float).tolist()}))
