"""Masks: which tokens a constraint leaves at each position of a reply.

Door: request_masks.masks_of, and what it returns: reply_masks.ReplyMasks, late_end.LateEnd.
Never imported here: drafters, the loop and concrete backends.
"""
