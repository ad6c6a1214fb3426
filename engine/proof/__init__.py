"""Proofs of replies: a file that describes a reply, and its verification by recomputing the reply.

Door: content.describe_reply, content.make_proof, content.read_proof, verify.verify_proof.
Never imported here: the command line, the server and the window.
"""
