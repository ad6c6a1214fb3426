"""Masks: the tokens that a constraint permits at each position of a reply.

Door: request_masks.masks_of, and its results: reply_masks.ReplyMasks, late_end.LateEnd.
Never imported here: drafters, the loop and concrete backends.
"""
