"""The cache law over a fixed order of starts and finishes: fast enough to be run once for every size in question.

Requests are paths in one static tree, so nothing is ever spelled out: a lookup climbs ranges, not tokens. What it
leaves out is admission: the order is given, each prefill runs whole at its start, and a request holds its slots and its
context until its finish. One request at a time it is the exact replay, decision by decision.
"""
