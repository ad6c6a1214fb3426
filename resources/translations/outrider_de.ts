<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
    <context>
        <name>AboutDialog</name>
        <message>
            <source>About Outrider</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Program</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Licences</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copy versions</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copy the versions, for a report</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Version {number} · {kind}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A small model rides ahead, a large one decides: chat with local models.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>run from source</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>standard, with llama.cpp</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>full, with llama.cpp and PyTorch</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>installed</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Settings</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Data</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Log</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Parts of the program</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Licence text</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>No text of the licence was installed with this part.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copied</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Activity</name>
        <message>
            <source>Checking {subject}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Loading {subject}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Measuring this pair, once…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Reading the prompt ({subject} tokens)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Looking for models in {subject}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Waiting for the measurement to end</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Waiting for the reply in another chat</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>BranchPicker</name>
        <message>
            <source>Version {number} of {count}</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>CodeBar</name>
        <message>
            <source>Copy the code</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>CommandPalette</name>
        <message>
            <source>Command palette</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>What is to be done?</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Command</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Commands</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Nothing found</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Conversation</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Commands</name>
        <message>
            <source>Chat</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Conversations</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Models</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Speculation</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>View</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Program</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>CompareDialog</name>
        <message>
            <source>Compare plain and speculative</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Speedup</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Outputs</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Answers the prompt plain and speculative, in turns. A question sent meanwhile waits.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ConversationDesk</name>
        <message>
            <source>What you write now is not kept.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>cancelled</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>failed</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>interrupted</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>being written</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>You</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Reply</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Conversation</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>with {draft}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{speed:.1f} tokens/s</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>acceptance rate {rate:.0%}</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ConversationPanel</name>
        <message>
            <source>New chat</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>New chat (Ctrl+N)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Import a conversation…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Conversations</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Deleted</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Undo</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Nothing found</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Rename</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Unpin</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Pin</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Export as Markdown…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Export as JSON…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Import…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Delete</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ConversationRows</name>
        <message>
            <source>New chat</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{title}, pinned</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Pinned</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Today</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Yesterday</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Previous 7 days</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Older</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>CounterGrid</name>
        <message>
            <source>Rounds</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>One round: propose, verify, accept, commit</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Proposed</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Draft tokens that the target verified</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Accepted</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Proposed tokens that were kept</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Acceptance rate</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Accepted / proposed</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Mean length</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Tokens per round, corrections and bonuses included</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Tokens/s</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Of the last second while a reply is written, then of all of it</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>DropVeil</name>
        <message>
            <source>Drop it here</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A model becomes the target, a folder is searched for models, a conversation (.json) is imported.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Errors</name>
        <message>
            <source>There is not enough memory for this. Choose a smaller model, or close other programs.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Something unexpected went wrong ({error}). You can go on. To report it, copy the details.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ExchangeView</name>
        <message>
            <source>Reply</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Continue</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Figures</name>
        <message>
            <source>1 token</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{count} tokens</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{speed} tok/s</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{rate} accepted</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>without the oldest message</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>without the oldest {count} messages</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>cancelled</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>not answered</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The program ended while this was being written.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>stopped at the limit</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>the context is full</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>an empty reply</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Files</name>
        <message>
            <source>Markdown (*.md)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Conversation (*.json)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Export the conversation</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Import a conversation</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>LinkQuestion</name>
        <message>
            <source>Open this link?</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Write to this address?</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Open this link in your browser?</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Address</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Open</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copy</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>LivePlot</name>
        <message>
            <source>Scroll: {plot}</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>LoadNotice</name>
        <message>
            <source>Load anyway</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Do not load it</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Lookahead</name>
        <message>
            <source>auto: by measurement</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>K = {k}, expected {speedup}×</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>K = {k}, trying whether it pays</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain: this draft doesn't pay here</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>K = {k} (fixed)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain: the lookahead is 0</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain: no draft is chosen</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain: the text repeats too little</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Lookahead, from the text so far</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Lookahead</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>MainWindow</name>
        <message>
            <source>About Outrider…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Quit</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Choose the models folder</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Deleted</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Undo</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Everything is saved again.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>MarkdownText</name>
        <message>
            <source>Reply</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The rest of this reply is too long to be shown. Copying the reply gives all of it.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>MessageActions</name>
        <message>
            <source>Edit and send again</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copy your message</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Delete this message and its reply</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The version of your message before</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The next version of your message</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Write another reply</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Continue this reply</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copy the reply</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The reply before this one</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The next reply</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ModelBar</name>
        <message>
            <source>Target</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Draft</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Lookahead: tokens proposed per round. Auto measures what pays; 0 is plain decoding.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Lookahead</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Auto</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Each round as many as promise the most tokens per second</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Show or hide the chats</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Show or hide the Speculation panel</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Colour tokens (Ctrl+T)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Colour tokens</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Choose the models folder</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Settings</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Choose a target</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>none</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Plain decoding: no draft</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>It is loaded with the next message.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ModelDesk</name>
        <message>
            <source>No target is chosen. Choose one above, or a folder with GGUF models.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>NoticeBar</name>
        <message>
            <source>Undo</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>PanelTools</name>
        <message>
            <source>Speculation</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Pause the plots</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Save the plots</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>As a picture (PNG)…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>As a table (CSV)…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Go on drawing</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Save the plots as a picture</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Pictures (*.png)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Save the figures as a table</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Tables (*.csv)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cannot save {path}: {reason}. Choose another folder.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Saved as {path}</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>PositionBars</name>
        <message>
            <source>Acceptance by position</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>position {place}: {rate} of {proposed}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>position in the draft</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Accepted of the proposed tokens</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ProblemView</name>
        <message>
            <source>Problem</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Choose a folder…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>New chat</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copy details</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ProgressStrip</name>
        <message>
            <source>Progress</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancel (Esc)</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>PromptBox</name>
        <message>
            <source>Ask something…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Prompt</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Enter sends, Shift+Enter breaks the line</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancel (Esc)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Send (Enter)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Send</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Proof</name>
        <message>
            <source>{count} s</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{count} min</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>No target is chosen.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Target {name}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>draft {name}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>no draft</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>lookahead {lookahead}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Plain</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Speculative, auto</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Speculative, K = {k}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Waiting for what is running to end</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Loading the models</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Measuring this pair, once</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Warming up</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Measuring</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Comparing the outputs</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>about {time} left</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancelled before anything was measured.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{turns} turns of up to {tokens} tokens, a prompt of {prompt} tokens</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancelled: the figures so far, of {size}.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Medians of {size}.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>middle half {low} to {high}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>speedup</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>faster than plain decoding</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>slower than plain decoding</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>not told apart from plain decoding</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>too few turns to tell</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{length} tokens a round</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>K = {k} on average</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>✓ identical, {alike} of {tokens} tokens</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>✓ the same up to a tie after {alike} of {tokens} tokens: the two best logits are {gap} apart</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>✗ DIFFERENT after {alike} of {tokens} tokens, which must not be. Please report it.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>They part after {alike} of {tokens} tokens; it was cancelled before that was examined.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>✓ drawn alike</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Tokens are drawn at random here, so two replies differ, as two plain ones do. Each is drawn from the target's own distribution either way: a proposed one is kept with the probability min(1, target / draft), and is otherwise drawn anew from what the target has left over.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A batch of another size rounds the last bits otherwise, so where two tokens are as good as equal either may be written. Both outputs are the target's own.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Other programs took {share} of the processors meanwhile.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Plain decoding itself varied by {share} between turns.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Fewer than three turns: no more than a first look.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Use K = {k}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>K = 0, plain decoding</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The fastest: {name}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>{name} has the highest median speedup; its lead on {others} is within the spread</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ProofDialog</name>
        <message>
            <source>Prompt</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The prompt to be answered</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Greedy</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Drawn, temperature {t}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Turns: how often each way answers</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>New tokens of a reply at most</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>How tokens are chosen</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Progress</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Start</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copy as text</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Figures, pair, versions and machine, to be pasted elsewhere</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Turns</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Tokens</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Copied</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>QuestionBox</name>
        <message>
            <source>Your message</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>QuestionEditor</name>
        <message>
            <source>Edit your message</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Leave it as it was (Esc)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Send</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Ask this instead (Enter)</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>RowPainter</name>
        <message>
            <source>Title</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>SearchField</name>
        <message>
            <source>Search</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Search the conversations</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Search titles and messages (Ctrl+F)</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Clear the search</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Clear the search (Esc)</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>SpeculationPanel</name>
        <message>
            <source>Speculation</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Acceptance rate</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Tokens per second</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Acceptance by position</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Time after the prompt</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Lookahead</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The lookahead K is the number of tokens proposed per round; auto chooses it in each round for the most tokens per second, by what rounds cost on this machine and how many proposals are accepted.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Acceptance rate per round</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>round</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>accepted, %</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Tokens per second over time</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>seconds</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>tok/s</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Starters</name>
        <message>
            <source>A shy dragon</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A bedtime story</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>What is this?</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The numbers</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A Python function</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A table</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A checklist</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Say it again</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Why?</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Small talk</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>SweepDialog</name>
        <message>
            <source>Lookahead sweep</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>auto</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>The fastest lookahead</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Answers the prompt with each lookahead from 0 to {most} and with auto, in turns; needs a draft. A question sent meanwhile waits.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>SweepPlot</name>
        <message>
            <source>Tokens per second by lookahead</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>lookahead K</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>tok/s</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>ThoughtView</name>
        <message>
            <source>Thinking…</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Thought</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Thought for %1 s</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Thought for %1 min %2 s</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>folded</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>unfolded</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>TimeBar</name>
        <message>
            <source>Draft: waiting for proposals. Target: its forward passes. Rest: choosing tokens, text, the window.</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Time</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Draft</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Target</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Rest</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>TokenCard</name>
        <message>
            <source>The target's best</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Target</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Draft</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>TokenReply</name>
        <message>
            <source>No record of this reply's tokens.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>TokenText</name>
        <message>
            <source>Reply, token by token</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>Tokens</name>
        <message>
            <source>token {token}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>control token {token}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>accepted from the draft</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>correction by the target</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>bonus of the target</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain: nothing was proposed</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>round {number}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>target {probability}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>draft {probability}</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>accepted</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>correction</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>bonus</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>plain</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>TranscriptView</name>
        <message>
            <source>Conversation</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>Jump to the end</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
    <context>
        <name>WelcomeView</name>
        <message>
            <source>What shall we talk about?</source>
            <translation type="unfinished"></translation>
        </message>
        <message>
            <source>A small draft model rides ahead, the target confirms. Watch it happen at the side.</source>
            <translation type="unfinished"></translation>
        </message>
    </context>
</TS>
