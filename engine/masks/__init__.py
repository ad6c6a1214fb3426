"""Masks: which tokens a constraint leaves at each position of a reply.

Door: reply_masks.ReplyMasks.
Never imported here: drafters, the loop and concrete backends.
"""
