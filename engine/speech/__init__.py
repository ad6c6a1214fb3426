"""Speech: write down what somebody says, with a Whisper model of the user's.

Door: dictated.
Never imported here: Qt and backends; pywhispercpp is imported in the child (dictated_child) alone.
"""
