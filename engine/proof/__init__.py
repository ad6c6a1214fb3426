"""Replies that prove themselves: a file that says how a reply was made, and whether it comes out the same again.

Door: content.describe_reply, content.make_proof, content.read_proof, verify.verify_proof.
Never imported here: the command line, the server and the window.
"""
