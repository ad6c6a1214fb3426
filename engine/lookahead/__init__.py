"""Lookahead: choose the number of tokens that the next round proposes, from measured costs and acceptance.

Door: knowledge.learn_pair, policy.AutoLookahead and policy.make_policy.
Never imported here: concrete drafters, the loop and concrete backends.
"""
