<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
    <context>
        <name>AboutDialog</name>
        <message>
            <source>About Outrider</source>
            <translation>Über Outrider</translation>
        </message>
        <message>
            <source>Program</source>
            <translation>Programm</translation>
        </message>
        <message>
            <source>Licences</source>
            <translation>Lizenzen</translation>
        </message>
        <message>
            <source>Copy versions</source>
            <translation>Versionen kopieren</translation>
        </message>
        <message>
            <source>Copy the versions for a bug report</source>
            <translation>Die Versionen für einen Fehlerbericht kopieren</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Version {number} · {kind}</source>
            <translation>Version {number} · {kind}</translation>
        </message>
        <message>
            <source>A small model rides ahead, a large one decides: chat with local models.</source>
            <translation>Ein kleines Modell reitet voraus, ein großes entscheidet: Chat mit lokalen Modellen.</translation>
        </message>
        <message>
            <source>run from source</source>
            <translation>aus dem Quellcode gestartet</translation>
        </message>
        <message>
            <source>standard, with llama.cpp</source>
            <translation>Standard, mit llama.cpp</translation>
        </message>
        <message>
            <source>full, with llama.cpp and PyTorch</source>
            <translation>vollständig, mit llama.cpp und PyTorch</translation>
        </message>
        <message>
            <source>installed</source>
            <translation>installiert</translation>
        </message>
        <message>
            <source>Settings</source>
            <translation>Einstellungen</translation>
        </message>
        <message>
            <source>Data</source>
            <translation>Daten</translation>
        </message>
        <message>
            <source>Log</source>
            <translation>Protokoll</translation>
        </message>
        <message>
            <source>Target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <source>Draft</source>
            <translation>Entwurfsmodell</translation>
        </message>
        <message>
            <source>Components</source>
            <translation>Komponenten</translation>
        </message>
        <message>
            <source>Licence text</source>
            <translation>Lizenztext</translation>
        </message>
        <message>
            <source>No licence text was installed with this component.</source>
            <translation>Für diese Komponente wurde kein Lizenztext installiert.</translation>
        </message>
        <message>
            <source>Copied</source>
            <translation>Kopiert</translation>
        </message>
    </context>
    <context>
        <name>Activity</name>
        <message>
            <source>Checking {subject}</source>
            <translation>{subject} wird geprüft</translation>
        </message>
        <message>
            <source>Loading {subject}</source>
            <translation>{subject} wird geladen</translation>
        </message>
        <message>
            <source>Measuring this pair (only once)…</source>
            <translation>Dieses Paar wird gemessen (nur einmal)…</translation>
        </message>
        <message>
            <source>Reading the prompt ({subject} tokens)</source>
            <translation>Prompt wird gelesen ({subject} Tokens)</translation>
        </message>
        <message>
            <source>Scanning {subject} for models</source>
            <translation>{subject} wird nach Modellen durchsucht</translation>
        </message>
        <message>
            <source>Waiting for the measurement to finish</source>
            <translation>Wartet auf das Ende der Messung</translation>
        </message>
        <message>
            <source>Waiting for you to confirm loading {subject}</source>
            <translation>Wartet auf Ihre Bestätigung, {subject} zu laden</translation>
        </message>
        <message>
            <source>Waiting for {subject}</source>
            <translation>Warten auf {subject}</translation>
        </message>
        <message>
            <source>Importing {subject}</source>
            <translation>{subject} wird importiert</translation>
        </message>
        <message>
            <source>Exporting {subject}</source>
            <translation>{subject} wird exportiert</translation>
        </message>
        <message>
            <source>Waiting for the reply in another chat</source>
            <translation>Wartet auf die Antwort in einem anderen Chat</translation>
        </message>
        <message>
            <source>The target is loaded. Checking {subject}</source>
            <translation>Das Zielmodell ist geladen. {subject} wird geprüft</translation>
        </message>
        <message>
            <source>The target is loaded. Loading {subject}</source>
            <translation>Das Zielmodell ist geladen. {subject} wird geladen</translation>
        </message>
    </context>
    <context>
        <name>Attachments</name>
        <message>
            <source>{name} no longer exists. Choose another file.</source>
            <translation>{name} existiert nicht mehr. Wählen Sie eine andere Datei.</translation>
        </message>
        <message>
            <source>{name} is a folder. Attach its files one by one.</source>
            <translation>{name} ist ein Ordner. Hängen Sie seine Dateien einzeln an.</translation>
        </message>
        <message>
            <source>{name} is not a regular file. Attach a text file.</source>
            <translation>{name} ist keine reguläre Datei. Hängen Sie eine Textdatei an.</translation>
        </message>
        <message>
            <source>{name} cannot be read ({detail}). Check its permissions, or attach a copy.</source>
            <translation>{name} kann nicht gelesen werden ({detail}). Prüfen Sie die Zugriffsrechte oder hängen Sie eine Kopie an.</translation>
        </message>
        <message>
            <source>{name} contains no text. Attach another file.</source>
            <translation>{name} enthält keinen Text. Hängen Sie eine andere Datei an.</translation>
        </message>
        <message>
            <source>{name} is larger than {detail} MiB. Attach only the part that you need.</source>
            <translation>{name} ist größer als {detail} MiB. Hängen Sie nur den Teil an, den Sie brauchen.</translation>
        </message>
        <message>
            <source>{name} is not a text file. Save its content as text and attach that file.</source>
            <translation>{name} ist keine Textdatei. Speichern Sie den Inhalt als Text und hängen Sie diese Datei an.</translation>
        </message>
        <message>
            <source>The encoding of {name} is not known ({detail}). Save it as UTF-8 and attach it again.</source>
            <translation>Die Kodierung von {name} ist nicht bekannt ({detail}). Speichern Sie die Datei als UTF-8 und hängen Sie sie erneut an.</translation>
        </message>
        <message>
            <source>{name} is a {detail} document, which is not read yet. Save its text and attach that file.</source>
            <translation>{name} ist ein {detail}-Dokument, das noch nicht gelesen wird. Speichern Sie seinen Text und hängen Sie diese Datei an.</translation>
        </message>
        <message>
            <source>{name} cannot be read: {detail}.</source>
            <translation>{name} kann nicht gelesen werden: {detail}.</translation>
        </message>
        <message>
            <source>{name} has no text. Its pages are attached as pictures ({detail}).</source>
            <translation>{name} enthält keinen Text. Die Seiten werden als Bilder angehängt ({detail}).</translation>
        </message>
        <message>
            <source>{name} was not attached: a message can have at most {detail} files.</source>
            <translation>{name} wurde nicht angehängt: Eine Nachricht kann höchstens {detail} Dateien haben.</translation>
        </message>
        <message>
            <source>no further details</source>
            <translation>keine weiteren Angaben</translation>
        </message>
    </context>
    <context>
        <name>BranchPicker</name>
        <message>
            <source>Version {number} of {count}</source>
            <translation>Version {number} von {count}</translation>
        </message>
    </context>
    <context>
        <name>ChatController</name>
        <message>
            <source>No more than {count} messages can wait.</source>
            <translation>Mehr als {count} Nachrichten können nicht warten.</translation>
        </message>
        <message>
            <source>Rewrite your last answer, all of it. Change only this:</source>
            <translation>Schreibe deine letzte Antwort noch einmal, ganz. Ändere nur dies:</translation>
        </message>
        <message>
            <source>Write this text again, all of it. Change only this:</source>
            <translation>Schreibe diesen Text noch einmal, ganz. Ändere nur dies:</translation>
        </message>
    </context>
    <context>
        <name>Chip</name>
        <message>
            <source>Attached file {name}</source>
            <translation>Angehängte Datei {name}</translation>
        </message>
        <message>
            <source>Press Delete to remove it</source>
            <translation>Mit Entf entfernen</translation>
        </message>
        <message>
            <source>Remove {name}</source>
            <translation>{name} entfernen</translation>
        </message>
    </context>
    <context>
        <name>ChipRow</name>
        <message>
            <source>Attached files</source>
            <translation>Angehängte Dateien</translation>
        </message>
        <message>
            <source>reading…</source>
            <translation>wird gelesen…</translation>
        </message>
    </context>
    <context>
        <name>Citations</name>
        <message>
            <source>Sources</source>
            <translation>Quellen</translation>
        </message>
    </context>
    <context>
        <name>CodeBar</name>
        <message>
            <source>Open the page in your browser…</source>
            <translation>Die Seite im Browser öffnen…</translation>
        </message>
        <message>
            <source>Preview</source>
            <translation>Vorschau</translation>
        </message>
        <message>
            <source>Line numbers</source>
            <translation>Zeilennummern</translation>
        </message>
        <message>
            <source>Wrap long lines</source>
            <translation>Lange Zeilen umbrechen</translation>
        </message>
        <message>
            <source>Save the code as a file…</source>
            <translation>Den Code als Datei speichern…</translation>
        </message>
        <message>
            <source>Copy the code</source>
            <translation>Code kopieren</translation>
        </message>
        <message>
            <source>No preview: {reason}</source>
            <translation>Keine Vorschau: {reason}</translation>
        </message>
        <message>
            <source>Save the code</source>
            <translation>Den Code speichern</translation>
        </message>
        <message>
            <source>Cannot save {path}: {reason}. Choose another folder.</source>
            <translation>{path} kann nicht gespeichert werden: {reason}. Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <source>Saved as {path}</source>
            <translation>Gespeichert als {path}</translation>
        </message>
    </context>
    <context>
        <name>CodeScroll</name>
        <message>
            <source>Code</source>
            <translation>Code</translation>
        </message>
    </context>
    <context>
        <name>CommandPalette</name>
        <message>
            <source>Command palette</source>
            <translation>Befehlspalette</translation>
        </message>
        <message>
            <source>Type a command…</source>
            <translation>Befehl eingeben…</translation>
        </message>
        <message>
            <source>Command</source>
            <translation>Befehl</translation>
        </message>
        <message>
            <source>Up and Down to choose, Enter to run, Esc to close</source>
            <translation>Auf und Ab: wählen, Eingabe: ausführen, Esc: schließen</translation>
        </message>
        <message>
            <source>Nothing found</source>
            <translation>Nichts gefunden</translation>
        </message>
        <message>
            <source>Commands</source>
            <translation>Befehle</translation>
        </message>
        <message>
            <source>Chat</source>
            <translation>Chat</translation>
        </message>
    </context>
    <context>
        <name>Commands</name>
        <message>
            <source>Current chat</source>
            <translation>Aktueller Chat</translation>
        </message>
        <message>
            <source>Chats</source>
            <translation>Chats</translation>
        </message>
        <message>
            <source>Models</source>
            <translation>Modelle</translation>
        </message>
        <message>
            <source>Speculation</source>
            <translation>Spekulation</translation>
        </message>
        <message>
            <source>View</source>
            <translation>Ansicht</translation>
        </message>
        <message>
            <source>Program</source>
            <translation>Programm</translation>
        </message>
    </context>
    <context>
        <name>CompareDialog</name>
        <message>
            <source>Compare plain and speculative decoding</source>
            <translation>Einfaches und spekulatives Dekodieren vergleichen</translation>
        </message>
        <message>
            <source>Speedup</source>
            <translation>Beschleunigung</translation>
        </message>
        <message>
            <source>Outputs</source>
            <translation>Ausgaben</translation>
        </message>
        <message>
            <source>Answers the prompt with plain and with speculative decoding, alternating. Messages that you send meanwhile wait.</source>
            <translation>Beantwortet den Prompt abwechselnd mit einfachem und mit spekulativem Dekodieren. Nachrichten, die Sie währenddessen senden, warten.</translation>
        </message>
    </context>
    <context>
        <name>Connect</name>
        <message>
            <source>Written to {path}.</source>
            <translation>In {path} geschrieben.</translation>
        </message>
        <message>
            <source>Written to {path}. What was there is in {copy}.</source>
            <translation>In {path} geschrieben. Das Bisherige steht in {copy}.</translation>
        </message>
        <message>
            <source>Switch the server on first, above.</source>
            <translation>Schalten Sie zuerst oben den Server ein.</translation>
        </message>
        <message>
            <source>Asking {address}…</source>
            <translation>{address} wird gefragt …</translation>
        </message>
        <message>
            <source>{path}: {model} answered in {seconds} s: {text}</source>
            <translation>{path}: {model} hat in {seconds} s geantwortet: {text}</translation>
        </message>
        <message>
            <source>(nothing)</source>
            <translation>(nichts)</translation>
        </message>
    </context>
    <context>
        <name>ConnectPart</name>
        <message>
            <source>Connect your apps</source>
            <translation>Andere Programme verbinden</translation>
        </message>
        <message>
            <source>Program</source>
            <translation>Programm</translation>
        </message>
        <message>
            <source>What to set in it</source>
            <translation>Was darin einzustellen ist</translation>
        </message>
        <message>
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <source>Write it into its settings</source>
            <translation>In seine Einstellungen schreiben</translation>
        </message>
        <message>
            <source>Test</source>
            <translation>Testen</translation>
        </message>
        <message>
            <source>Ask the server as this program would, and show the answer</source>
            <translation>Den Server fragen, wie es dieses Programm täte, und die Antwort zeigen</translation>
        </message>
        <message>
            <source>{name}, found here</source>
            <translation>{name}, hier gefunden</translation>
        </message>
        <message>
            <source>Writes to {file}, and keeps a copy of the old file</source>
            <translation>In {file}; eine Kopie des Bisherigen bleibt daneben</translation>
        </message>
        <message>
            <source>Enter it by hand: its settings cannot be written automatically</source>
            <translation>Von Hand eingeben: Andere können seine Einstellungen nicht schreiben</translation>
        </message>
    </context>
    <context>
        <name>Context</name>
        <message>
            <source>too long: {used} tokens, {available} fit</source>
            <translation>zu lang: {used} Tokens, {available} passen</translation>
        </message>
        <message>
            <source>{used} of {available} tokens, without the oldest messages: {free} stay free</source>
            <translation>{used} von {available} Tokens, ohne die ältesten Nachrichten: {free} bleiben frei</translation>
        </message>
        <message>
            <source>{used} of {available} tokens</source>
            <translation>{used} von {available} Tokens</translation>
        </message>
        <message>
            <source>Your message and the system prompt alone take {used} tokens, but the context holds only {available}. Shorten the message or a file, choose another target, or load it with a longer context.</source>
            <translation>Ihre Nachricht und der System-Prompt allein brauchen {used} Tokens, aber in den Kontext passen nur {available}. Kürzen Sie die Nachricht oder eine Datei, wählen Sie ein anderes Zielmodell, oder laden Sie es mit einem längeren Kontext.</translation>
        </message>
        <message>
            <source>{name} cannot see pictures. Remove them, or choose a model that sees: one with its projector (mmproj-….gguf) beside it.</source>
            <translation>{name} kann keine Bilder sehen. Entfernen Sie sie, oder wählen Sie ein Modell, das sieht: eines, neben dem sein Projektor (mmproj-….gguf) liegt.</translation>
        </message>
        <message>
            <source>The model reads {used} tokens; its context holds {available}.</source>
            <translation>Das Modell liest {used} Tokens; sein Kontext fasst {available}.</translation>
        </message>
        <message>
            <source>Your current message: {count}.</source>
            <translation>Ihre aktuelle Nachricht: {count}.</translation>
        </message>
        <message>
            <source>{free} tokens are kept free for the reply: where fewer would be left, the oldest messages are left out until about half of the context is free. The system prompt and your message are always sent.</source>
            <translation>{free} Tokens bleiben für die Antwort frei: Wo weniger übrig wären, werden die ältesten Nachrichten weggelassen, bis etwa die Hälfte des Kontexts frei ist. Der System-Prompt und Ihre Nachricht werden immer gesendet.</translation>
        </message>
        <message>
            <source>The oldest {count} messages are not sent to the model. A line in the chat marks where they end.</source>
            <translation>Die {count} ältesten Nachrichten werden nicht an das Modell gesendet. Eine Linie im Chat zeigt, wo sie enden.</translation>
        </message>
    </context>
    <context>
        <name>ContextMeter</name>
        <message>
            <source>Context</source>
            <translation>Kontext</translation>
        </message>
    </context>
    <context>
        <name>ContextNotice</name>
        <message>
            <source>Longer context…</source>
            <translation>Längerer Kontext…</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Use {length} and send</source>
            <translation>{length} verwenden und senden</translation>
        </message>
    </context>
    <context>
        <name>ConversationController</name>
        <message>
            <source>Messages that you send now are not saved.</source>
            <translation>Nachrichten, die Sie jetzt senden, werden nicht gespeichert.</translation>
        </message>
        <message>
            <source>cancelled</source>
            <translation>abgebrochen</translation>
        </message>
        <message>
            <source>failed</source>
            <translation>fehlgeschlagen</translation>
        </message>
        <message>
            <source>interrupted</source>
            <translation>unterbrochen</translation>
        </message>
        <message>
            <source>being written</source>
            <translation>wird geschrieben</translation>
        </message>
        <message>
            <source>You</source>
            <translation>Sie</translation>
        </message>
        <message>
            <source>Reply</source>
            <translation>Antwort</translation>
        </message>
        <message>
            <source>Chat</source>
            <translation>Chat</translation>
        </message>
        <message>
            <source>with {draft}</source>
            <translation>mit {draft}</translation>
        </message>
        <message>
            <source>{speed:.1f} tokens/s</source>
            <translation>{speed:.1f} Tokens/s</translation>
        </message>
        <message>
            <source>acceptance rate {rate:.0%}</source>
            <translation>Annahmequote {rate:.0%}</translation>
        </message>
        <message>
            <source>Instruction</source>
            <translation>Anweisung</translation>
        </message>
        <message>
            <source>Thought</source>
            <translation>Gedanke</translation>
        </message>
        <message>
            <source>Tool call</source>
            <translation>Werkzeugaufruf</translation>
        </message>
        <message>
            <source>Result of a tool</source>
            <translation>Ergebnis eines Werkzeugs</translation>
        </message>
        <message>
            <source>Image</source>
            <translation>Bild</translation>
        </message>
        <message>
            <source>Other content</source>
            <translation>Anderer Inhalt</translation>
        </message>
    </context>
    <context>
        <name>ConversationPainter</name>
        <message>
            <source>Title</source>
            <translation>Titel</translation>
        </message>
    </context>
    <context>
        <name>ConversationPanel</name>
        <message>
            <source>New chat</source>
            <translation>Neuer Chat</translation>
        </message>
        <message>
            <source>New chat (Ctrl+N)</source>
            <translation>Neuer Chat (Strg+N)</translation>
        </message>
        <message>
            <source>New project…</source>
            <translation>Neues Projekt…</translation>
        </message>
        <message>
            <source>Import a chat…</source>
            <translation>Chat importieren…</translation>
        </message>
        <message>
            <source>Chats</source>
            <translation>Chats</translation>
        </message>
        <message>
            <source>Deleted</source>
            <translation>Gelöscht</translation>
        </message>
        <message>
            <source>Undo</source>
            <translation>Rückgängig</translation>
        </message>
        <message>
            <source>Nothing found</source>
            <translation>Nichts gefunden</translation>
        </message>
        <message>
            <source>Rename</source>
            <translation>Umbenennen</translation>
        </message>
        <message>
            <source>Unpin</source>
            <translation>Lösen</translation>
        </message>
        <message>
            <source>Pin</source>
            <translation>Anheften</translation>
        </message>
        <message>
            <source>Import…</source>
            <translation>Importieren…</translation>
        </message>
        <message>
            <source>Delete</source>
            <translation>Löschen</translation>
        </message>
        <message>
            <source>Move to project</source>
            <translation>In ein Projekt verschieben</translation>
        </message>
        <message>
            <source>No project</source>
            <translation>Kein Projekt</translation>
        </message>
        <message>
            <source>{count} chats: {action}</source>
            <translation>{count} Chats: {action}</translation>
        </message>
        <message>
            <source>Delete {count} chats</source>
            <translation>{count} Chats löschen</translation>
        </message>
    </context>
    <context>
        <name>ConversationRows</name>
        <message>
            <source>New chat</source>
            <translation>Neuer Chat</translation>
        </message>
        <message>
            <source>{title}, pinned</source>
            <translation>{title}, angeheftet</translation>
        </message>
        <message>
            <source>Project {title}, folded</source>
            <translation>Projekt {title}, zugeklappt</translation>
        </message>
        <message>
            <source>Project {title}</source>
            <translation>Projekt {title}</translation>
        </message>
        <message>
            <source>Project</source>
            <translation>Projekt</translation>
        </message>
        <message>
            <source>Pinned</source>
            <translation>Angeheftet</translation>
        </message>
        <message>
            <source>Today</source>
            <translation>Heute</translation>
        </message>
        <message>
            <source>Yesterday</source>
            <translation>Gestern</translation>
        </message>
        <message>
            <source>Previous 7 days</source>
            <translation>Letzte 7 Tage</translation>
        </message>
        <message>
            <source>Older</source>
            <translation>Älter</translation>
        </message>
    </context>
    <context>
        <name>CounterGrid</name>
        <message>
            <source>Rounds</source>
            <translation>Runden</translation>
        </message>
        <message>
            <source>One round: propose, verify, accept, commit</source>
            <translation>Eine Runde: vorschlagen, prüfen, annehmen, übernehmen</translation>
        </message>
        <message>
            <source>Proposed</source>
            <translation>Vorgeschlagen</translation>
        </message>
        <message>
            <source>Draft tokens that the target verified</source>
            <translation>Vorgeschlagene Tokens, die das Zielmodell geprüft hat</translation>
        </message>
        <message>
            <source>Accepted</source>
            <translation>Angenommen</translation>
        </message>
        <message>
            <source>Proposed tokens that were kept</source>
            <translation>Vorgeschlagene Tokens, die behalten wurden</translation>
        </message>
        <message>
            <source>Mean length</source>
            <translation>Mittlere Länge</translation>
        </message>
        <message>
            <source>Tokens per round, including corrections and bonuses</source>
            <translation>Tokens je Runde, einschließlich Korrekturen und Boni</translation>
        </message>
        <message>
            <source>From your own texts</source>
            <translation>Aus Ihren eigenen Texten</translation>
        </message>
        <message>
            <source>Accepted tokens that stand in a chat of yours</source>
            <translation>Angenommene Token, die in einem Ihrer Chats stehen</translation>
        </message>
        <message>
            <source>Time to first token</source>
            <translation>Zeit bis zum ersten Token</translation>
        </message>
        <message>
            <source>Reading the prompt, and the first round. Known when the reply has ended.</source>
            <translation>Lesen des Prompts und die erste Runde. Bekannt, wenn die Antwort fertig ist.</translation>
        </message>
    </context>
    <context>
        <name>Damage</name>
        <message>
            <source>This message was damaged on the disk and may not read as it was written.</source>
            <translation>Diese Nachricht wurde auf der Festplatte beschädigt und lautet vielleicht nicht mehr so, wie sie geschrieben wurde.</translation>
        </message>
        <message>
            <source>its title</source>
            <translation>der Titel</translation>
        </message>
        <message>
            <source>its settings</source>
            <translation>die Einstellungen</translation>
        </message>
        <message numerus="yes">
            <source>%Ln more messages</source>
            <translation>
                <numerusform>%Ln weitere Nachricht</numerusform>
                <numerusform>%Ln weitere Nachrichten</numerusform>
            </translation>
        </message>
        <message>
            <source>Parts of the chat “{title}” were damaged on the disk and may not read as they were written: {parts}. Everything else in it is unharmed.</source>
            <translation>Teile des Chats „{title}“ wurden auf der Festplatte beschädigt und lauten vielleicht nicht mehr so, wie sie geschrieben wurden: {parts}. Alles andere darin ist unversehrt.</translation>
        </message>
        <message>
            <source>message {place}, which is lost</source>
            <translation>Nachricht {place}, die verloren ist</translation>
        </message>
        <message>
            <source>message {place} (“{beginning}”)</source>
            <translation>Nachricht {place} („{beginning}“)</translation>
        </message>
    </context>
    <context>
        <name>Dictation</name>
        <message>
            <source>Dictation needs a Whisper model: put a file ggml-….bin into a models folder.</source>
            <translation>Das Diktieren braucht ein Whisper-Modell: Legen Sie eine Datei ggml-….bin in einen Modellordner.</translation>
        </message>
        <message>
            <source>Listening. Choose Dictate again to write it down (Ctrl+Shift+D).</source>
            <translation>Hört zu. Wählen Sie noch einmal Diktieren, um es aufzuschreiben (Strg+Umschalt+D).</translation>
        </message>
        <message>
            <source>Writing it down…</source>
            <translation>Wird aufgeschrieben…</translation>
        </message>
        <message>
            <source>Nothing was heard.</source>
            <translation>Es war nichts zu hören.</translation>
        </message>
    </context>
    <context>
        <name>Documents</name>
        <message numerus="yes">
            <source>%n page(s)</source>
            <translation>
                <numerusform>%n Seite</numerusform>
                <numerusform>%n Seiten</numerusform>
            </translation>
        </message>
        <message>
            <source>the parts that fit</source>
            <translation>die passenden Teile</translation>
        </message>
        <message>
            <source>page {at}</source>
            <translation>Seite {at}</translation>
        </message>
        <message>
            <source>slide {at}</source>
            <translation>Folie {at}</translation>
        </message>
        <message>
            <source>sheet {at}</source>
            <translation>Blatt {at}</translation>
        </message>
        <message>
            <source>chapter {at}</source>
            <translation>Kapitel {at}</translation>
        </message>
        <message>
            <source>message</source>
            <translation>Nachricht</translation>
        </message>
        <message>
            <source>file {at}</source>
            <translation>Datei {at}</translation>
        </message>
        <message>
            <source>word for word in the document</source>
            <translation>wörtlich im Dokument</translation>
        </message>
        <message>
            <source>{place} of {pages}</source>
            <translation>{place} von {pages}</translation>
        </message>
        <message>
            <source>All of {name} is read: it is short.</source>
            <translation>{name} wird ganz gelesen: Es ist kurz.</translation>
        </message>
        <message>
            <source>Of {name} ({count} parts) these are read, as they fit the question best or stand beside those that do. In brackets: how well the words fit (BM25). {parts}</source>
            <translation>Von {name} ({count} Teile) werden diese gelesen, weil sie am besten zur Frage passen oder neben solchen stehen. In Klammern: wie gut die Wörter passen (BM25). {parts}</translation>
        </message>
        <message numerus="yes">
            <source>%n part(s)</source>
            <translation>
                <numerusform>%n Teil</numerusform>
                <numerusform>%n Teile</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>DropVeil</name>
        <message>
            <source>Drop here</source>
            <translation>Hier ablegen</translation>
        </message>
        <message>
            <source>A model becomes the target, a folder is searched for models, chats (.json, .zip, a folder with them) are imported, and documents, pictures and text files are attached to your message.</source>
            <translation>Ein Modell wird zum Zielmodell, ein Ordner wird nach Modellen durchsucht, Chats (.json, .zip, ein Ordner damit) werden importiert, und Dokumente, Bilder und Textdateien werden an Ihre Nachricht angehängt.</translation>
        </message>
    </context>
    <context>
        <name>DroppedLine</name>
        <message>
            <source>The model no longer reads the messages above</source>
            <translation>Das Modell liest die Nachrichten darüber nicht mehr</translation>
        </message>
        <message>
            <source>They do not fit in the context. The system prompt and your message are always sent.</source>
            <translation>Sie passen nicht in den Kontext. Der System-Prompt und Ihre Nachricht werden immer gesendet.</translation>
        </message>
    </context>
    <context>
        <name>ErrorDialog</name>
        <message>
            <source>Error report</source>
            <translation>Fehlerbericht</translation>
        </message>
        <message>
            <source>The developers need this to find the bug: versions, model names, and where in the program the error occurred. It contains nothing from your chats.</source>
            <translation>Die Entwickler brauchen diese Angaben, um den Fehler zu finden: Versionen, Modellnamen und die Stelle im Programm. Aus Ihren Chats ist nichts enthalten.</translation>
        </message>
        <message>
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <source>Open the log folder</source>
            <translation>Protokollordner öffnen</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Copied</source>
            <translation>Kopiert</translation>
        </message>
    </context>
    <context>
        <name>Errors</name>
        <message>
            <source>There is not enough memory. Choose a smaller model or close other programs.</source>
            <translation>Der Arbeitsspeicher reicht nicht aus. Wählen Sie ein kleineres Modell oder schließen Sie andere Programme.</translation>
        </message>
        <message>
            <source>An unexpected error occurred ({error}). You can continue working. To report it, copy the details.</source>
            <translation>Ein unerwarteter Fehler ist aufgetreten ({error}). Sie können weiterarbeiten. Um ihn zu melden, kopieren Sie die Details.</translation>
        </message>
    </context>
    <context>
        <name>ExchangeView</name>
        <message>
            <source>Reply</source>
            <translation>Antwort</translation>
        </message>
        <message>
            <source>Continue</source>
            <translation>Fortsetzen</translation>
        </message>
        <message>
            <source>Ask again</source>
            <translation>Erneut fragen</translation>
        </message>
        <message>
            <source>Use {length} and ask again</source>
            <translation>{length} verwenden und erneut fragen</translation>
        </message>
    </context>
    <context>
        <name>Figures</name>
        <message>
            <source>{count} ms</source>
            <translation>{count} ms</translation>
        </message>
        <message>
            <source>{count} s</source>
            <translation>{count} s</translation>
        </message>
        <message numerus="yes">
            <source>%Ln tokens</source>
            <translation>
                <numerusform>%Ln Token</numerusform>
                <numerusform>%Ln Tokens</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%Ln lines</source>
            <translation>
                <numerusform>%Ln Zeile</numerusform>
                <numerusform>%Ln Zeilen</numerusform>
            </translation>
        </message>
        <message>
            <source>under {seconds} s</source>
            <translation>unter {seconds} s</translation>
        </message>
        <message>
            <source>{seconds} s</source>
            <translation>{seconds} s</translation>
        </message>
        <message>
            <source>{minutes} min {seconds} s</source>
            <translation>{minutes} min {seconds} s</translation>
        </message>
        <message>
            <source>{speed} tok/s</source>
            <translation>{speed} Tok/s</translation>
        </message>
        <message>
            <source>{rate} accepted</source>
            <translation>{rate} angenommen</translation>
        </message>
        <message numerus="yes">
            <source>without the oldest %Ln messages</source>
            <translation>
                <numerusform>ohne die älteste Nachricht</numerusform>
                <numerusform>ohne die %Ln ältesten Nachrichten</numerusform>
            </translation>
        </message>
        <message>
            <source>cancelled</source>
            <translation>abgebrochen</translation>
        </message>
        <message>
            <source>not answered</source>
            <translation>nicht beantwortet</translation>
        </message>
        <message>
            <source>Outrider ended before this reply was complete.</source>
            <translation>Outrider wurde beendet, bevor diese Antwort fertig war.</translation>
        </message>
        <message>
            <source>stopped at the token limit</source>
            <translation>am Token-Limit beendet</translation>
        </message>
        <message>
            <source>the context is full</source>
            <translation>der Kontext ist voll</translation>
        </message>
        <message>
            <source>empty reply</source>
            <translation>leere Antwort</translation>
        </message>
    </context>
    <context>
        <name>Files</name>
        <message>
            <source>Export the chat</source>
            <translation>Chat exportieren</translation>
        </message>
        <message>
            <source>Import chats</source>
            <translation>Chats importieren</translation>
        </message>
        <message>
            <source>Chats of this and other programs (*.json *.jsonl *.zip)</source>
            <translation>Chats dieses und anderer Programme (*.json *.jsonl *.zip)</translation>
        </message>
        <message>
            <source>Attach documents, pictures and text files</source>
            <translation>Dokumente, Bilder und Textdateien anhängen</translation>
        </message>
        <message>
            <source>Add a model folder</source>
            <translation>Modellordner hinzufügen</translation>
        </message>
        <message>
            <source>Export the project</source>
            <translation>Projekt exportieren</translation>
        </message>
        <message>
            <source>Archive of chats (*.zip)</source>
            <translation>Archiv von Chats (*.zip)</translation>
        </message>
        <message>
            <source>Export the chats into a folder</source>
            <translation>Chats in einen Ordner exportieren</translation>
        </message>
        <message>
            <source>JSON (*.json)</source>
            <translation>JSON (*.json)</translation>
        </message>
        <message>
            <source>Save the race</source>
            <translation>Wettlauf speichern</translation>
        </message>
    </context>
    <context>
        <name>FirstLaunchView</name>
        <message>
            <source>Try the demo pair</source>
            <translation>Demopaar ausprobieren</translation>
        </message>
        <message>
            <source>Choose a models folder…</source>
            <translation>Modellordner wählen…</translation>
        </message>
        <message>
            <source>Get a small model (93 MB)</source>
            <translation>Kleines Modell holen (93 MB)</translation>
        </message>
        <message>
            <source>Go to the chat</source>
            <translation>Zum Chat</translation>
        </message>
        <message>
            <source>Two models, one text</source>
            <translation>Zwei Modelle, ein Text</translation>
        </message>
        <message>
            <source>The text is exactly what the large model would have written alone. Only the wait is shorter.</source>
            <translation>Der Text ist genau der, den das große Modell allein geschrieben hätte. Nur die Wartezeit ist kürzer.</translation>
        </message>
        <message>
            <source>The demo pair wrote this just now, on this computer: grey are the draft’s guesses, a tick is a guess that the target keeps, a cross one that it replaces.</source>
            <translation>Das schrieb das Demopaar eben auf diesem Computer: Grau sind die Vorschläge des Entwurfsmodells; einen Haken hat, was das Zielmodell behält, ein Kreuz, was es ersetzt.</translation>
        </message>
        <message>
            <source>The draft</source>
            <translation>Das Entwurfsmodell</translation>
        </message>
        <message>
            <source>is small and fast. It runs ahead and guesses the next few words.</source>
            <translation>ist klein und schnell. Es läuft voraus und rät die nächsten Wörter.</translation>
        </message>
        <message>
            <source>The target</source>
            <translation>Das Zielmodell</translation>
        </message>
        <message>
            <source>is large and decides. It checks all guesses at once, keeps what it would have written itself, and corrects the first wrong one.</source>
            <translation>ist groß und entscheidet. Es prüft alle geratenen Wörter auf einmal, behält, was es selbst geschrieben hätte, und korrigiert das erste falsche.</translation>
        </message>
        <message>
            <source>A small pair that comes with Outrider, ready to use</source>
            <translation>Ein kleines Paar, das Outrider mitbringt und sofort bereit ist</translation>
        </message>
        <message>
            <source>A folder with GGUF models on this computer</source>
            <translation>Ein Ordner mit GGUF-Modellen auf diesem Computer</translation>
        </message>
        <message>
            <source>SmolLM2 135M Instruct, licence Apache-2.0, from the package index that Python uses on this computer</source>
            <translation>SmolLM2 135M Instruct, Lizenz Apache-2.0, aus dem Paketindex, den Python auf diesem Computer benutzt</translation>
        </message>
        <message>
            <source>The demo pair is tiny: it only shows how speculation works. For useful replies, choose your own models.</source>
            <translation>Das Demopaar ist winzig: Es zeigt nur, wie Spekulation funktioniert. Für brauchbare Antworten wählen Sie eigene Modelle.</translation>
        </message>
    </context>
    <context>
        <name>FolderController</name>
        <message>
            <source>The model folder {folder} is currently not available ({reason}). Loaded models keep working. Outrider reads the folder again as soon as it is back.</source>
            <translation>Der Modellordner {folder} ist derzeit nicht verfügbar ({reason}). Geladene Modelle laufen weiter. Outrider liest den Ordner wieder ein, sobald er zurück ist.</translation>
        </message>
    </context>
    <context>
        <name>FolderList</name>
        <message>
            <source>Model folders</source>
            <translation>Modellordner</translation>
        </message>
        <message>
            <source>Add folder…</source>
            <translation>Ordner hinzufügen…</translation>
        </message>
        <message>
            <source>Remove</source>
            <translation>Entfernen</translation>
        </message>
        <message>
            <source>Remove the chosen folder from this list; its files are not deleted</source>
            <translation>Den gewählten Ordner aus dieser Liste entfernen; seine Dateien werden nicht gelöscht</translation>
        </message>
        <message>
            <source>{folder} · not available</source>
            <translation>{folder} · nicht verfügbar</translation>
        </message>
        <message>
            <source>There is no folder yet. Add one with GGUF models.</source>
            <translation>Es gibt noch keinen Ordner. Fügen Sie einen mit GGUF-Modellen hinzu.</translation>
        </message>
    </context>
    <context>
        <name>FolderOffer</name>
        <message numerus="yes">
            <source>%n model(s) can be used here.</source>
            <translation>
                <numerusform>%n Modell kann hier benutzt werden.</numerusform>
                <numerusform>%n Modelle können hier benutzt werden.</numerusform>
            </translation>
        </message>
        <message>
            <source>There is no model to use in {folder}.</source>
            <translation>In {folder} ist kein nutzbares Modell.</translation>
        </message>
        <message>
            <source>The best pair: {target} with {draft} as its draft. {expectation}</source>
            <translation>Das beste Paar: {target} mit {draft} als Draft. {expectation}</translation>
        </message>
    </context>
    <context>
        <name>GenerationPage</name>
        <message>
            <source>This chat</source>
            <translation>Dieser Chat</translation>
        </message>
        <message>
            <source>New chats</source>
            <translation>Neue Chats</translation>
        </message>
        <message>
            <source>Preset</source>
            <translation>Voreinstellung</translation>
        </message>
        <message>
            <source>Library</source>
            <translation>Bibliothek</translation>
        </message>
        <message>
            <source>Sampling</source>
            <translation>Sampling</translation>
        </message>
        <message>
            <source>System prompt</source>
            <translation>System-Prompt</translation>
        </message>
        <message>
            <source>New chats with {model}</source>
            <translation>Neue Chats mit {model}</translation>
        </message>
        <message>
            <source>Custom values</source>
            <translation>Eigene Werte</translation>
        </message>
        <message>
            <source>Custom text</source>
            <translation>Eigener Text</translation>
        </message>
        <message>
            <source>None</source>
            <translation>Keiner</translation>
        </message>
    </context>
    <context>
        <name>GetModels</name>
        <message>
            <source>{target} with {draft} as its draft</source>
            <translation>{target} mit {draft} als Entwurfsmodell</translation>
        </message>
        <message>
            <source>for conversation</source>
            <translation>für Gespräche</translation>
        </message>
        <message>
            <source>for code</source>
            <translation>für Programme</translation>
        </message>
        <message>
            <source>{memory} of memory for {context:,} tokens</source>
            <translation>{memory} Arbeitsspeicher für {context:,} Tokens</translation>
        </message>
        <message>
            <source>{memory} of the graphics card for {context:,} tokens</source>
            <translation>{memory} der Grafikkarte für {context:,} Tokens</translation>
        </message>
        <message>
            <source>{size} on disk</source>
            <translation>{size} auf der Platte</translation>
        </message>
        <message>
            <source>licence {licence}</source>
            <translation>Lizenz {licence}</translation>
        </message>
        <message>
            <source>Expect about {plain} tokens/s, {drafted} with the draft: an estimate for this computer.</source>
            <translation>Zu erwarten sind etwa {plain} Tokens/s, {drafted} mit dem Entwurfsmodell: geschätzt für diesen Rechner.</translation>
        </message>
        <message>
            <source>Expect about {plain} tokens/s, no more with the draft: an estimate for this computer.</source>
            <translation>Zu erwarten sind etwa {plain} Tokens/s, mit dem Entwurfsmodell nicht mehr: geschätzt für diesen Rechner.</translation>
        </message>
        <message>
            <source>How fast it is on the card is not known before it is there.</source>
            <translation>Wie schnell es auf der Karte ist, zeigt sich erst, wenn es da ist.</translation>
        </message>
        <message>
            <source>How fast they are here is not known before this computer is measured.</source>
            <translation>Wie schnell sie hier sind, ist erst bekannt, wenn dieser Rechner gemessen wurde.</translation>
        </message>
        <message>
            <source>Measured: {plain} tokens/s, {drafted} with a draft.</source>
            <translation>Gemessen: {plain} Tokens/s, {drafted} mit einem Entwurfsmodell.</translation>
        </message>
        <message>
            <source>Measured: {plain} tokens/s.</source>
            <translation>Gemessen: {plain} Tokens/s.</translation>
        </message>
        <message>
            <source>Measured: {drafted} tokens/s with a draft.</source>
            <translation>Gemessen: {drafted} Tokens/s mit einem Entwurfsmodell.</translation>
        </message>
        <message>
            <source>never loaded since this is recorded</source>
            <translation>nie geladen, soweit vermerkt</translation>
        </message>
        <message>
            <source>last loaded today</source>
            <translation>zuletzt heute geladen</translation>
        </message>
        <message numerus="yes">
            <source>last loaded %n day(s) ago</source>
            <translation>
                <numerusform>vor %n Tag zuletzt geladen</numerusform>
                <numerusform>vor %n Tagen zuletzt geladen</numerusform>
            </translation>
        </message>
        <message>
            <source>Managed by {program}: delete it there.</source>
            <translation>{program} verwahrt es: Löschen Sie es dort.</translation>
        </message>
        <message>
            <source>It is needed by: {names}.</source>
            <translation>Gebraucht wird es von: {names}.</translation>
        </message>
        <message>
            <source>Nothing depends on it.</source>
            <translation>Nichts hängt davon ab.</translation>
        </message>
        <message>
            <source>{done} of {total}</source>
            <translation>{done} von {total}</translation>
        </message>
        <message>
            <source>{speed} a second</source>
            <translation>{speed} pro Sekunde</translation>
        </message>
        <message>
            <source>Fetch these files on a computer that reaches them, and put them into</source>
            <translation>Diese Dateien an einem Rechner holen, der sie erreicht, und in diesen Ordner legen</translation>
        </message>
        <message>
            <source>or any other folder, which you then choose with “Add a model folder…”.</source>
            <translation>oder in einen anderen Ordner, der dann mit „Modellordner hinzufügen…“ gewählt wird.</translation>
        </message>
        <message>
            <source>all files with {quantisation} in their names</source>
            <translation>alle Dateien mit {quantisation} im Namen</translation>
        </message>
        <message>
            <source>out of the wheel, a ZIP file: {file}</source>
            <translation>aus dem Wheel, einer ZIP-Datei: {file}</translation>
        </message>
    </context>
    <context>
        <name>GetModelsDialog</name>
        <message>
            <source>Get models</source>
            <translation>Modelle holen</translation>
        </message>
        <message>
            <source>Recommended</source>
            <translation>Empfohlen</translation>
        </message>
        <message>
            <source>Search</source>
            <translation>Suchen</translation>
        </message>
        <message>
            <source>On this computer</source>
            <translation>Auf diesem Rechner</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Pause</source>
            <translation>Anhalten</translation>
        </message>
        <message>
            <source>Go on</source>
            <translation>Fortfahren</translation>
        </message>
        <message>
            <source>Try again</source>
            <translation>Erneut versuchen</translation>
        </message>
        <message>
            <source>Take the hub's</source>
            <translation>Die vom Hub nehmen</translation>
        </message>
        <message>
            <source>Use it</source>
            <translation>Verwenden</translation>
        </message>
        <message>
            <source>What suits this computer</source>
            <translation>Was zu diesem Rechner passt</translation>
        </message>
        <message>
            <source>Ask the hub, and measure this computer</source>
            <translation>Den Hub fragen und diesen Rechner messen</translation>
        </message>
        <message>
            <source>Asks the hub whether it still has these files, and measures for two seconds how fast this computer is. Nothing about this computer is sent anywhere.</source>
            <translation>Fragt den Hub, ob er diese Dateien noch hat, und misst zwei Sekunden lang, wie schnell dieser Rechner ist. Über diesen Rechner wird nichts gesendet.</translation>
        </message>
        <message>
            <source>Copy what to fetch by hand</source>
            <translation>Kopieren, was von Hand zu holen ist</translation>
        </message>
        <message>
            <source>For a computer that reaches no hub: the exact names of the files, and where they go, as text</source>
            <translation>Für einen Rechner, der keinen Hub erreicht: die genauen Namen der Dateien und wohin sie gehören, als Text</translation>
        </message>
        <message>
            <source>no limit</source>
            <translation>keine Grenze</translation>
        </message>
        <message>
            <source> MB a second</source>
            <translation> MB pro Sekunde</translation>
        </message>
        <message>
            <source>For models whose authors want to know who takes them. It is kept in the system's keyring, or for this session where there is none, never in a file, and is sent to the hub alone.</source>
            <translation>Für Modelle, deren Autoren wissen wollen, wer sie nimmt. Es liegt im Schlüsselbund des Systems oder, wo es keinen gibt, nur für diese Sitzung vor, nie in einer Datei, und wird nur an den Hub gesendet.</translation>
        </message>
        <message>
            <source>Speed limit</source>
            <translation>Höchstgeschwindigkeit</translation>
        </message>
        <message>
            <source>Token for the hub</source>
            <translation>Zugangsschlüssel für den Hub</translation>
        </message>
        <message>
            <source>Found on this computer</source>
            <translation>Auf diesem Computer gefunden</translation>
        </message>
        <message>
            <source>Add this folder</source>
            <translation>Diesen Ordner hinzufügen</translation>
        </message>
        <message>
            <source>Room on disk</source>
            <translation>Platz auf der Platte</translation>
        </message>
        <message>
            <source>Move to the bin</source>
            <translation>In den Papierkorb</translation>
        </message>
        <message>
            <source>A small model to begin with</source>
            <translation>Ein kleines Modell für den Anfang</translation>
        </message>
        <message>
            <source>{title} · {size} on disk · licence {licence}</source>
            <translation>{title} · {size} auf der Platte · Lizenz {licence}</translation>
        </message>
        <message>
            <source>Download</source>
            <translation>Herunterladen</translation>
        </message>
        <message>
            <source>Search the Hugging Face hub</source>
            <translation>Im Hugging-Face-Hub suchen</translation>
        </message>
        <message>
            <source>Words of the name, such as qwen coder</source>
            <translation>Wörter des Namens, zum Beispiel qwen coder</translation>
        </message>
        <message>
            <source>What was found</source>
            <translation>Was gefunden wurde</translation>
        </message>
        <message>
            <source>Quantisation</source>
            <translation>Quantisierung</translation>
        </message>
        <message>
            <source>Searching…</source>
            <translation>Suche läuft…</translation>
        </message>
        <message>
            <source>Asking the hub, and measuring…</source>
            <translation>Der Hub wird gefragt und gemessen…</translation>
        </message>
        <message>
            <source>None of the larger models fits into this memory.</source>
            <translation>Keines der größeren Modelle passt in diesen Speicher.</translation>
        </message>
        <message>
            <source>Left out: {reason}</source>
            <translation>Weggelassen: {reason}</translation>
        </message>
        <message>
            <source>Sizes are computed, not read. The files were seen in {source}.</source>
            <translation>Größen sind berechnet, nicht gelesen. Die Dateien wurden gesehen in {source}.</translation>
        </message>
        <message>
            <source>Download both</source>
            <translation>Beide herunterladen</translation>
        </message>
        <message>
            <source>Download {pair}</source>
            <translation>{pair} herunterladen</translation>
        </message>
        <message>
            <source>none</source>
            <translation>keiner</translation>
        </message>
        <message>
            <source>used until Outrider ends: this system has no keyring</source>
            <translation>gilt, bis Outrider endet: Dieses System hat keinen Schlüsselbund</translation>
        </message>
        <message>
            <source>kept in the system's keyring</source>
            <translation>liegt im Schlüsselbund des Systems</translation>
        </message>
        <message numerus="yes">
            <source>{program} · %n model(s) · {folder}</source>
            <translation>
                <numerusform>{program} · %n Modell · {folder}</numerusform>
                <numerusform>{program} · %n Modelle · {folder}</numerusform>
            </translation>
        </message>
        <message>
            <source>No models of other programs were found.</source>
            <translation>Es wurden keine Modelle anderer Programme gefunden.</translation>
        </message>
        <message>
            <source>{name} · {licence} · gated: accept its terms on its page first</source>
            <translation>{name} · {licence} · zugangsbeschränkt: Stimmen Sie erst den Bedingungen auf seiner Seite zu</translation>
        </message>
        <message>
            <source>Copied as text.</source>
            <translation>Als Text kopiert.</translation>
        </message>
    </context>
    <context>
        <name>GetModelsWindows</name>
        <message>
            <source>{name} is downloaded. Choose it as the target.</source>
            <translation>{name} ist heruntergeladen. Wählen Sie es als Zielmodell.</translation>
        </message>
    </context>
    <context>
        <name>LargePicture</name>
        <message>
            <source>reading…</source>
            <translation>wird gelesen …</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>This picture is not kept any more.</source>
            <translation>Dieses Bild ist nicht mehr aufbewahrt.</translation>
        </message>
    </context>
    <context>
        <name>Library</name>
        <message>
            <source>Loaded as target</source>
            <translation>Als Zielmodell geladen</translation>
        </message>
        <message>
            <source>Loaded as draft</source>
            <translation>Als Entwurfsmodell geladen</translation>
        </message>
        <message>
            <source>Loaded as target and draft</source>
            <translation>Als Ziel- und Entwurfsmodell geladen</translation>
        </message>
        <message>
            <source>Its folder is not available</source>
            <translation>Sein Ordner ist nicht verfügbar</translation>
        </message>
        <message>
            <source>Too large: needs {needed}, {free} free</source>
            <translation>Zu groß: braucht {needed}, {free} frei</translation>
        </message>
        <message>
            <source>Target, not loaded yet</source>
            <translation>Zielmodell, noch nicht geladen</translation>
        </message>
        <message>
            <source>Draft, not loaded yet</source>
            <translation>Entwurfsmodell, noch nicht geladen</translation>
        </message>
        <message>
            <source>Target and draft, not loaded yet</source>
            <translation>Ziel- und Entwurfsmodell, noch nicht geladen</translation>
        </message>
        <message>
            <source>Ready</source>
            <translation>Bereit</translation>
        </message>
        <message>
            <source>context {context}</source>
            <translation>Kontext {context}</translation>
        </message>
        <message>
            <source>no chat template: it reads chats as plain text</source>
            <translation>keine Chatvorlage: es liest Chats als reinen Text</translation>
        </message>
        <message>
            <source>no chat template: chats are written as {format}</source>
            <translation>keine Chatvorlage: Chats werden wie für {format} geschrieben</translation>
        </message>
        <message>
            <source>needs {needed} of memory</source>
            <translation>braucht {needed} Speicher</translation>
        </message>
        <message>
            <source>All models</source>
            <translation>Alle Modelle</translation>
        </message>
        <message>
            <source>Favourites</source>
            <translation>Favoriten</translation>
        </message>
        <message>
            <source>Recently used</source>
            <translation>Zuletzt benutzt</translation>
        </message>
        <message>
            <source>Up to {most} GB</source>
            <translation>Bis {most} GB</translation>
        </message>
        <message>
            <source>Over {least} GB</source>
            <translation>Über {least} GB</translation>
        </message>
        <message>
            <source>{least} to {most} GB</source>
            <translation>{least} bis {most} GB</translation>
        </message>
        <message>
            <source>{free} of memory free</source>
            <translation>{free} Speicher frei</translation>
        </message>
        <message>
            <source>Loaded</source>
            <translation>Geladen</translation>
        </message>
        <message>
            <source>Chosen</source>
            <translation>Gewählt</translation>
        </message>
        <message>
            <source>Too large</source>
            <translation>Zu groß</translation>
        </message>
        <message>
            <source>Away</source>
            <translation>Nicht da</translation>
        </message>
        <message>
            <source>Unusable</source>
            <translation>Unbrauchbar</translation>
        </message>
    </context>
    <context>
        <name>LibraryDetails</name>
        <message>
            <source>Details</source>
            <translation>Einzelheiten</translation>
        </message>
        <message>
            <source>Show in folder</source>
            <translation>Im Ordner anzeigen</translation>
        </message>
        <message>
            <source>Remove from favourites</source>
            <translation>Aus den Favoriten entfernen</translation>
        </message>
        <message>
            <source>Add to favourites</source>
            <translation>Zu den Favoriten</translation>
        </message>
    </context>
    <context>
        <name>LibraryDialog</name>
        <message>
            <source>Models</source>
            <translation>Modelle</translation>
        </message>
        <message>
            <source>Filter by name, family, size, quantisation, state…</source>
            <translation>Nach Name, Familie, Größe, Quantisierung, Zustand filtern…</translation>
        </message>
        <message>
            <source>Filter the models</source>
            <translation>Modelle filtern</translation>
        </message>
        <message>
            <source>Sort by</source>
            <translation>Sortieren nach</translation>
        </message>
        <message>
            <source>Reverse the order</source>
            <translation>Reihenfolge umkehren</translation>
        </message>
        <message>
            <source>Use as target</source>
            <translation>Als Zielmodell verwenden</translation>
        </message>
        <message>
            <source>Use as draft</source>
            <translation>Als Entwurfsmodell verwenden</translation>
        </message>
        <message>
            <source>Options…</source>
            <translation>Optionen…</translation>
        </message>
        <message>
            <source>Load options of this model: context, threads, GPU layers, cache type</source>
            <translation>Ladeoptionen dieses Modells: Kontext, Threads, GPU-Schichten, Cache-Typ</translation>
        </message>
        <message>
            <source>Load</source>
            <translation>Laden</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Copy the path</source>
            <translation>Pfad kopieren</translation>
        </message>
        <message>
            <source>Unload</source>
            <translation>Entladen</translation>
        </message>
        <message>
            <source>Free its memory</source>
            <translation>Seinen Speicher freigeben</translation>
        </message>
        <message>
            <source>Load the chosen models now</source>
            <translation>Die gewählten Modelle jetzt laden</translation>
        </message>
        <message>
            <source>There are no models yet. Add a folder with GGUF models, or drop a model onto the window.</source>
            <translation>Es gibt noch keine Modelle. Fügen Sie einen Ordner mit GGUF-Modellen hinzu oder ziehen Sie ein Modell in das Fenster.</translation>
        </message>
        <message>
            <source>No favourites yet. The star beside a model's name makes it one.</source>
            <translation>Noch keine Favoriten. Der Stern neben dem Namen eines Modells macht es zu einem.</translation>
        </message>
        <message>
            <source>No model matches the filter.</source>
            <translation>Kein Modell passt zum Filter.</translation>
        </message>
    </context>
    <context>
        <name>LibraryTable</name>
        <message>
            <source>Models</source>
            <translation>Modelle</translation>
        </message>
    </context>
    <context>
        <name>LinkQuestion</name>
        <message>
            <source>Open this link?</source>
            <translation>Diesen Link öffnen?</translation>
        </message>
        <message>
            <source>Write to this address?</source>
            <translation>An diese Adresse schreiben?</translation>
        </message>
        <message>
            <source>Address</source>
            <translation>Adresse</translation>
        </message>
        <message>
            <source>Open</source>
            <translation>Öffnen</translation>
        </message>
        <message>
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Open this link to {host} in your browser?</source>
            <translation>Diesen Link zu {host} im Browser öffnen?</translation>
        </message>
    </context>
    <context>
        <name>LivePlot</name>
        <message>
            <source>Scroll {plot}</source>
            <translation>{plot} scrollen</translation>
        </message>
    </context>
    <context>
        <name>LoadNotice</name>
        <message>
            <source>Load anyway</source>
            <translation>Trotzdem laden</translation>
        </message>
        <message>
            <source>Do not load</source>
            <translation>Nicht laden</translation>
        </message>
    </context>
    <context>
        <name>Lookahead</name>
        <message>
            <source>auto · chosen by measurement</source>
            <translation>auto · nach Messung gewählt</translation>
        </message>
        <message>
            <source>{k} ahead · about {speedup}× faster expected</source>
            <translation>{k} voraus · etwa {speedup}× schneller erwartet</translation>
        </message>
        <message>
            <source>{k} ahead · testing whether it pays</source>
            <translation>{k} voraus · testet, ob es sich lohnt</translation>
        </message>
        <message>
            <source>plain · this draft does not pay here</source>
            <translation>einfach · Entwurfsmodell lohnt hier nicht</translation>
        </message>
        <message>
            <source>{k} ahead · fixed</source>
            <translation>{k} voraus · fest</translation>
        </message>
        <message>
            <source>plain · the lookahead is 0</source>
            <translation>einfach · die Vorausschau ist 0</translation>
        </message>
        <message>
            <source>chosen by the server</source>
            <translation>bestimmt der Server</translation>
        </message>
        <message>
            <source>plain · no draft is chosen</source>
            <translation>einfach · kein Entwurfsmodell gewählt</translation>
        </message>
        <message>
            <source>plain · no draft fits</source>
            <translation>einfach · kein Entwurf passt</translation>
        </message>
        <message>
            <source>plain · the text repeats too little</source>
            <translation>einfach · zu wenig Wiederholung</translation>
        </message>
        <message>
            <source>Lookahead, from the text so far</source>
            <translation>Vorausschau, aus dem bisherigen Text</translation>
        </message>
        <message>
            <source>Lookahead</source>
            <translation>Vorausschau</translation>
        </message>
    </context>
    <context>
        <name>MainWindow</name>
        <message>
            <source>New chat</source>
            <translation>Neuer Chat</translation>
        </message>
        <message>
            <source>Go to the prompt</source>
            <translation>Zum Prompt</translation>
        </message>
        <message>
            <source>Go to the chat</source>
            <translation>Zum Chat</translation>
        </message>
        <message>
            <source>Cancel the current task</source>
            <translation>Laufenden Vorgang abbrechen</translation>
        </message>
        <message>
            <source>Undo deleting messages</source>
            <translation>Löschen von Nachrichten rückgängig machen</translation>
        </message>
        <message>
            <source>Attach documents, pictures and text files…</source>
            <translation>Dokumente, Bilder und Textdateien anhängen…</translation>
        </message>
        <message>
            <source>Dictate</source>
            <translation>Diktieren</translation>
        </message>
        <message>
            <source>Sampling and system prompt for this chat…</source>
            <translation>Sampling und System-Prompt für diesen Chat…</translation>
        </message>
        <message>
            <source>Answer the question about a tool</source>
            <translation>Die Frage zu einem Werkzeug beantworten</translation>
        </message>
        <message>
            <source>Search chats</source>
            <translation>Chats durchsuchen</translation>
        </message>
        <message>
            <source>Next chat</source>
            <translation>Nächster Chat</translation>
        </message>
        <message>
            <source>Previous chat</source>
            <translation>Vorheriger Chat</translation>
        </message>
        <message>
            <source>Rename this chat</source>
            <translation>Diesen Chat umbenennen</translation>
        </message>
        <message>
            <source>Delete this chat</source>
            <translation>Diesen Chat löschen</translation>
        </message>
        <message>
            <source>Undo deleting a chat</source>
            <translation>Löschen eines Chats rückgängig machen</translation>
        </message>
        <message>
            <source>Undo deleting “{title}”</source>
            <translation>Löschen von „{title}“ rückgängig machen</translation>
        </message>
        <message>
            <source>Export all chats…</source>
            <translation>Alle Chats exportieren…</translation>
        </message>
        <message>
            <source>Import a chat…</source>
            <translation>Chat importieren…</translation>
        </message>
        <message>
            <source>Import from {program}</source>
            <translation>Aus {program} importieren</translation>
        </message>
        <message>
            <source>New project…</source>
            <translation>Neues Projekt…</translation>
        </message>
        <message>
            <source>Project of this chat…</source>
            <translation>Projekt dieses Chats…</translation>
        </message>
        <message>
            <source>Choose a target…</source>
            <translation>Zielmodell wählen…</translation>
        </message>
        <message>
            <source>Choose a draft…</source>
            <translation>Entwurfsmodell wählen…</translation>
        </message>
        <message>
            <source>Choose the lookahead…</source>
            <translation>Vorausschau wählen…</translation>
        </message>
        <message>
            <source>Rescan the model folders</source>
            <translation>Modellordner neu einlesen</translation>
        </message>
        <message>
            <source>Models…</source>
            <translation>Modelle…</translation>
        </message>
        <message>
            <source>Get models…</source>
            <translation>Modelle holen…</translation>
        </message>
        <message>
            <source>Add a model folder…</source>
            <translation>Modellordner hinzufügen…</translation>
        </message>
        <message>
            <source>Add a server as a target…</source>
            <translation>Server als Zielmodell hinzufügen …</translation>
        </message>
        <message>
            <source>Remove the server that is the target</source>
            <translation>Server entfernen, der das Zielmodell ist</translation>
        </message>
        <message>
            <source>Options for the target…</source>
            <translation>Optionen für das Zielmodell…</translation>
        </message>
        <message>
            <source>Load the chosen models</source>
            <translation>Gewählte Modelle laden</translation>
        </message>
        <message>
            <source>Unload the models</source>
            <translation>Modelle entladen</translation>
        </message>
        <message>
            <source>The models are unloaded once the reply is written.</source>
            <translation>Die Modelle werden entladen, sobald die Antwort geschrieben ist.</translation>
        </message>
        <message>
            <source>The models are unloaded.</source>
            <translation>Die Modelle werden entladen.</translation>
        </message>
        <message>
            <source>The next message loads them again.</source>
            <translation>Die nächste Nachricht lädt sie wieder.</translation>
        </message>
        <message>
            <source>Compare plain and speculative decoding…</source>
            <translation>Einfaches und spekulatives Dekodieren vergleichen…</translation>
        </message>
        <message>
            <source>Lookahead sweep…</source>
            <translation>Vorausschau durchprobieren…</translation>
        </message>
        <message>
            <source>Replay the last reply</source>
            <translation>Letzte Antwort wiederholen</translation>
        </message>
        <message>
            <source>Theme: follow system</source>
            <translation>Erscheinungsbild: Systemeinstellung</translation>
        </message>
        <message>
            <source>Theme: light</source>
            <translation>Erscheinungsbild: hell</translation>
        </message>
        <message>
            <source>Theme: dark</source>
            <translation>Erscheinungsbild: dunkel</translation>
        </message>
        <message>
            <source>Theme: high contrast</source>
            <translation>Erscheinungsbild: hoher Kontrast</translation>
        </message>
        <message>
            <source>Show the chat list</source>
            <translation>Chatliste anzeigen</translation>
        </message>
        <message>
            <source>Show the Speculation panel</source>
            <translation>Seitenleiste „Spekulation“ anzeigen</translation>
        </message>
        <message>
            <source>Colour tokens</source>
            <translation>Tokens einfärben</translation>
        </message>
        <message>
            <source>Mark where the model was unsure</source>
            <translation>Markieren, wo das Modell unsicher war</translation>
        </message>
        <message>
            <source>Zoom in</source>
            <translation>Vergrößern</translation>
        </message>
        <message>
            <source>Zoom out</source>
            <translation>Verkleinern</translation>
        </message>
        <message>
            <source>Reset zoom</source>
            <translation>Zoom zurücksetzen</translation>
        </message>
        <message>
            <source>All commands…</source>
            <translation>Alle Befehle…</translation>
        </message>
        <message>
            <source>Keyboard shortcuts…</source>
            <translation>Tastenkürzel…</translation>
        </message>
        <message>
            <source>About Outrider…</source>
            <translation>Über Outrider…</translation>
        </message>
        <message>
            <source>Quit</source>
            <translation>Beenden</translation>
        </message>
        <message>
            <source>How the two models work together</source>
            <translation>So arbeiten die beiden Modelle zusammen</translation>
        </message>
        <message>
            <source>Open the log folder</source>
            <translation>Protokollordner öffnen</translation>
        </message>
        <message>
            <source>Settings…</source>
            <translation>Einstellungen…</translation>
        </message>
        <message>
            <source>Deleted</source>
            <translation>Gelöscht</translation>
        </message>
        <message>
            <source>Undo</source>
            <translation>Rückgängig</translation>
        </message>
        <message>
            <source>Exported as {name}</source>
            <translation>Exportiert als {name}</translation>
        </message>
        <message>
            <source>All changes are saved again.</source>
            <translation>Alle Änderungen sind wieder gespeichert.</translation>
        </message>
        <message numerus="yes">
            <source>%n chat(s) imported.</source>
            <translation>
                <numerusform>%n Chat importiert.</numerusform>
                <numerusform>%n Chats importiert.</numerusform>
            </translation>
        </message>
        <message>
            <source>Project “{title}” imported.</source>
            <translation>Projekt „{title}“ importiert.</translation>
        </message>
        <message numerus="yes">
            <source>%n chat(s) brought up to date.</source>
            <translation>
                <numerusform>%n Chat aktualisiert.</numerusform>
                <numerusform>%n Chats aktualisiert.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n chat(s) were here already.</source>
            <translation>
                <numerusform>%n Chat war schon hier.</numerusform>
                <numerusform>%n Chats waren schon hier.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n chat(s) could not be read:</source>
            <translation>
                <numerusform>%n Chat konnte nicht gelesen werden:</numerusform>
                <numerusform>%n Chats konnten nicht gelesen werden:</numerusform>
            </translation>
        </message>
        <message>
            <source>Export all chats</source>
            <translation>Alle Chats exportieren</translation>
        </message>
        <message>
            <source>ZIP archive (*.zip)</source>
            <translation>ZIP-Archiv (*.zip)</translation>
        </message>
        <message>
            <source>Import files…</source>
            <translation>Dateien importieren…</translation>
        </message>
        <message>
            <source>{name} cannot be opened: it is not a readable file or folder.</source>
            <translation>{name} kann nicht geöffnet werden: Es ist keine lesbare Datei und kein lesbarer Ordner.</translation>
        </message>
        <message>
            <source>{model} is now the target.</source>
            <translation>{model} ist jetzt das Zielmodell.</translation>
        </message>
        <message>
            <source>{model} is now the target; the other models were ignored.</source>
            <translation>{model} ist jetzt das Zielmodell; die anderen Modelle wurden ignoriert.</translation>
        </message>
        <message>
            <source>Only files and folders on this computer can be dropped here.</source>
            <translation>Hier können nur Dateien und Ordner dieses Computers abgelegt werden.</translation>
        </message>
        <message>
            <source>New project</source>
            <translation>Neues Projekt</translation>
        </message>
        <message>
            <source>Follow the files of a folder</source>
            <translation>Den Dateien eines Ordners folgen</translation>
        </message>
        <message>
            <source>There is no record of how this reply was made, so it has no proof.</source>
            <translation>Es ist nicht festgehalten, wie diese Antwort entstand; darum hat sie keinen Beleg.</translation>
        </message>
        <message>
            <source>Export with proof</source>
            <translation>Mit Beleg exportieren</translation>
        </message>
        <message>
            <source>Computing the reply of {name} again…</source>
            <translation>Die Antwort von {name} wird noch einmal berechnet …</translation>
        </message>
        <message>
            <source>The log is in {folder}.</source>
            <translation>Das Protokoll liegt in {folder}.</translation>
        </message>
        <message>
            <source>There is no log in {folder} yet.</source>
            <translation>In {folder} gibt es noch kein Protokoll.</translation>
        </message>
        <message>
            <source>It is shown as soon as the reply in another chat is written.</source>
            <translation>Es wird gezeigt, sobald die Antwort in einem anderen Chat geschrieben ist.</translation>
        </message>
        <message>
            <source>There is no token record for this reply, so it cannot be replayed.</source>
            <translation>Zu dieser Antwort gibt es keine Tokenaufzeichnung; sie kann nicht wiederholt werden.</translation>
        </message>
    </context>
    <context>
        <name>MarkdownPage</name>
        <message>
            <source>Copy the table as CSV</source>
            <translation>Die Tabelle als CSV kopieren</translation>
        </message>
    </context>
    <context>
        <name>MarkdownText</name>
        <message>
            <source>Reply</source>
            <translation>Antwort</translation>
        </message>
        <message>
            <source>The rest of this reply is too long to display. Copy the reply to get all of it.</source>
            <translation>Der Rest dieser Antwort ist zu lang für die Anzeige. Kopieren Sie die Antwort, um sie vollständig zu erhalten.</translation>
        </message>
    </context>
    <context>
        <name>MessageActions</name>
        <message>
            <source>Edit and send again</source>
            <translation>Bearbeiten und erneut senden</translation>
        </message>
        <message>
            <source>Copy your message</source>
            <translation>Nachricht kopieren</translation>
        </message>
        <message>
            <source>Show what the model reads</source>
            <translation>Zeigen, was das Modell liest</translation>
        </message>
        <message>
            <source>Delete this message and its reply</source>
            <translation>Diese Nachricht und ihre Antwort löschen</translation>
        </message>
        <message>
            <source>Previous version of your message</source>
            <translation>Vorherige Version Ihrer Nachricht</translation>
        </message>
        <message>
            <source>Next version of your message</source>
            <translation>Nächste Version Ihrer Nachricht</translation>
        </message>
        <message>
            <source>Generate another reply</source>
            <translation>Weitere Antwort erzeugen</translation>
        </message>
        <message>
            <source>Continue this reply</source>
            <translation>Diese Antwort fortsetzen</translation>
        </message>
        <message>
            <source>Replay: watch how this reply was written</source>
            <translation>Wiederholung: zusehen, wie diese Antwort entstand</translation>
        </message>
        <message>
            <source>Choose a token to go on from in other words</source>
            <translation>Ein Token wählen, ab dem es anders weitergeht</translation>
        </message>
        <message>
            <source>Rewrite: say what to change, see each change</source>
            <translation>Umschreiben: sagen, was anders sein soll, und jede Änderung sehen</translation>
        </message>
        <message>
            <source>Export with proof</source>
            <translation>Mit Beleg exportieren</translation>
        </message>
        <message>
            <source>Edit this reply</source>
            <translation>Diese Antwort bearbeiten</translation>
        </message>
        <message>
            <source>Copy the reply</source>
            <translation>Antwort kopieren</translation>
        </message>
        <message>
            <source>Read aloud, or stop</source>
            <translation>Vorlesen oder anhalten</translation>
        </message>
        <message>
            <source>Delete this reply</source>
            <translation>Diese Antwort löschen</translation>
        </message>
        <message>
            <source>Previous reply</source>
            <translation>Vorherige Antwort</translation>
        </message>
        <message>
            <source>Next reply</source>
            <translation>Nächste Antwort</translation>
        </message>
        <message>
            <source>Possible once the reply is written</source>
            <translation>Möglich, sobald die Antwort geschrieben ist</translation>
        </message>
    </context>
    <context>
        <name>Microphone</name>
        <message>
            <source>Dictation needs Qt's multimedia. Install the Python package PySide6-Addons.</source>
            <translation>Das Diktieren braucht Qts Multimedia. Installieren Sie das Python-Paket PySide6-Addons.</translation>
        </message>
        <message>
            <source>Dictation needs a microphone, and the system has none.</source>
            <translation>Das Diktieren braucht ein Mikrofon, und das System hat keines.</translation>
        </message>
    </context>
    <context>
        <name>ModelBar</name>
        <message>
            <source>Target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <source>Draft</source>
            <translation>Entwurfsmodell</translation>
        </message>
        <message>
            <source>Lookahead: number of tokens proposed per round. Auto chooses it by measurement; 0 is plain decoding.</source>
            <translation>Vorausschau: Zahl der vorgeschlagenen Tokens je Runde. Auto wählt sie durch Messen; 0 ist einfaches Dekodieren.</translation>
        </message>
        <message>
            <source>Lookahead</source>
            <translation>Vorausschau</translation>
        </message>
        <message>
            <source>Auto</source>
            <translation>Auto</translation>
        </message>
        <message>
            <source>Chooses the number each round for the highest speed</source>
            <translation>Wählt die Zahl in jeder Runde für die höchste Geschwindigkeit</translation>
        </message>
        <message>
            <source>Show or hide the chat list</source>
            <translation>Chatliste ein- oder ausblenden</translation>
        </message>
        <message>
            <source>Show or hide the Speculation panel</source>
            <translation>Seitenleiste „Spekulation“ ein- oder ausblenden</translation>
        </message>
        <message>
            <source>Colour tokens (Ctrl+T)</source>
            <translation>Tokens einfärben (Strg+T)</translation>
        </message>
        <message>
            <source>Colour tokens</source>
            <translation>Tokens einfärben</translation>
        </message>
        <message>
            <source>Models and model folders</source>
            <translation>Modelle und Modellordner</translation>
        </message>
        <message>
            <source>Settings</source>
            <translation>Einstellungen</translation>
        </message>
        <message>
            <source>Choose a target</source>
            <translation>Zielmodell wählen</translation>
        </message>
        <message>
            <source>It is not loaded yet.</source>
            <translation>Es ist noch nicht geladen.</translation>
        </message>
    </context>
    <context>
        <name>ModelController</name>
        <message>
            <source>No target is chosen. Choose one above, or add a folder with GGUF models.</source>
            <translation>Es ist kein Zielmodell gewählt. Wählen Sie oben eines oder fügen Sie einen Ordner mit GGUF-Modellen hinzu.</translation>
        </message>
    </context>
    <context>
        <name>ModelOptionsDialog</name>
        <message>
            <source>Options for {model}</source>
            <translation>Optionen für {model}</translation>
        </message>
        <message>
            <source>Context</source>
            <translation>Kontext</translation>
        </message>
        <message>
            <source>Cache type</source>
            <translation>Cache-Typ</translation>
        </message>
        <message>
            <source>Threads</source>
            <translation>Threads</translation>
        </message>
        <message>
            <source>GPU layers</source>
            <translation>GPU-Schichten</translation>
        </message>
        <message>
            <source>Machines</source>
            <translation>Rechner</translation>
        </message>
        <message>
            <source>none</source>
            <translation>keine</translation>
        </message>
        <message>
            <source>automatic</source>
            <translation>automatisch</translation>
        </message>
        <message>
            <source>{bits} bits ({kind})</source>
            <translation>{bits} Bit ({kind})</translation>
        </message>
        <message>
            <source>Context length in tokens. Automatic: {usual:,}.</source>
            <translation>Kontextlänge in Tokens. Automatisch: {usual:,}.</translation>
        </message>
        <message>
            <source>Context length in tokens, at most {most:,}. Automatic: {usual:,}.</source>
            <translation>Kontextlänge in Tokens, höchstens {most:,}. Automatisch: {usual:,}.</translation>
        </message>
        <message>
            <source>Number of layers computed on the GPU; -1 means all. Automatic: all.</source>
            <translation>Zahl der Schichten, die auf der GPU gerechnet werden; -1: alle. Automatisch: alle.</translation>
        </message>
        <message>
            <source>Number of processor threads. Automatic: chosen by measurement.</source>
            <translation>Zahl der Prozessor-Threads. Automatisch: durch Messen gewählt.</translation>
        </message>
        <message>
            <source>Other computers that compute its layers, such as 192.168.1.20:50052, with commas between them. Each runs outrider-engine rpc-server. Nothing that is sent there is encrypted: only for networks that you trust.</source>
            <translation>Andere Computer, die seine Schichten berechnen, etwa 192.168.1.20:50052, durch Kommas getrennt. Auf jedem läuft outrider-engine rpc-server. Nichts, was dorthin geht, ist verschlüsselt: nur für Netze, denen Sie vertrauen.</translation>
        </message>
        <message>
            <source>Only for GGUF models.</source>
            <translation>Nur für GGUF-Modelle.</translation>
        </message>
        <message>
            <source>The installed llama.cpp has no GPU support.</source>
            <translation>Das installierte llama.cpp unterstützt keine GPU.</translation>
        </message>
        <message>
            <source>The number format of the cache: fewer bits use less memory and round more.</source>
            <translation>Das Zahlenformat des Caches: Weniger Bits brauchen weniger Speicher und runden stärker.</translation>
        </message>
        <message>
            <source>The cache of this model supports no other format.</source>
            <translation>Der Cache dieses Modells unterstützt kein anderes Format.</translation>
        </message>
        <message>
            <source>Reset</source>
            <translation>Zurücksetzen</translation>
        </message>
        <message>
            <source>Set all options to automatic</source>
            <translation>Alle Optionen auf automatisch setzen</translation>
        </message>
        <message>
            <source>System prompt and sampling…</source>
            <translation>System-Prompt und Sampling …</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Save</source>
            <translation>Speichern</translation>
        </message>
        <message>
            <source>Chat template</source>
            <translation>Chatvorlage</translation>
        </message>
        <message>
            <source>It was trained for {most:,} tokens and cannot use more.</source>
            <translation>Es wurde für {most:,} Tokens trainiert und kann nicht mehr nutzen.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory; {free} are free.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher; {free} sind frei.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory, which the machines must have.</source>
            <translation>Es braucht etwa {needed} Speicher, den die Rechner haben müssen.</translation>
        </message>
        <message>
            <source>In a context this long, 8 bits take about half of its memory, and on the processor the model writes a tenth faster. Some replies change: perplexity up by 1%, another likeliest token in 3 of 100 places (measured).</source>
            <translation>In einem so langen Kontext brauchen 8 Bits etwa die Hälfte seines Speichers, und auf dem Prozessor schreibt das Modell ein Zehntel schneller. Manche Antworten ändern sich: Perplexität um 1 % höher, an 3 von 100 Stellen ein anderes wahrscheinlichstes Token (gemessen).</translation>
        </message>
    </context>
    <context>
        <name>Models</name>
        <message>
            <source>Both propose. With lookahead auto, each round takes the one that promises more; with a fixed lookahead the head drafts.</source>
            <translation>Beide schlagen vor. Mit der Vorausschau auto kommt in jeder Runde zum Zug, was mehr verspricht, mit einer festen der Kopf.</translation>
        </message>
        <message>
            <source>Its folder is not available.</source>
            <translation>Sein Ordner ist nicht verfügbar.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory; {free} are free beside the target.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher; neben dem Zielmodell sind {free} frei.</translation>
        </message>
        <message>
            <source>context {context:,}</source>
            <translation>Kontext {context:,}</translation>
        </message>
        <message>
            <source>{plain}, {drafted} with a draft</source>
            <translation>{plain}, {drafted} mit Entwurf</translation>
        </message>
        <message>
            <source>{speed} with a draft</source>
            <translation>{speed} mit Entwurf</translation>
        </message>
        <message>
            <source>Same tokenizer</source>
            <translation>Gleicher Tokenizer</translation>
        </message>
        <message>
            <source>Head and draft model in turns</source>
            <translation>Kopf und Entwurfsmodell im Wechsel</translation>
        </message>
        <message>
            <source>Other tokenizer, so slower</source>
            <translation>Anderer Tokenizer, daher langsamer</translation>
        </message>
        <message>
            <source>Others</source>
            <translation>Andere</translation>
        </message>
        <message>
            <source>Servers</source>
            <translation>Server</translation>
        </message>
        <message>
            <source>Add a server…</source>
            <translation>Server hinzufügen …</translation>
        </message>
        <message>
            <source>A model on another computer, or of another program</source>
            <translation>Ein Modell auf einem anderen Computer oder eines anderen Programms</translation>
        </message>
        <message>
            <source>none</source>
            <translation>keines</translation>
        </message>
        <message>
            <source>Plain decoding: no draft</source>
            <translation>Einfaches Dekodieren: kein Entwurfsmodell</translation>
        </message>
        <message>
            <source>n-gram</source>
            <translation>N-Gramm</translation>
        </message>
        <message>
            <source>No draft model: proposals are taken from the text so far</source>
            <translation>Kein Entwurfsmodell: Vorschläge stammen aus dem bisherigen Text</translation>
        </message>
        <message>
            <source>automatic</source>
            <translation>automatisch</translation>
        </message>
        <message>
            <source>automatic · {draft}</source>
            <translation>automatisch · {draft}</translation>
        </message>
        <message>
            <source>automatic · from the text</source>
            <translation>automatisch · aus dem Text</translation>
        </message>
        <message>
            <source>chosen by the server</source>
            <translation>bestimmt der Server</translation>
        </message>
        <message>
            <source>A server drafts by itself</source>
            <translation>Ein Server schlägt selbst vor</translation>
        </message>
        <message>
            <source>automatic · no draft fits</source>
            <translation>automatisch · kein Entwurf passt</translation>
        </message>
        <message>
            <source>The best available draft for the target</source>
            <translation>Das beste verfügbare Entwurfsmodell für das Zielmodell</translation>
        </message>
        <message>
            <source>{place} · batch-invariant</source>
            <translation>{place} · unabhängig vom Stapel (batch-invariant)</translation>
        </message>
        <message>
            <source>{place} · not batch-invariant: a greedy reply with a draft may differ where two tokens are nearly as likely</source>
            <translation>{place} · abhängig vom Stapel (nicht batch-invariant): Mit einem Entwurf kann eine gierige Antwort abweichen, wo zwei Token fast gleich wahrscheinlich sind</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory; {free} are free.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher; {free} sind frei.</translation>
        </message>
        <message>
            <source>{target} and {draft} need about {needed} of memory, but only {free} are free. Loading them may slow down this computer or fail.</source>
            <translation>{target} und {draft} brauchen etwa {needed} Arbeitsspeicher, aber nur {free} sind frei. Das Laden kann diesen Computer verlangsamen oder fehlschlagen.</translation>
        </message>
        <message>
            <source>{target} needs about {needed} of memory, but only {free} are free. Loading it may slow down this computer or fail.</source>
            <translation>{target} braucht etwa {needed} Arbeitsspeicher, aber nur {free} sind frei. Das Laden kann diesen Computer verlangsamen oder fehlschlagen.</translation>
        </message>
    </context>
    <context>
        <name>NarrowingBar</name>
        <message>
            <source>Show</source>
            <translation>Zeigen</translation>
        </message>
        <message>
            <source>Family</source>
            <translation>Familie</translation>
        </message>
        <message>
            <source>Size</source>
            <translation>Größe</translation>
        </message>
        <message>
            <source>Quantisation</source>
            <translation>Quantisierung</translation>
        </message>
        <message>
            <source>All families</source>
            <translation>Alle Familien</translation>
        </message>
        <message>
            <source>All sizes</source>
            <translation>Alle Größen</translation>
        </message>
        <message>
            <source>All quantisations</source>
            <translation>Alle Quantisierungen</translation>
        </message>
    </context>
    <context>
        <name>NoticeBar</name>
        <message>
            <source>Undo</source>
            <translation>Rückgängig</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
    </context>
    <context>
        <name>Notifier</name>
        <message>
            <source>The reply is ready</source>
            <translation>Die Antwort ist fertig</translation>
        </message>
        <message>
            <source>The reply could not be generated</source>
            <translation>Die Antwort konnte nicht erzeugt werden</translation>
        </message>
    </context>
    <context>
        <name>PageQuestion</name>
        <message>
            <source>Open this page?</source>
            <translation>Diese Seite öffnen?</translation>
        </message>
        <message>
            <source>Open this page in your browser? Its scripts run there and may use the network.</source>
            <translation>Diese Seite im Browser öffnen? Ihre Skripte laufen dort und können das Netz benutzen.</translation>
        </message>
    </context>
    <context>
        <name>PairNotice</name>
        <message>
            <source>Use this pair</source>
            <translation>Dieses Paar verwenden</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
    </context>
    <context>
        <name>PanelTools</name>
        <message>
            <source>Speculation</source>
            <translation>Spekulation</translation>
        </message>
        <message>
            <source>Pause the plots</source>
            <translation>Diagramme anhalten</translation>
        </message>
        <message>
            <source>Save the plots</source>
            <translation>Diagramme speichern</translation>
        </message>
        <message>
            <source>As an image (PNG)…</source>
            <translation>Als Bild (PNG)…</translation>
        </message>
        <message>
            <source>As a table (CSV)…</source>
            <translation>Als Tabelle (CSV)…</translation>
        </message>
        <message>
            <source>Resume the plots</source>
            <translation>Diagramme fortsetzen</translation>
        </message>
        <message>
            <source>Save the plots as an image</source>
            <translation>Diagramme als Bild speichern</translation>
        </message>
        <message>
            <source>Images (*.png)</source>
            <translation>Bilder (*.png)</translation>
        </message>
        <message>
            <source>Save the data as a table</source>
            <translation>Daten als Tabelle speichern</translation>
        </message>
        <message>
            <source>Tables (*.csv)</source>
            <translation>Tabellen (*.csv)</translation>
        </message>
        <message>
            <source>Cannot save {path}: {reason}. Choose another folder.</source>
            <translation>{path} kann nicht gespeichert werden: {reason}. Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <source>Saved as {path}</source>
            <translation>Gespeichert als {path}</translation>
        </message>
    </context>
    <context>
        <name>PositionBars</name>
        <message>
            <source>Acceptance by position</source>
            <translation>Annahme nach Position</translation>
        </message>
        <message>
            <source>position {place}: {rate} of {proposed}</source>
            <translation>Position {place}: {rate} von {proposed}</translation>
        </message>
        <message>
            <source>position in the draft</source>
            <translation>Position im Vorschlag</translation>
        </message>
        <message>
            <source>Share of proposed tokens that were accepted</source>
            <translation>Anteil der vorgeschlagenen Tokens, die angenommen wurden</translation>
        </message>
    </context>
    <context>
        <name>Preview</name>
        <message>
            <source>Preview</source>
            <translation>Vorschau</translation>
        </message>
        <message>
            <source>it cannot be drawn</source>
            <translation>es lässt sich nicht zeichnen</translation>
        </message>
    </context>
    <context>
        <name>ProblemView</name>
        <message>
            <source>Problem</source>
            <translation>Problem</translation>
        </message>
        <message>
            <source>Choose a folder…</source>
            <translation>Ordner wählen…</translation>
        </message>
        <message>
            <source>Longer context…</source>
            <translation>Längerer Kontext…</translation>
        </message>
        <message>
            <source>Details…</source>
            <translation>Details…</translation>
        </message>
    </context>
    <context>
        <name>ProgressStrip</name>
        <message>
            <source>Progress</source>
            <translation>Fortschritt</translation>
        </message>
        <message>
            <source>Cancel (Esc)</source>
            <translation>Abbrechen (Esc)</translation>
        </message>
    </context>
    <context>
        <name>ProjectDialog</name>
        <message>
            <source>Project</source>
            <translation>Projekt</translation>
        </message>
        <message>
            <source>What the model reads before every chat of this project</source>
            <translation>Was das Modell vor jedem Chat dieses Projekts liest</translation>
        </message>
        <message>
            <source>Its chats use {models}</source>
            <translation>Seine Chats nehmen {models}</translation>
        </message>
        <message>
            <source>Models that you choose while one of its chats is open are then chosen for this project alone.</source>
            <translation>Modelle, die Sie wählen, während einer seiner Chats offen ist, gelten dann nur für dieses Projekt.</translation>
        </message>
        <message>
            <source>Add files…</source>
            <translation>Dateien hinzufügen…</translation>
        </message>
        <message>
            <source>Remove</source>
            <translation>Entfernen</translation>
        </message>
        <message>
            <source>Follow a folder…</source>
            <translation>Einem Ordner folgen…</translation>
        </message>
        <message>
            <source>Don’t follow it</source>
            <translation>Nicht mehr folgen</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Name</source>
            <translation>Name</translation>
        </message>
        <message>
            <source>Instructions</source>
            <translation>Anweisungen</translation>
        </message>
        <message>
            <source>Files</source>
            <translation>Dateien</translation>
        </message>
        <message>
            <source>Follows {folder}</source>
            <translation>Folgt {folder}</translation>
        </message>
    </context>
    <context>
        <name>Projects</name>
        <message>
            <source>{model}, the model of this project, is not there. Its chats use the one that is chosen.</source>
            <translation>{model}, das Modell dieses Projekts, ist nicht da. Seine Chats nehmen das gewählte.</translation>
        </message>
        <message>
            <source>The folder {folder} of this project is not there.</source>
            <translation>Der Ordner {folder} dieses Projekts ist nicht da.</translation>
        </message>
        <message numerus="yes">
            <source>%n file(s) more</source>
            <translation>
                <numerusform>%n weitere Datei</numerusform>
                <numerusform>%n weitere Dateien</numerusform>
            </translation>
        </message>
        <message>
            <source>Not read: {files}</source>
            <translation>Nicht gelesen: {files}</translation>
        </message>
    </context>
    <context>
        <name>PromptBox</name>
        <message>
            <source>Ask something…</source>
            <translation>Fragen Sie etwas…</translation>
        </message>
        <message>
            <source>Prompt</source>
            <translation>Prompt</translation>
        </message>
        <message>
            <source>Enter to send, Shift+Enter for a new line</source>
            <translation>Eingabe: senden, Umschalt+Eingabe: neue Zeile</translation>
        </message>
        <message>
            <source>Attach documents, pictures and text files</source>
            <translation>Dokumente, Bilder und Textdateien anhängen</translation>
        </message>
        <message>
            <source>Steer: stop the reply, add these words to it, and let it go on (Ctrl+Enter)</source>
            <translation>Lenken: die Antwort anhalten, diese Worte anfügen und sie weitergehen lassen (Strg+Eingabe)</translation>
        </message>
        <message>
            <source>Send once the reply is written (Enter)</source>
            <translation>Senden, sobald die Antwort geschrieben ist (Eingabe)</translation>
        </message>
        <message>
            <source>Ask in “{project}”…</source>
            <translation>In „{project}“ fragen…</translation>
        </message>
        <message>
            <source>Add a message for when the reply is written…</source>
            <translation>Eine Nachricht für danach …</translation>
        </message>
        <message>
            <source>Cancel (Esc)</source>
            <translation>Abbrechen (Esc)</translation>
        </message>
        <message>
            <source>Send (Enter)</source>
            <translation>Senden (Eingabe)</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Send</source>
            <translation>Senden</translation>
        </message>
    </context>
    <context>
        <name>PromptDialog</name>
        <message>
            <source>What the model reads</source>
            <translation>Was das Modell liest</translation>
        </message>
        <message>
            <source>{count} tokens. Control tokens are marked.</source>
            <translation>{count} Token. Steuertoken sind markiert.</translation>
        </message>
        <message>
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Copied</source>
            <translation>Kopiert</translation>
        </message>
    </context>
    <context>
        <name>PromptEdit</name>
        <message>
            <source>There is no text in what was copied, and only text can be pasted here.</source>
            <translation>In dem, was kopiert wurde, ist kein Text, und hier kann nur Text eingefügt werden.</translation>
        </message>
    </context>
    <context>
        <name>Proof</name>
        <message>
            <source>the file cannot be written</source>
            <translation>die Datei kann nicht geschrieben werden</translation>
        </message>
        <message>
            <source>{count} s</source>
            <translation>{count} s</translation>
        </message>
        <message>
            <source>{count} min</source>
            <translation>{count} min</translation>
        </message>
        <message>
            <source>No target is chosen.</source>
            <translation>Es ist kein Zielmodell gewählt.</translation>
        </message>
        <message>
            <source>Target {name}</source>
            <translation>Zielmodell {name}</translation>
        </message>
        <message>
            <source>draft {name}</source>
            <translation>Entwurfsmodell {name}</translation>
        </message>
        <message>
            <source>no draft</source>
            <translation>kein Entwurfsmodell</translation>
        </message>
        <message>
            <source>Server {name}</source>
            <translation>Server {name}</translation>
        </message>
        <message>
            <source>auto</source>
            <translation>auto</translation>
        </message>
        <message>
            <source>lookahead {lookahead}</source>
            <translation>Vorausschau {lookahead}</translation>
        </message>
        <message>
            <source>Plain</source>
            <translation>Einfach</translation>
        </message>
        <message>
            <source>Server</source>
            <translation>Server</translation>
        </message>
        <message>
            <source>Speculative, auto</source>
            <translation>Spekulativ, auto</translation>
        </message>
        <message>
            <source>Speculative, lookahead {k}</source>
            <translation>Spekulativ, Vorausschau {k}</translation>
        </message>
        <message>
            <source>Waiting for the current task to finish</source>
            <translation>Wartet auf das Ende des laufenden Vorgangs</translation>
        </message>
        <message>
            <source>Confirm in the main window that the models may be loaded</source>
            <translation>Bestätigen Sie im Hauptfenster, dass die Modelle geladen werden dürfen</translation>
        </message>
        <message>
            <source>Loading the models</source>
            <translation>Die Modelle werden geladen</translation>
        </message>
        <message>
            <source>Racing: plain first, then speculative, each alone</source>
            <translation>Wettlauf: erst einfach, dann spekulativ, jeder für sich</translation>
        </message>
        <message>
            <source>Measuring this pair (only once)</source>
            <translation>Dieses Paar wird gemessen (nur einmal)</translation>
        </message>
        <message>
            <source>Warming up</source>
            <translation>Aufwärmen</translation>
        </message>
        <message>
            <source>Measuring</source>
            <translation>Messung läuft</translation>
        </message>
        <message>
            <source>Comparing the outputs</source>
            <translation>Die Ausgaben werden verglichen</translation>
        </message>
        <message>
            <source>about {time} left</source>
            <translation>noch etwa {time}</translation>
        </message>
        <message>
            <source>{seconds} s</source>
            <translation>{seconds} s</translation>
        </message>
        <message>
            <source>identical</source>
            <translation>identisch</translation>
        </message>
        <message>
            <source>sampled, so the texts differ</source>
            <translation>gezogen, daher verschiedene Texte</translation>
        </message>
        <message>
            <source>the texts differ, see below</source>
            <translation>die Texte unterscheiden sich, siehe unten</translation>
        </message>
        <message>
            <source>by speed: {plain} and {other}</source>
            <translation>nach Tempo: {plain} und {other}</translation>
        </message>
        <message>
            <source>Cancelled before anything was measured.</source>
            <translation>Abgebrochen, bevor etwas gemessen wurde.</translation>
        </message>
        <message>
            <source>{turns} runs of up to {tokens} tokens, prompt of {prompt} tokens</source>
            <translation>{turns} Läufe mit bis zu {tokens} Tokens, Prompt mit {prompt} Tokens</translation>
        </message>
        <message>
            <source>one run of up to {tokens} tokens, prompt of {prompt} tokens</source>
            <translation>ein Lauf mit bis zu {tokens} Tokens, Prompt mit {prompt} Tokens</translation>
        </message>
        <message>
            <source>Cancelled. Partial figures from {size}.</source>
            <translation>Abgebrochen. Teilergebnis aus: {size}.</translation>
        </message>
        <message>
            <source>Medians of {size}.</source>
            <translation>Mediane aus: {size}.</translation>
        </message>
        <message>
            <source>half of the runs: {low}–{high}</source>
            <translation>die Hälfte der Läufe: {low}–{high}</translation>
        </message>
        <message>
            <source>speedup</source>
            <translation>Beschleunigung</translation>
        </message>
        <message>
            <source>the speed of plain decoding</source>
            <translation>so schnell wie einfaches Dekodieren</translation>
        </message>
        <message>
            <source>no measurable difference from plain decoding</source>
            <translation>kein messbarer Unterschied zu einfachem Dekodieren</translation>
        </message>
        <message>
            <source>too few runs to tell</source>
            <translation>zu wenige Läufe für eine Aussage</translation>
        </message>
        <message>
            <source>{length} tokens per round</source>
            <translation>{length} Tokens je Runde</translation>
        </message>
        <message>
            <source>lookahead {k} on average</source>
            <translation>Vorausschau {k} im Mittel</translation>
        </message>
        <message>
            <source>✓ identical, {alike} of {tokens} tokens</source>
            <translation>✓ identisch, {alike} von {tokens} Tokens</translation>
        </message>
        <message>
            <source>✓ identical up to a tie after {alike} of {tokens} tokens: the two best logits differ by {gap}</source>
            <translation>✓ identisch bis zu einem Gleichstand nach {alike} von {tokens} Tokens: Die zwei besten Logits unterscheiden sich um {gap}</translation>
        </message>
        <message>
            <source>✗ DIFFERENT after {alike} of {tokens} tokens. This is a bug: please report it.</source>
            <translation>✗ VERSCHIEDEN nach {alike} von {tokens} Tokens. Das ist ein Fehler: Bitte melden Sie ihn.</translation>
        </message>
        <message>
            <source>The outputs differ after {alike} of {tokens} tokens; the measurement was cancelled before the cause was examined.</source>
            <translation>Die Ausgaben unterscheiden sich nach {alike} von {tokens} Tokens; die Messung wurde abgebrochen, bevor die Ursache untersucht war.</translation>
        </message>
        <message>
            <source>✓ same distribution</source>
            <translation>✓ gleiche Verteilung</translation>
        </message>
        <message>
            <source>Tokens are sampled here, so two replies differ, just as two plain replies do. Either way each token follows the target's own distribution: a proposed token is kept with probability min(1, target / draft); otherwise a token is sampled from what remains of the target's distribution.</source>
            <translation>Hier werden Tokens zufällig gezogen, daher unterscheiden sich zwei Antworten, genau wie zwei einfache. In beiden Fällen folgt jedes Token der Verteilung des Zielmodells: Ein vorgeschlagenes Token wird mit der Wahrscheinlichkeit min(1, Zielmodell / Entwurfsmodell) behalten; sonst wird ein Token aus dem Rest der Verteilung des Zielmodells gezogen.</translation>
        </message>
        <message>
            <source>Batches of different sizes round the last bits differently, so where two tokens are almost equally likely, either may be chosen. Both outputs are the target's own.</source>
            <translation>Stapel verschiedener Größe runden die letzten Bits verschieden; wo zwei Tokens fast gleich wahrscheinlich sind, kann daher jedes von beiden gewählt werden. Beide Ausgaben sind die des Zielmodells.</translation>
        </message>
        <message>
            <source>Other programs used {share} of the processors meanwhile.</source>
            <translation>Andere Programme beanspruchten währenddessen {share} der Prozessoren.</translation>
        </message>
        <message>
            <source>Plain decoding itself varied by {share} between runs.</source>
            <translation>Schon das einfache Dekodieren schwankte zwischen den Läufen um {share}.</translation>
        </message>
        <message>
            <source>Fewer than three runs give only a first impression.</source>
            <translation>Weniger als drei Läufe ergeben nur einen ersten Eindruck.</translation>
        </message>
        <message>
            <source>Use the best lookahead</source>
            <translation>Beste Vorausschau verwenden</translation>
        </message>
        <message>
            <source>Use lookahead {k}</source>
            <translation>Vorausschau {k} verwenden</translation>
        </message>
        <message>
            <source>0 (plain decoding)</source>
            <translation>0 (einfaches Dekodieren)</translation>
        </message>
        <message>
            <source>Fastest lookahead: {name}</source>
            <translation>Schnellste Vorausschau: {name}</translation>
        </message>
        <message>
            <source>Lookahead {name} has the highest median speedup, but its lead over {others} is within the spread</source>
            <translation>Vorausschau {name} hat den höchsten Median der Beschleunigung, aber der Vorsprung vor {others} liegt innerhalb der Streuung</translation>
        </message>
    </context>
    <context>
        <name>QuestionBox</name>
        <message>
            <source>Your message</source>
            <translation>Ihre Nachricht</translation>
        </message>
    </context>
    <context>
        <name>QuestionEditor</name>
        <message>
            <source>Edit the reply</source>
            <translation>Die Antwort bearbeiten</translation>
        </message>
        <message>
            <source>Edit your message</source>
            <translation>Ihre Nachricht bearbeiten</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Discard the changes (Esc)</source>
            <translation>Änderungen verwerfen (Esc)</translation>
        </message>
        <message>
            <source>Save</source>
            <translation>Speichern</translation>
        </message>
        <message>
            <source>Send</source>
            <translation>Senden</translation>
        </message>
        <message>
            <source>Keep this beside the reply (Enter)</source>
            <translation>Dies neben der Antwort behalten (Enter)</translation>
        </message>
        <message>
            <source>Send the edited message (Enter)</source>
            <translation>Bearbeitete Nachricht senden (Eingabe)</translation>
        </message>
    </context>
    <context>
        <name>QuotedFile</name>
        <message>
            <source>Attached file {name}</source>
            <translation>Angehängte Datei {name}</translation>
        </message>
        <message>
            <source>collapsed</source>
            <translation>eingeklappt</translation>
        </message>
        <message>
            <source>expanded</source>
            <translation>ausgeklappt</translation>
        </message>
    </context>
    <context>
        <name>RaceView</name>
        <message>
            <source>Watch again</source>
            <translation>Noch einmal ansehen</translation>
        </message>
        <message>
            <source>Save picture…</source>
            <translation>Bild speichern…</translation>
        </message>
        <message>
            <source>Save animation…</source>
            <translation>Animation speichern…</translation>
        </message>
        <message>
            <source>Saved as {name}</source>
            <translation>Gespeichert als {name}</translation>
        </message>
        <message>
            <source>{name} was not saved: {reason}</source>
            <translation>{name} wurde nicht gespeichert: {reason}</translation>
        </message>
    </context>
    <context>
        <name>Reader</name>
        <message>
            <source>Back</source>
            <translation>Zurück</translation>
        </message>
        <message>
            <source>Forward</source>
            <translation>Vor</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>reading…</source>
            <translation>wird gelesen…</translation>
        </message>
        <message>
            <source>This page cannot be shown as a picture.</source>
            <translation>Diese Seite kann nicht als Bild gezeigt werden.</translation>
        </message>
    </context>
    <context>
        <name>Replay</name>
        <message>
            <source>draft guessed {count}</source>
            <translation>Entwurfsmodell riet {count}</translation>
        </message>
        <message>
            <source>{count} kept</source>
            <translation>{count} behalten</translation>
        </message>
        <message>
            <source>target wrote “{word}”</source>
            <translation>Zielmodell schrieb „{word}“</translation>
        </message>
        <message>
            <source>target ended the reply</source>
            <translation>Zielmodell beendete die Antwort</translation>
        </message>
        <message numerus="yes">
            <source>{time} ms for %Ln tokens</source>
            <translation>
                <numerusform>{time} ms für %Ln Token</numerusform>
                <numerusform>{time} ms für %Ln Tokens</numerusform>
            </translation>
        </message>
        <message>
            <source>plain: {time} ms</source>
            <translation>einfach: {time} ms</translation>
        </message>
        <message>
            <source>round {number} of {count}</source>
            <translation>Runde {number} von {count}</translation>
        </message>
        <message>
            <source>real time</source>
            <translation>Echtzeit</translation>
        </message>
    </context>
    <context>
        <name>ReplayDialog</name>
        <message>
            <source>Replay of “{title}”</source>
            <translation>Wiederholung von „{title}“</translation>
        </message>
        <message>
            <source>Replay</source>
            <translation>Wiederholung</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
    </context>
    <context>
        <name>ReplayPlayer</name>
        <message>
            <source>This record was written before rejected guesses were kept: only what was written is seen.</source>
            <translation>Diese Aufzeichnung ist älter als das Aufheben verworfener Vorschläge: Zu sehen ist nur, was geschrieben wurde.</translation>
        </message>
        <message>
            <source>Previous round</source>
            <translation>Vorige Runde</translation>
        </message>
        <message>
            <source>Play</source>
            <translation>Abspielen</translation>
        </message>
        <message>
            <source>Next round</source>
            <translation>Nächste Runde</translation>
        </message>
        <message>
            <source>Round</source>
            <translation>Runde</translation>
        </message>
        <message>
            <source>Pace: {pace}</source>
            <translation>Tempo: {pace}</translation>
        </message>
        <message>
            <source>Pause</source>
            <translation>Anhalten</translation>
        </message>
    </context>
    <context>
        <name>ReplayText</name>
        <message>
            <source>Replay</source>
            <translation>Wiederholung</translation>
        </message>
    </context>
    <context>
        <name>RewriteDialog</name>
        <message>
            <source>Rewrite</source>
            <translation>Umschreiben</translation>
        </message>
        <message>
            <source>What should change?</source>
            <translation>Was soll anders sein?</translation>
        </message>
        <message>
            <source>The text and its changes</source>
            <translation>Der Text und seine Änderungen</translation>
        </message>
        <message>
            <source>Stop</source>
            <translation>Anhalten</translation>
        </message>
        <message>
            <source>Next change</source>
            <translation>Nächste Änderung</translation>
        </message>
        <message>
            <source>Undo this change</source>
            <translation>Änderung zurücknehmen</translation>
        </message>
        <message>
            <source>Use this text</source>
            <translation>Diesen Text nehmen</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>A reply is being written in this chat. Wait for it, or stop it.</source>
            <translation>In diesem Chat wird gerade geantwortet. Warten Sie, oder halten Sie die Antwort an.</translation>
        </message>
        <message>
            <source>Make this change again</source>
            <translation>Änderung wiederherstellen</translation>
        </message>
        <message>
            <source>Nothing is changed yet.</source>
            <translation>Noch ist nichts geändert.</translation>
        </message>
        <message numerus="yes">
            <source>Writing: %n change(s) so far.</source>
            <translation>
                <numerusform>Schreibt: bisher %n Änderung.</numerusform>
                <numerusform>Schreibt: bisher %n Änderungen.</numerusform>
            </translation>
        </message>
        <message>
            <source>{kept} of {count} changes are kept.</source>
            <translation>{kept} von {count} Änderungen bleiben.</translation>
        </message>
    </context>
    <context>
        <name>RoadCard</name>
        <message>
            <source>Go on from here</source>
            <translation>Ab hier weiter</translation>
        </message>
        <message>
            <source>In the place of “{token}”</source>
            <translation>Anstelle von „{token}“</translation>
        </message>
        <message>
            <source>What stands before it is kept. From there a new version is written beside this one.</source>
            <translation>Was davor steht, bleibt. Ab da entsteht eine neue Fassung neben dieser.</translation>
        </message>
        <message>
            <source>Own words</source>
            <translation>Eigene Worte</translation>
        </message>
        <message>
            <source>Own words in the place of the token</source>
            <translation>Eigene Worte anstelle des Tokens</translation>
        </message>
        <message>
            <source>what the reply is to say here</source>
            <translation>was die Antwort hier sagen soll</translation>
        </message>
    </context>
    <context>
        <name>RunDialog</name>
        <message>
            <source>Prompt</source>
            <translation>Prompt</translation>
        </message>
        <message>
            <source>The prompt to answer</source>
            <translation>Der Prompt, der beantwortet wird</translation>
        </message>
        <message>
            <source>Greedy</source>
            <translation>Gierig</translation>
        </message>
        <message>
            <source>Sampled, temperature {t}</source>
            <translation>Zufällig, Temperatur {t}</translation>
        </message>
        <message>
            <source>Runs: how often each mode answers the prompt</source>
            <translation>Läufe: wie oft jeder Modus den Prompt beantwortet</translation>
        </message>
        <message>
            <source>Maximum number of new tokens per reply</source>
            <translation>Höchstzahl neuer Tokens je Antwort</translation>
        </message>
        <message>
            <source>How the next token is chosen</source>
            <translation>Wie das nächste Token gewählt wird</translation>
        </message>
        <message>
            <source>Progress</source>
            <translation>Fortschritt</translation>
        </message>
        <message>
            <source>Start</source>
            <translation>Starten</translation>
        </message>
        <message>
            <source>Copy as text</source>
            <translation>Als Text kopieren</translation>
        </message>
        <message>
            <source>Copies the figures with the pair, the versions and the machine</source>
            <translation>Kopiert die Zahlen mit Paar, Versionen und Computer</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Runs</source>
            <translation>Läufe</translation>
        </message>
        <message>
            <source>Tokens</source>
            <translation>Tokens</translation>
        </message>
        <message>
            <source>Copied</source>
            <translation>Kopiert</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
    </context>
    <context>
        <name>SavedItemsBar</name>
        <message>
            <source>Save as…</source>
            <translation>Speichern als…</translation>
        </message>
        <message>
            <source>Rename…</source>
            <translation>Umbenennen…</translation>
        </message>
        <message>
            <source>Delete</source>
            <translation>Löschen</translation>
        </message>
        <message>
            <source>Import from a file…</source>
            <translation>Aus einer Datei importieren…</translation>
        </message>
        <message>
            <source>Export your own to a file…</source>
            <translation>Eigene in eine Datei exportieren…</translation>
        </message>
        <message>
            <source>Name</source>
            <translation>Name</translation>
        </message>
        <message>
            <source>Save</source>
            <translation>Speichern</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
    </context>
    <context>
        <name>SearchField</name>
        <message>
            <source>Search</source>
            <translation>Suchen</translation>
        </message>
        <message>
            <source>Search chats</source>
            <translation>Chats durchsuchen</translation>
        </message>
        <message>
            <source>Search titles and messages (Ctrl+F)</source>
            <translation>Titel und Nachrichten durchsuchen (Strg+F)</translation>
        </message>
        <message>
            <source>Clear the search</source>
            <translation>Suche leeren</translation>
        </message>
        <message>
            <source>Clear the search (Esc)</source>
            <translation>Suche leeren (Esc)</translation>
        </message>
    </context>
    <context>
        <name>SentPicture</name>
        <message>
            <source>Picture {name}</source>
            <translation>Bild {name}</translation>
        </message>
        <message>
            <source>Show {name} large</source>
            <translation>{name} groß zeigen</translation>
        </message>
        <message>
            <source>{name} is not kept any more.</source>
            <translation>{name} ist nicht mehr aufbewahrt.</translation>
        </message>
    </context>
    <context>
        <name>ServerDialog</name>
        <message>
            <source>Add a server</source>
            <translation>Server hinzufügen</translation>
        </message>
        <message>
            <source>such as http://localhost:8080</source>
            <translation>etwa http://localhost:8080</translation>
        </message>
        <message>
            <source>if the server wants one</source>
            <translation>falls der Server einen verlangt</translation>
        </message>
        <message>
            <source>Model</source>
            <translation>Modell</translation>
        </message>
        <message>
            <source>Test</source>
            <translation>Testen</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Add</source>
            <translation>Hinzufügen</translation>
        </message>
        <message>
            <source>Address</source>
            <translation>Adresse</translation>
        </message>
        <message>
            <source>Key</source>
            <translation>Schlüssel</translation>
        </message>
        <message>
            <source>Name</source>
            <translation>Name</translation>
        </message>
        <message>
            <source>The server is tested before it is added: Outrider asks which models it has.</source>
            <translation>Der Server wird getestet, bevor er hinzugefügt wird: Outrider fragt, welche Modelle er hat.</translation>
        </message>
        <message>
            <source>Asking the server…</source>
            <translation>Der Server wird gefragt …</translation>
        </message>
        <message>
            <source>The server answers ({kind}). Choose a model and a name.</source>
            <translation>Der Server antwortet ({kind}). Wählen Sie ein Modell und einen Namen.</translation>
        </message>
        <message>
            <source>The server answers, but it has no model.</source>
            <translation>Der Server antwortet, hat aber kein Modell.</translation>
        </message>
    </context>
    <context>
        <name>ServerPage</name>
        <message>
            <source>Editors, agents and scripts can use the models of this window, in the form of OpenAI's or Anthropic's interface. Their requests and your messages take turns.</source>
            <translation>Editoren, Agenten und Skripte können die Modelle dieses Fensters benutzen, in der Form der Schnittstellen von OpenAI oder Anthropic. Deren Anfragen und Ihre Nachrichten wechseln sich ab.</translation>
        </message>
        <message>
            <source>Serve the loaded models to other programs</source>
            <translation>Die geladenen Modelle anderen Programmen anbieten</translation>
        </message>
        <message>
            <source>This computer only</source>
            <translation>Nur dieser Computer</translation>
        </message>
        <message>
            <source>Other computers too</source>
            <translation>Auch andere Computer</translation>
        </message>
        <message>
            <source>None yet</source>
            <translation>Noch keine</translation>
        </message>
        <message>
            <source>Address</source>
            <translation>Adresse</translation>
        </message>
        <message>
            <source>Other computers need the key; what they send is not encrypted</source>
            <translation>Andere Computer brauchen den Schlüssel; was sie senden, ist nicht verschlüsselt</translation>
        </message>
        <message>
            <source>Port</source>
            <translation>Port</translation>
        </message>
        <message>
            <source>Names</source>
            <translation>Namen</translation>
        </message>
        <message>
            <source>Names by which others reach this computer, separated by commas</source>
            <translation>Unter denen andere diesen Rechner ansprechen, durch Kommas getrennt</translation>
        </message>
        <message>
            <source>Key</source>
            <translation>Schlüssel</translation>
        </message>
        <message>
            <source>Each request must have it; empty: none is asked for</source>
            <translation>Jede Anfrage muss ihn haben; leer: keiner wird verlangt</translation>
        </message>
        <message>
            <source>Requests</source>
            <translation>Anfragen</translation>
        </message>
        <message>
            <source>On: {url}</source>
            <translation>Ein: {url}</translation>
        </message>
        <message>
            <source>Off</source>
            <translation>Aus</translation>
        </message>
        <message>
            <source>{running} running, {waiting} waiting</source>
            <translation>{running} in Arbeit, {waiting} wartend</translation>
        </message>
        <message>
            <source>{count} replies</source>
            <translation>{count} Antworten</translation>
        </message>
        <message>
            <source>{count} tokens written</source>
            <translation>{count} Tokens geschrieben</translation>
        </message>
        <message>
            <source>{count} tokens read, {cached} more in the cache</source>
            <translation>{count} Tokens gelesen, {cached} weitere im Cache</translation>
        </message>
        <message>
            <source>{share} % of the drafts accepted</source>
            <translation>{share} % der Vorschläge angenommen</translation>
        </message>
    </context>
    <context>
        <name>Servers</name>
        <message>
            <source>This computer has no keyring that Outrider can use: the key holds until Outrider ends. For later, set OUTRIDER_API_KEY and OUTRIDER_API_KEY_ADDRESS.</source>
            <translation>Dieser Computer hat keinen Schlüsselbund, den Outrider benutzen kann: Der Schlüssel gilt, bis Outrider endet. Setzen Sie für später OUTRIDER_API_KEY und OUTRIDER_API_KEY_ADDRESS.</translation>
        </message>
    </context>
    <context>
        <name>Settings</name>
        <message>
            <source>deleting {name}</source>
            <translation>{name} löschen</translation>
        </message>
        <message>
            <source>Import</source>
            <translation>Importieren</translation>
        </message>
        <message>
            <source>Cannot read {name}: {reason}.</source>
            <translation>{name} kann nicht gelesen werden: {reason}.</translation>
        </message>
        <message>
            <source>Export</source>
            <translation>Exportieren</translation>
        </message>
        <message>
            <source>Cannot write {name}: {reason}. Choose another folder.</source>
            <translation>{name} kann nicht geschrieben werden: {reason}. Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <source>Exported to {path}.</source>
            <translation>Exportiert nach {path}.</translation>
        </message>
        <message>
            <source>The settings file was damaged, so Outrider uses the default settings. The old file was kept as {aside}.</source>
            <translation>Die Einstellungsdatei war beschädigt, daher verwendet Outrider die Standardeinstellungen. Die alte Datei wurde als {aside} aufbewahrt.</translation>
        </message>
        <message>
            <source>The settings cannot be read ({reason}). Outrider uses the default settings and saves no changes until it is restarted. Check the permissions of {path}.</source>
            <translation>Die Einstellungen sind nicht lesbar ({reason}). Outrider verwendet die Standardeinstellungen und speichert bis zum Neustart keine Änderungen. Prüfen Sie die Zugriffsrechte von {path}.</translation>
        </message>
        <message>
            <source>The settings cannot be saved ({reason}). Check the permissions of {path} and the free space.</source>
            <translation>Die Einstellungen können nicht gespeichert werden ({reason}). Prüfen Sie die Zugriffsrechte von {path} und den freien Platz.</translation>
        </message>
        <message>
            <source>The settings file {path} was damaged, so Outrider uses the default settings.</source>
            <translation>Die Einstellungsdatei {path} war beschädigt, daher verwendet Outrider die Standardeinstellungen.</translation>
        </message>
        <message>
            <source>unknown reason</source>
            <translation>unbekannter Grund</translation>
        </message>
        <message>
            <source>Greedy, the default: each token is the most likely one. Rules that drop tokens and the seed have no effect.</source>
            <translation>Gierig (greedy), die Voreinstellung: Jedes Token ist das wahrscheinlichste. Regeln, die Tokens verwerfen, und der Startwert haben keine Wirkung.</translation>
        </message>
        <message>
            <source>Sampled, but repeatable: the same message with the same models gives the same reply. With a seed, lookahead auto proposes a fixed number of tokens and overlap auto is off.</source>
            <translation>Zufällig, aber wiederholbar: Dieselbe Nachricht ergibt mit denselben Modellen dieselbe Antwort. Mit einem Startwert schlägt die Vorausschau auto eine feste Zahl von Tokens vor, und die Überlappung auto ist aus.</translation>
        </message>
        <message>
            <source>Sampled: every reply differs. The distribution is exactly the target's, with or without a draft.</source>
            <translation>Zufällig: Jede Antwort ist anders. Die Verteilung ist genau die des Zielmodells, mit oder ohne Entwurfsmodell.</translation>
        </message>
        <message>
            <source>Greedy</source>
            <translation>Gierig</translation>
        </message>
        <message>
            <source>As the model recommends</source>
            <translation>Wie das Modell empfiehlt</translation>
        </message>
        <message>
            <source>Balanced</source>
            <translation>Ausgewogen</translation>
        </message>
        <message>
            <source>Creative</source>
            <translation>Kreativ</translation>
        </message>
        <message>
            <source>Without repeats</source>
            <translation>Ohne Wiederholungen</translation>
        </message>
        <message>
            <source>Brief</source>
            <translation>Knapp</translation>
        </message>
        <message>
            <source>Explains step by step</source>
            <translation>Erklärt Schritt für Schritt</translation>
        </message>
        <message>
            <source>Programming</source>
            <translation>Programmieren</translation>
        </message>
        <message>
            <source>Answer briefly and to the point.</source>
            <translation>Antworte kurz und bündig.</translation>
        </message>
        <message>
            <source>Explain your answers step by step, in plain words. Say so where you are not sure.</source>
            <translation>Erkläre deine Antworten Schritt für Schritt, in einfachen Worten. Sage es, wo du nicht sicher bist.</translation>
        </message>
        <message>
            <source>You help with programming. Show complete code, then explain it in a few words.</source>
            <translation>Du hilfst beim Programmieren. Zeige vollständigen Code und erkläre ihn dann in wenigen Worten.</translation>
        </message>
        <message>
            <source>Enter a name.</source>
            <translation>Geben Sie einen Namen ein.</translation>
        </message>
        <message>
            <source>Enter at most {length} characters.</source>
            <translation>Geben Sie höchstens {length} Zeichen ein.</translation>
        </message>
        <message>
            <source>This name is already taken.</source>
            <translation>Dieser Name ist schon vergeben.</translation>
        </message>
        <message>
            <source>There are already {count}. Delete one first.</source>
            <translation>Es gibt schon {count}. Löschen Sie zuerst etwas.</translation>
        </message>
        <message>
            <source>it is too large</source>
            <translation>sie ist zu groß</translation>
        </message>
        <message>
            <source>it is not valid JSON</source>
            <translation>sie ist kein gültiges JSON</translation>
        </message>
        <message>
            <source>it contains something else</source>
            <translation>sie enthält etwas anderes</translation>
        </message>
        <message>
            <source>it was written by a newer version of Outrider; import it there</source>
            <translation>sie stammt aus einer neueren Version von Outrider; importieren Sie sie dort</translation>
        </message>
        <message>
            <source>its list cannot be read</source>
            <translation>ihre Liste ist nicht lesbar</translation>
        </message>
        <message>
            <source>there would be more than {count}</source>
            <translation>es wären dann mehr als {count}</translation>
        </message>
        <message>
            <source>entry {place} has no usable name</source>
            <translation>Eintrag {place} hat keinen brauchbaren Namen</translation>
        </message>
        <message>
            <source>the name “{field}” occurs twice</source>
            <translation>der Name „{field}“ kommt zweimal vor</translation>
        </message>
        <message>
            <source>entry {place} has an invalid value for “{field}”</source>
            <translation>Eintrag {place} hat einen ungültigen Wert für „{field}“</translation>
        </message>
        <message>
            <source>it is empty</source>
            <translation>sie ist leer</translation>
        </message>
        <message>
            <source>Cannot import {name}: {reason}. Nothing was changed.</source>
            <translation>{name} kann nicht importiert werden: {reason}. Nichts wurde geändert.</translation>
        </message>
        <message>
            <source>Text</source>
            <translation>Text</translation>
        </message>
        <message>
            <source>All of its entries exist already.</source>
            <translation>Alle Einträge sind schon vorhanden.</translation>
        </message>
        <message>
            <source>Imported: {count}.</source>
            <translation>Importiert: {count}.</translation>
        </message>
        <message>
            <source>{said} Renamed because their names were taken: {count}.</source>
            <translation>{said} Umbenannt, weil ihre Namen vergeben waren: {count}.</translation>
        </message>
    </context>
    <context>
        <name>SettingsDialog</name>
        <message>
            <source>Settings</source>
            <translation>Einstellungen</translation>
        </message>
        <message>
            <source>No option on this page is lossy: replies are always exactly what the target would have written alone, and only the speed changes. You choose the target, the draft and the lookahead in the window; choosing n-gram or none as the draft there overrides the method.</source>
            <translation>Keine Option auf dieser Seite ist verlustbehaftet: Antworten sind immer genau das, was das Zielmodell allein geschrieben hätte; nur die Geschwindigkeit ändert sich. Zielmodell, Entwurfsmodell und Vorausschau wählen Sie im Fenster; „N-Gramm“ oder „keines“ als Entwurfsmodell hat dort Vorrang vor dem Verfahren.</translation>
        </message>
        <message>
            <source>General</source>
            <translation>Allgemein</translation>
        </message>
        <message>
            <source>Generation</source>
            <translation>Erzeugung</translation>
        </message>
        <message>
            <source>Speculation</source>
            <translation>Spekulation</translation>
        </message>
        <message>
            <source>Tools</source>
            <translation>Werkzeuge</translation>
        </message>
        <message>
            <source>Local server</source>
            <translation>Lokaler Server</translation>
        </message>
        <message>
            <source>Reset to defaults</source>
            <translation>Auf Standard zurücksetzen</translation>
        </message>
        <message>
            <source>Resets only this page; your saved entries stay</source>
            <translation>Setzt nur diese Seite zurück; Ihre gespeicherten Einträge bleiben</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Undo: {what}</source>
            <translation>Rückgängig: {what}</translation>
        </message>
    </context>
    <context>
        <name>ShortcutSheet</name>
        <message>
            <source>Keyboard shortcuts</source>
            <translation>Tastenkürzel</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Enter</source>
            <translation>Eingabe</translation>
        </message>
        <message>
            <source>In the prompt</source>
            <translation>Im Prompt</translation>
        </message>
        <message>
            <source>Send</source>
            <translation>Senden</translation>
        </message>
        <message>
            <source>New line</source>
            <translation>Neue Zeile</translation>
        </message>
        <message>
            <source>Recall the last prompt</source>
            <translation>Letzten Prompt zurückholen</translation>
        </message>
        <message>
            <source>In the chat</source>
            <translation>Im Chat</translation>
        </message>
        <message>
            <source>Next or previous message</source>
            <translation>Nächste oder vorherige Nachricht</translation>
        </message>
        <message>
            <source>Scroll</source>
            <translation>Scrollen</translation>
        </message>
        <message>
            <source>Go to the beginning or the end</source>
            <translation>Zum Anfang oder Ende</translation>
        </message>
        <message>
            <source>Next or previous token (with coloured tokens)</source>
            <translation>Nächstes oder vorheriges Token (wenn eingefärbt)</translation>
        </message>
        <message>
            <source>In the chat list</source>
            <translation>In der Chatliste</translation>
        </message>
        <message>
            <source>Open</source>
            <translation>Öffnen</translation>
        </message>
        <message>
            <source>Rename</source>
            <translation>Umbenennen</translation>
        </message>
        <message>
            <source>Delete</source>
            <translation>Löschen</translation>
        </message>
        <message>
            <source>Undo delete</source>
            <translation>Löschen rückgängig machen</translation>
        </message>
    </context>
    <context>
        <name>SourceChip</name>
        <message>
            <source>Opens the document at this place</source>
            <translation>Öffnet das Dokument an dieser Stelle</translation>
        </message>
    </context>
    <context>
        <name>SpeculationPanel</name>
        <message>
            <source>Speculation</source>
            <translation>Spekulation</translation>
        </message>
        <message>
            <source>How a reply was written is shown here, once there is one.</source>
            <translation>Wie eine Antwort geschrieben wurde, steht hier, sobald es eine gibt.</translation>
        </message>
        <message>
            <source>Acceptance rate</source>
            <translation>Annahmequote</translation>
        </message>
        <message>
            <source>Dots: single rounds. Line: the last rounds together.</source>
            <translation>Punkte: einzelne Runden. Linie: die letzten Runden zusammen.</translation>
        </message>
        <message>
            <source>Tokens per second</source>
            <translation>Tokens pro Sekunde</translation>
        </message>
        <message>
            <source>Line: over the last second. Dashed: the same target without a draft, once that was measured.</source>
            <translation>Linie: über die letzte Sekunde. Gestrichelt: dasselbe Zielmodell ohne Entwurf, sobald das gemessen ist.</translation>
        </message>
        <message>
            <source>Acceptance by position</source>
            <translation>Annahme nach Position</translation>
        </message>
        <message>
            <source>How often the 1st, 2nd, … proposed token was kept. Pale: proposed rarely.</source>
            <translation>Wie oft das 1., 2., … vorgeschlagene Token behalten wurde. Blass: selten vorgeschlagen.</translation>
        </message>
        <message>
            <source>Where the time went</source>
            <translation>Zeitaufteilung</translation>
        </message>
        <message>
            <source>Waiting for the draft, for the target, and the rest.</source>
            <translation>Warten auf das Entwurfsmodell, auf das Zielmodell, und der Rest.</translation>
        </message>
        <message>
            <source>The lookahead is the number of tokens proposed per round. Auto chooses it each round for the highest speed, based on the measured cost of a round on this computer and on how many proposals are accepted.</source>
            <translation>Die Vorausschau ist die Zahl der vorgeschlagenen Tokens je Runde. Auto wählt sie in jeder Runde für die höchste Geschwindigkeit: nach den gemessenen Kosten einer Runde auf diesem Computer und danach, wie viele Vorschläge angenommen werden.</translation>
        </message>
        <message>
            <source>Reply to “{question}”</source>
            <translation>Antwort auf „{question}“</translation>
        </message>
        <message>
            <source>Acceptance rate per round</source>
            <translation>Annahmequote je Runde</translation>
        </message>
        <message>
            <source>round</source>
            <translation>Runde</translation>
        </message>
        <message>
            <source>accepted, %</source>
            <translation>angenommen, %</translation>
        </message>
        <message>
            <source>Tokens per second over time</source>
            <translation>Tokens pro Sekunde im Verlauf</translation>
        </message>
        <message>
            <source>seconds</source>
            <translation>Sekunden</translation>
        </message>
        <message>
            <source>tok/s</source>
            <translation>Tok/s</translation>
        </message>
        <message>
            <source>plain {speed}</source>
            <translation>einfach {speed}</translation>
        </message>
        <message>
            <source>Lookahead</source>
            <translation>Vorausschau</translation>
        </message>
    </context>
    <context>
        <name>Speech</name>
        <message>
            <source>Reading aloud needs Qt's text to speech. Install the Python package PySide6-Addons.</source>
            <translation>Zum Vorlesen braucht es Qts Sprachausgabe. Installieren Sie das Python-Paket PySide6-Addons.</translation>
        </message>
        <message>
            <source>Reading aloud needs a voice, and the system has none.</source>
            <translation>Zum Vorlesen braucht es eine Stimme, und das System hat keine.</translation>
        </message>
    </context>
    <context>
        <name>Starters</name>
        <message>
            <source>A shy dragon</source>
            <translation>Ein scheuer Drache</translation>
        </message>
        <message>
            <source>A bedtime story</source>
            <translation>Eine Gutenachtgeschichte</translation>
        </message>
        <message>
            <source>What is this?</source>
            <translation>Was ist das?</translation>
        </message>
        <message>
            <source>The numbers</source>
            <translation>Die Zahlen</translation>
        </message>
        <message>
            <source>A Python function</source>
            <translation>Eine Python-Funktion</translation>
        </message>
        <message>
            <source>A table</source>
            <translation>Eine Tabelle</translation>
        </message>
        <message>
            <source>A checklist</source>
            <translation>Eine Checkliste</translation>
        </message>
        <message>
            <source>Say it again</source>
            <translation>Noch einmal sagen</translation>
        </message>
        <message>
            <source>Why?</source>
            <translation>Warum?</translation>
        </message>
        <message>
            <source>Small talk</source>
            <translation>Plauderei</translation>
        </message>
        <message>
            <source>Explain it simply</source>
            <translation>Einfach erklärt</translation>
        </message>
        <message>
            <source>Explain in three sentences why the sky is blue.</source>
            <translation>Erkläre in drei Sätzen, warum der Himmel blau ist.</translation>
        </message>
        <message>
            <source>Write a Python function that merges two sorted lists, with a short example.</source>
            <translation>Schreibe eine Python-Funktion, die zwei sortierte Listen zusammenführt, mit einem kurzen Beispiel.</translation>
        </message>
        <message>
            <source>Compare trains, buses and cars for a trip of 300 km, in a table.</source>
            <translation>Vergleiche Bahn, Bus und Auto für eine Reise von 300 km in einer Tabelle.</translation>
        </message>
        <message>
            <source>Say it politely</source>
            <translation>Höflich gesagt</translation>
        </message>
        <message>
            <source>Rewrite this more politely: Send me the numbers today.</source>
            <translation>Formuliere das höflicher: Schick mir die Zahlen heute.</translation>
        </message>
        <message>
            <source>A formula</source>
            <translation>Eine Formel</translation>
        </message>
        <message>
            <source>Derive the quadratic formula, step by step.</source>
            <translation>Leite die Lösungsformel für quadratische Gleichungen her, Schritt für Schritt.</translation>
        </message>
        <message>
            <source>A story</source>
            <translation>Eine Geschichte</translation>
        </message>
        <message>
            <source>Tell me a short story about a lighthouse keeper and a lost ship.</source>
            <translation>Erzähle mir eine kurze Geschichte von einer Leuchtturmwärterin und einem verschollenen Schiff.</translation>
        </message>
    </context>
    <context>
        <name>SweepDialog</name>
        <message>
            <source>Lookahead sweep</source>
            <translation>Vorausschau durchprobieren</translation>
        </message>
        <message>
            <source>plain</source>
            <translation>einfach</translation>
        </message>
        <message>
            <source>auto</source>
            <translation>auto</translation>
        </message>
        <message>
            <source>The fastest lookahead</source>
            <translation>Die schnellste Vorausschau</translation>
        </message>
        <message>
            <source>Answers the prompt with every lookahead from 0 to {most} and with auto, alternating. Needs a draft. Messages that you send meanwhile wait.</source>
            <translation>Beantwortet den Prompt abwechselnd mit jeder Vorausschau von 0 bis {most} und mit auto. Braucht ein Entwurfsmodell. Nachrichten, die Sie währenddessen senden, warten.</translation>
        </message>
    </context>
    <context>
        <name>SweepPlot</name>
        <message>
            <source>Tokens per second by lookahead</source>
            <translation>Tokens pro Sekunde nach Vorausschau</translation>
        </message>
        <message>
            <source>lookahead K</source>
            <translation>Vorausschau K</translation>
        </message>
        <message>
            <source>tok/s</source>
            <translation>Tok/s</translation>
        </message>
        <message>
            <source>K = {k}</source>
            <translation>K = {k}</translation>
        </message>
    </context>
    <context>
        <name>TableBar</name>
        <message>
            <source>Sort the rows</source>
            <translation>Zeilen sortieren</translation>
        </message>
        <message>
            <source>Wrap long lines</source>
            <translation>Lange Zeilen umbrechen</translation>
        </message>
        <message>
            <source>Copy the table as CSV</source>
            <translation>Tabelle als CSV kopieren</translation>
        </message>
        <message>
            <source>Column {number}</source>
            <translation>Spalte {number}</translation>
        </message>
        <message>
            <source>As it was written</source>
            <translation>Wie geschrieben</translation>
        </message>
    </context>
    <context>
        <name>TableScroll</name>
        <message>
            <source>Table</source>
            <translation>Tabelle</translation>
        </message>
    </context>
    <context>
        <name>TemplateForm</name>
        <message>
            <source>Chat template</source>
            <translation>Chatvorlage</translation>
        </message>
        <message>
            <source>As in its file</source>
            <translation>Wie in der Datei</translation>
        </message>
        <message>
            <source>Start from the file’s template</source>
            <translation>Mit der Vorlage der Datei beginnen</translation>
        </message>
        <message>
            <source>How chats are written for this model (Jinja). Empty: as in its file.</source>
            <translation>Wie Chats für dieses Modell geschrieben werden (Jinja). Leer: wie in der Datei.</translation>
        </message>
        <message>
            <source>What its template asks for. JSON, or else text. Empty: as the template does.</source>
            <translation>Wonach die Vorlage fragt. JSON oder sonst Text. Leer: wie die Vorlage es macht.</translation>
        </message>
        <message>
            <source>automatic</source>
            <translation>automatisch</translation>
        </message>
    </context>
    <context>
        <name>ThinkingButton</name>
        <message>
            <source>Thinking</source>
            <translation>Nachdenken</translation>
        </message>
        <message>
            <source>Thinking: {mode}</source>
            <translation>Nachdenken: {mode}</translation>
        </message>
        <message>
            <source>as the model does</source>
            <translation>wie das Modell es hält</translation>
        </message>
        <message>
            <source>off</source>
            <translation>aus</translation>
        </message>
        <message>
            <source>on</source>
            <translation>ein</translation>
        </message>
        <message>
            <source>low</source>
            <translation>wenig</translation>
        </message>
        <message>
            <source>medium</source>
            <translation>mittel</translation>
        </message>
        <message>
            <source>high</source>
            <translation>viel</translation>
        </message>
    </context>
    <context>
        <name>ThoughtView</name>
        <message>
            <source>Thinking…</source>
            <translation>Denkt nach…</translation>
        </message>
        <message>
            <source>Answer now</source>
            <translation>Jetzt antworten</translation>
        </message>
        <message>
            <source>End the thought, and let the answer begin</source>
            <translation>Den Gedanken beenden und die Antwort beginnen lassen</translation>
        </message>
        <message>
            <source>Thought</source>
            <translation>Nachgedacht</translation>
        </message>
        <message>
            <source>Thought for %1 s</source>
            <translation>%1 s nachgedacht</translation>
        </message>
        <message>
            <source>Thought for %1 min %2 s</source>
            <translation>%1 min %2 s nachgedacht</translation>
        </message>
        <message>
            <source>collapsed</source>
            <translation>eingeklappt</translation>
        </message>
        <message>
            <source>expanded</source>
            <translation>ausgeklappt</translation>
        </message>
    </context>
    <context>
        <name>TimeBar</name>
        <message>
            <source>Draft: waiting for proposals. Target: forward passes. Rest: sampling, text and the window.</source>
            <translation>Entwurfsmodell: Warten auf Vorschläge. Zielmodell: Vorwärtsdurchläufe. Rest: Sampling, Text und Fenster.</translation>
        </message>
        <message>
            <source>Time</source>
            <translation>Zeit</translation>
        </message>
        <message>
            <source>Draft</source>
            <translation>Entwurfsmodell</translation>
        </message>
        <message>
            <source>Target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <source>Rest</source>
            <translation>Rest</translation>
        </message>
    </context>
    <context>
        <name>TokenCard</name>
        <message>
            <source>The target's best tokens</source>
            <translation>Beste Tokens des Zielmodells</translation>
        </message>
        <message>
            <source>Click or Enter: go on from here</source>
            <translation>Klick oder Eingabetaste: ab hier weiter</translation>
        </message>
        <message>
            <source>Target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <source>Draft</source>
            <translation>Entwurfsmodell</translation>
        </message>
    </context>
    <context>
        <name>TokenReply</name>
        <message>
            <source>Mark where the model was unsure</source>
            <translation>Markieren, wo das Modell unsicher war</translation>
        </message>
        <message>
            <source>There is no token record for this reply.</source>
            <translation>Für diese Antwort gibt es keine Token-Aufzeichnung.</translation>
        </message>
    </context>
    <context>
        <name>Tokens</name>
        <message>
            <source>token {token}</source>
            <translation>Token {token}</translation>
        </message>
        <message>
            <source>control token {token}</source>
            <translation>Steuertoken {token}</translation>
        </message>
        <message>
            <source>accepted from the draft</source>
            <translation>angenommener Vorschlag</translation>
        </message>
        <message>
            <source>correction by the target</source>
            <translation>Korrektur des Zielmodells</translation>
        </message>
        <message>
            <source>bonus by the target</source>
            <translation>Bonus des Zielmodells</translation>
        </message>
        <message>
            <source>plain: nothing was proposed</source>
            <translation>einfach: nichts vorgeschlagen</translation>
        </message>
        <message>
            <source>forced: it ended the thought, or you chose it</source>
            <translation>erzwungen: es beendete den Gedanken, oder Sie haben es gewählt</translation>
        </message>
        <message>
            <source>round {number}</source>
            <translation>Runde {number}</translation>
        </message>
        <message>
            <source>draft wanted “{token}”</source>
            <translation>das Entwurfsmodell wollte „{token}“</translation>
        </message>
        <message>
            <source>draft wanted “{token}” ({probability})</source>
            <translation>das Entwurfsmodell wollte „{token}“ ({probability})</translation>
        </message>
        <message>
            <source>target {probability}</source>
            <translation>Zielmodell {probability}</translation>
        </message>
        <message>
            <source>draft {probability}</source>
            <translation>Entwurfsmodell {probability}</translation>
        </message>
        <message>
            <source>accepted</source>
            <translation>angenommen</translation>
        </message>
        <message>
            <source>correction</source>
            <translation>Korrektur</translation>
        </message>
        <message>
            <source>bonus</source>
            <translation>Bonus</translation>
        </message>
        <message>
            <source>plain</source>
            <translation>einfach</translation>
        </message>
        <message>
            <source>forced</source>
            <translation>erzwungen</translation>
        </message>
        <message>
            <source>{low} to {high} %</source>
            <translation>{low} bis {high} %</translation>
        </message>
        <message>
            <source>below {high} %</source>
            <translation>unter {high} %</translation>
        </message>
    </context>
    <context>
        <name>ToolCallView</name>
        <message>
            <source>Tool call: {name}</source>
            <translation>Werkzeugaufruf: {name}</translation>
        </message>
        <message>
            <source>Tool result: {name}</source>
            <translation>Werkzeugergebnis: {name}</translation>
        </message>
        <message>
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <source>collapsed</source>
            <translation>eingeklappt</translation>
        </message>
        <message>
            <source>expanded</source>
            <translation>ausgeklappt</translation>
        </message>
    </context>
    <context>
        <name>ToolCard</name>
        <message>
            <source>The model wants to call a tool: {title} · {server}</source>
            <translation>Das Modell möchte ein Werkzeug aufrufen: {title} · {server}</translation>
        </message>
        <message>
            <source>A tool is running: {title} · {server}</source>
            <translation>Ein Werkzeug läuft: {title} · {server}</translation>
        </message>
        <message numerus="yes">
            <source>%n tool call(s) were made for this question. The next one: {title} · {server}</source>
            <translation>
                <numerusform>Für diese Frage gab es %n Werkzeugaufruf. Der nächste: {title} · {server}</numerusform>
                <numerusform>Für diese Frage gab es %n Werkzeugaufrufe. Der nächste: {title} · {server}</numerusform>
            </translation>
        </message>
        <message>
            <source>There is no tool {title} here now, so it was not called.</source>
            <translation>Das Werkzeug {title} gibt es hier jetzt nicht; es wurde nicht aufgerufen.</translation>
        </message>
        <message numerus="yes">
            <source>and %n more argument(s)</source>
            <translation>
                <numerusform>und %n weiteres Argument</numerusform>
                <numerusform>und %n weitere Argumente</numerusform>
            </translation>
        </message>
        <message>
            <source>Without arguments</source>
            <translation>Ohne Argumente</translation>
        </message>
        <message numerus="yes">
            <source>… and %n more character(s)</source>
            <translation>
                <numerusform>… und %n weiteres Zeichen</numerusform>
                <numerusform>… und %n weitere Zeichen</numerusform>
            </translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Go on</source>
            <translation>Weitermachen</translation>
        </message>
        <message>
            <source>End here</source>
            <translation>Hier beenden</translation>
        </message>
        <message>
            <source>{name} must be JSON, as it was.</source>
            <translation>{name} muss JSON sein, wie zuvor.</translation>
        </message>
        <message>
            <source>Once</source>
            <translation>Einmal</translation>
        </message>
        <message>
            <source>In this chat</source>
            <translation>In diesem Chat</translation>
        </message>
        <message>
            <source>Always for this tool</source>
            <translation>Immer für dieses Werkzeug</translation>
        </message>
        <message>
            <source>Never</source>
            <translation>Nie</translation>
        </message>
        <message>
            <source>Run this call, and ask again for the next one</source>
            <translation>Diesen Aufruf ausführen und beim nächsten wieder fragen</translation>
        </message>
        <message>
            <source>Run this call and all others of this tool in this chat until the program ends</source>
            <translation>Diesen und alle weiteren Aufrufe dieses Werkzeugs in diesem Chat ausführen, bis das Programm endet</translation>
        </message>
        <message>
            <source>Run this call and all others of this tool, in all chats</source>
            <translation>Diesen und alle weiteren Aufrufe dieses Werkzeugs ausführen, in allen Chats</translation>
        </message>
        <message>
            <source>Never run this tool in any chat; the model is informed. The settings change it</source>
            <translation>Dieses Werkzeug nie ausführen, in keinem Chat; das Modell erfährt es. Die Einstellungen ändern das</translation>
        </message>
    </context>
    <context>
        <name>ToolPicture</name>
        <message>
            <source>Plot</source>
            <translation>Diagramm</translation>
        </message>
    </context>
    <context>
        <name>Tools</name>
        <message>
            <source>A folder whose files may be read</source>
            <translation>Ein Ordner, dessen Dateien gelesen werden dürfen</translation>
        </message>
        <message>
            <source>Check the quotation marks in the command.</source>
            <translation>Prüfen Sie die Anführungszeichen im Befehl.</translation>
        </message>
        <message>
            <source>No other program with tool servers was found.</source>
            <translation>Es wurde kein anderes Programm mit Werkzeug-Servern gefunden.</translation>
        </message>
        <message>
            <source>Added, and not started: {names}. Tick those that you want.</source>
            <translation>Hinzugefügt und nicht gestartet: {names}. Haken Sie an, was Sie möchten.</translation>
        </message>
    </context>
    <context>
        <name>ToolsButton</name>
        <message>
            <source>Tools: {used} of {all} can be used in this chat</source>
            <translation>Werkzeuge: {used} von {all} in diesem Chat nutzbar</translation>
        </message>
        <message>
            <source>All of them</source>
            <translation>Alle</translation>
        </message>
        <message>
            <source>Tools…</source>
            <translation>Werkzeuge…</translation>
        </message>
    </context>
    <context>
        <name>ToolsPage</name>
        <message>
            <source>A model can call the tools that you switch on here, and you are asked about each call first. Nothing runs and nothing is connected to before that.</source>
            <translation>Ein Modell kann die Werkzeuge aufrufen, die Sie hier einschalten; vor jedem Aufruf werden Sie gefragt. Vorher läuft nichts, und es wird nichts verbunden.</translation>
        </message>
        <message>
            <source>Read the files of these folders, without changing any</source>
            <translation>Die Dateien dieser Ordner lesen, ohne etwas zu ändern</translation>
        </message>
        <message>
            <source>Search my chats</source>
            <translation>Meine Chats durchsuchen</translation>
        </message>
        <message>
            <source>Fetch pages of the web: you are asked for each host</source>
            <translation>Webseiten holen: Sie werden für jeden Host gefragt</translation>
        </message>
        <message>
            <source>Calculate and plot: JavaScript without files and network</source>
            <translation>Rechnen und zeichnen: JavaScript ohne Dateien und Netz</translation>
        </message>
        <message>
            <source>Tell the time</source>
            <translation>Die Zeit sagen</translation>
        </message>
        <message>
            <source>Calls for one question</source>
            <translation>Aufrufe für eine Frage</translation>
        </message>
        <message>
            <source>Calls for one question, before I am asked to go on</source>
            <translation>Aufrufe für eine Frage, bevor ich gefragt werde, ob es weitergeht</translation>
        </message>
        <message>
            <source>Folders that may be read</source>
            <translation>Ordner, die gelesen werden dürfen</translation>
        </message>
        <message>
            <source>Add a folder…</source>
            <translation>Ordner hinzufügen…</translation>
        </message>
        <message>
            <source>Remove</source>
            <translation>Entfernen</translation>
        </message>
        <message>
            <source>Where tools come from</source>
            <translation>Woher Werkzeuge kommen</translation>
        </message>
        <message>
            <source>Tool servers (MCP) are programs or addresses. A program that is ticked is started with Outrider.</source>
            <translation>Werkzeug-Server (MCP) sind Programme oder Adressen. Ein angehaktes Programm wird mit Outrider gestartet.</translation>
        </message>
        <message>
            <source>Name</source>
            <translation>Name</translation>
        </message>
        <message>
            <source>Command, or address with https://</source>
            <translation>Befehl, oder Adresse mit https://</translation>
        </message>
        <message>
            <source>Add</source>
            <translation>Hinzufügen</translation>
        </message>
        <message>
            <source>Paste the JSON of servers</source>
            <translation>JSON von Servern einfügen</translation>
        </message>
        <message>
            <source>Take from other programs…</source>
            <translation>Von anderen Programmen übernehmen…</translation>
        </message>
        <message>
            <source>Remove the server</source>
            <translation>Server entfernen</translation>
        </message>
        <message>
            <source>What is known of it</source>
            <translation>Was davon bekannt ist</translation>
        </message>
        <message>
            <source>Ask for each call</source>
            <translation>Bei jedem Aufruf fragen</translation>
        </message>
        <message>
            <source>Always run it</source>
            <translation>Immer ausführen</translation>
        </message>
        <message>
            <source>Never run it</source>
            <translation>Nie ausführen</translation>
        </message>
        <message>
            <source>When the model calls it</source>
            <translation>Wenn das Modell es aufruft</translation>
        </message>
        <message>
            <source>May be run always, although it may change something or start programs</source>
            <translation>Darf immer ausgeführt werden, obwohl es etwas ändern oder Programme starten kann</translation>
        </message>
        <message>
            <source>Show its log</source>
            <translation>Protokoll zeigen</translation>
        </message>
        <message>
            <source>Its program has written nothing.</source>
            <translation>Sein Programm hat nichts geschrieben.</translation>
        </message>
        <message>
            <source>off</source>
            <translation>aus</translation>
        </message>
        <message>
            <source>starting…</source>
            <translation>startet…</translation>
        </message>
        <message numerus="yes">
            <source>%n tool(s)</source>
            <translation>
                <numerusform>%n Werkzeug</numerusform>
                <numerusform>%n Werkzeuge</numerusform>
            </translation>
        </message>
        <message>
            <source>does not work</source>
            <translation>funktioniert nicht</translation>
        </message>
        <message>
            <source>asks</source>
            <translation>fragt</translation>
        </message>
        <message>
            <source>always</source>
            <translation>immer</translation>
        </message>
        <message>
            <source>never</source>
            <translation>nie</translation>
        </message>
        <message>
            <source>Resources: {names}</source>
            <translation>Ressourcen: {names}</translation>
        </message>
        <message>
            <source>Prompts: {names}</source>
            <translation>Prompts: {names}</translation>
        </message>
    </context>
    <context>
        <name>TranscriptView</name>
        <message>
            <source>Chat</source>
            <translation>Chat</translation>
        </message>
        <message>
            <source>Jump to the end</source>
            <translation>Zum Ende springen</translation>
        </message>
    </context>
    <context>
        <name>TwoModels</name>
        <message>
            <source>draft</source>
            <translation>Entwurfsmodell</translation>
        </message>
        <message>
            <source>target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <source>The draft guesses five words; the target keeps four and corrects the last.</source>
            <translation>Das Entwurfsmodell rät fünf Wörter; das Zielmodell behält vier und korrigiert das letzte.</translation>
        </message>
    </context>
    <context>
        <name>UnsurePlaces</name>
        <message>
            <source>Previous unsure place</source>
            <translation>Vorige unsichere Stelle</translation>
        </message>
        <message>
            <source>Next unsure place</source>
            <translation>Nächste unsichere Stelle</translation>
        </message>
        <message>
            <source>The places of which the target was least sure</source>
            <translation>Die Stellen, bei denen das Zielmodell am unsichersten war</translation>
        </message>
        <message>
            <source>Least sure: {count}</source>
            <translation>Unsicherste Stellen: {count}</translation>
        </message>
        <message>
            <source>Least sure: {place} of {count}</source>
            <translation>Unsicherste Stellen: {place} von {count}</translation>
        </message>
    </context>
    <context>
        <name>WaitingRow</name>
        <message>
            <source>Stop and send now</source>
            <translation>Anhalten und jetzt senden</translation>
        </message>
        <message>
            <source>Edit this message</source>
            <translation>Diese Nachricht bearbeiten</translation>
        </message>
        <message>
            <source>Send this message earlier</source>
            <translation>Diese Nachricht früher senden</translation>
        </message>
        <message>
            <source>Send this message later</source>
            <translation>Diese Nachricht später senden</translation>
        </message>
        <message>
            <source>Drop this message</source>
            <translation>Diese Nachricht verwerfen</translation>
        </message>
        <message>
            <source>Send now</source>
            <translation>Jetzt senden</translation>
        </message>
        <message>
            <source>Message that waits</source>
            <translation>Wartende Nachricht</translation>
        </message>
    </context>
    <context>
        <name>WaitingView</name>
        <message>
            <source>and {count} more</source>
            <translation>und {count} weitere</translation>
        </message>
        <message>
            <source>Sent in turn once the reply is written:</source>
            <translation>Werden der Reihe nach gesendet, sobald die Antwort geschrieben ist:</translation>
        </message>
        <message>
            <source>On hold, because the reply before is not complete:</source>
            <translation>Zurückgehalten, da die Antwort davor nicht fertig ist:</translation>
        </message>
    </context>
    <context>
        <name>WelcomeView</name>
        <message>
            <source>A small draft model rides ahead, and the target confirms. Watch it happen in the Speculation panel.</source>
            <translation>Ein kleines Entwurfsmodell reitet voraus, und das Zielmodell bestätigt. Sehen Sie in der Seitenleiste „Spekulation“ zu.</translation>
        </message>
        <message>
            <source>What would you like to talk about?</source>
            <translation>Worüber möchten Sie sprechen?</translation>
        </message>
    </context>
    <context>
        <name>engine</name>
        <message>
            <source>This server was removed. Choose another target.</source>
            <translation>Dieser Server wurde entfernt. Wählen Sie ein anderes Zielmodell.</translation>
        </message>
        <message>
            <source>The local server needs Starlette and uvicorn. Install them: pip install 'outrider[server]'</source>
            <translation>Der lokale Server braucht Starlette und uvicorn. Installieren Sie sie: pip install 'outrider[server]'</translation>
        </message>
        <message>
            <source>It failed for a reason that nobody expected ({error}).</source>
            <translation>Es ist aus einem unerwarteten Grund gescheitert ({error}).</translation>
        </message>
        <message>
            <source>too many or too large together</source>
            <translation>zu viele oder zusammen zu groß</translation>
        </message>
        <message>
            <source>{size} pt</source>
            <translation>{size} pt</translation>
        </message>
        <message>
            <source>Follow system</source>
            <translation>Systemeinstellung</translation>
        </message>
        <message>
            <source>Light</source>
            <translation>Hell</translation>
        </message>
        <message>
            <source>Dark</source>
            <translation>Dunkel</translation>
        </message>
        <message>
            <source>High contrast</source>
            <translation>Hoher Kontrast</translation>
        </message>
        <message>
            <source>When a long reply finishes in the background</source>
            <translation>Wenn eine lange Antwort im Hintergrund fertig wird</translation>
        </message>
        <message>
            <source>Never</source>
            <translation>Nie</translation>
        </message>
        <message>
            <source>Keep on disk, up to 2 GB</source>
            <translation>Auf der Platte behalten, bis 2 GB</translation>
        </message>
        <message>
            <source>Don’t keep</source>
            <translation>Nicht behalten</translation>
        </message>
        <message>
            <source>Draft from my chats</source>
            <translation>Aus meinen Chats vorschlagen</translation>
        </message>
        <message>
            <source>Don’t use them</source>
            <translation>Nicht verwenden</translation>
        </message>
        <message>
            <source>Every day</source>
            <translation>Jeden Tag</translation>
        </message>
        <message>
            <source>Every week</source>
            <translation>Jede Woche</translation>
        </message>
        <message>
            <source>Theme</source>
            <translation>Erscheinungsbild</translation>
        </message>
        <message>
            <source>Language</source>
            <translation>Sprache</translation>
        </message>
        <message>
            <source>Takes effect after restart</source>
            <translation>Gilt nach dem Neustart</translation>
        </message>
        <message>
            <source>Font size</source>
            <translation>Schriftgröße</translation>
        </message>
        <message>
            <source>Also: Ctrl + and Ctrl −</source>
            <translation>Auch: Strg + und Strg −</translation>
        </message>
        <message>
            <source>Notifications</source>
            <translation>Benachrichtigungen</translation>
        </message>
        <message>
            <source>Chat caches</source>
            <translation>Chat-Caches</translation>
        </message>
        <message>
            <source>A kept chat answers at once after restart</source>
            <translation>Ein behaltener Chat antwortet nach einem Neustart sofort</translation>
        </message>
        <message>
            <source>Your own texts</source>
            <translation>Eigene Texte</translation>
        </message>
        <message>
            <source>What you wrote before comes faster. The index stays on this computer</source>
            <translation>Schon Geschriebenes kommt schneller. Der Index bleibt auf diesem Rechner</translation>
        </message>
        <message>
            <source>Export all chats</source>
            <translation>Alle Chats exportieren</translation>
        </message>
        <message>
            <source>As a ZIP of Markdown and JSON in your documents; the last ten are kept</source>
            <translation>Als ZIP mit Markdown und JSON in Ihren Dokumenten; die letzten zehn bleiben</translation>
        </message>
        <message>
            <source>The key cannot be saved ({reason}).</source>
            <translation>Der Schlüssel lässt sich nicht speichern ({reason}).</translation>
        </message>
        <message>
            <source>it is not a chat exported by Outrider</source>
            <translation>sie ist kein von Outrider exportierter Chat</translation>
        </message>
        <message>
            <source>Cannot import {name}: {reason}. Nothing was changed.</source>
            <translation>{name} kann nicht importiert werden: {reason}. Nichts wurde geändert.</translation>
        </message>
        <message>
            <source>Cannot import {name}: {reason} Nothing was changed.</source>
            <translation>{name} kann nicht importiert werden: {reason} Nichts wurde geändert.</translation>
        </message>
        <message>
            <source>Cannot write {path}: {reason}. Choose another folder, or free some space.</source>
            <translation>{path} kann nicht geschrieben werden: {reason}. Wählen Sie einen anderen Ordner oder schaffen Sie Platz.</translation>
        </message>
        <message>
            <source>it is larger than {count} MiB</source>
            <translation>sie ist größer als {count} MiB</translation>
        </message>
        <message>
            <source>it is not UTF-8 text</source>
            <translation>sie ist kein UTF-8-Text</translation>
        </message>
        <message>
            <source>it is not valid JSON</source>
            <translation>sie ist kein gültiges JSON</translation>
        </message>
        <message>
            <source>there is not enough memory</source>
            <translation>der Arbeitsspeicher reicht nicht aus</translation>
        </message>
        <message>
            <source>it has no list of messages</source>
            <translation>sie hat keine Liste von Nachrichten</translation>
        </message>
        <message>
            <source>it has more than {count} messages</source>
            <translation>sie hat mehr als {count} Nachrichten</translation>
        </message>
        <message>
            <source>message {place}: {reason}</source>
            <translation>Nachricht {place}: {reason}</translation>
        </message>
        <message>
            <source>message {place} cannot follow the message that it names as its parent</source>
            <translation>Nachricht {place} kann nicht auf die Nachricht folgen, die sie als Vorgängerin nennt</translation>
        </message>
        <message>
            <source>it is not an object</source>
            <translation>sie ist kein Objekt</translation>
        </message>
        <message>
            <source>its id is missing or not unique</source>
            <translation>ihre Kennung fehlt oder ist nicht eindeutig</translation>
        </message>
        <message>
            <source>its parent does not come before it</source>
            <translation>ihre Vorgängerin steht nicht vor ihr</translation>
        </message>
        <message>
            <source>its role is unknown</source>
            <translation>ihre Rolle ist unbekannt</translation>
        </message>
        <message>
            <source>its status is unknown</source>
            <translation>ihr Status ist unbekannt</translation>
        </message>
        <message>
            <source>a user message cannot have a token record</source>
            <translation>eine Benutzernachricht kann keine Token-Aufzeichnung haben</translation>
        </message>
        <message>
            <source>the selected branch does not exist</source>
            <translation>der gewählte Zweig existiert nicht</translation>
        </message>
        <message>
            <source>its documents make no sense</source>
            <translation>ihre Dokumente ergeben keinen Sinn</translation>
        </message>
        <message>
            <source>it was written by a newer version of Outrider; import it there</source>
            <translation>sie stammt aus einer neueren Version von Outrider; importieren Sie sie dort</translation>
        </message>
        <message>
            <source>its format version is unknown</source>
            <translation>ihre Formatversion ist unbekannt</translation>
        </message>
        <message>
            <source>it cannot be read</source>
            <translation>sie ist nicht lesbar</translation>
        </message>
        <message>
            <source>it cannot be written</source>
            <translation>sie kann nicht geschrieben werden</translation>
        </message>
        <message>
            <source>Export as Markdown…</source>
            <translation>Als Markdown exportieren…</translation>
        </message>
        <message>
            <source>Markdown (*.md)</source>
            <translation>Markdown (*.md)</translation>
        </message>
        <message>
            <source>Export as JSON…</source>
            <translation>Als JSON exportieren…</translation>
        </message>
        <message>
            <source>Chat (*.json)</source>
            <translation>Chat (*.json)</translation>
        </message>
        <message>
            <source>a value is too large</source>
            <translation>ein Wert ist zu groß</translation>
        </message>
        <message>
            <source>an object has a duplicate key</source>
            <translation>ein Objekt enthält einen Schlüssel doppelt</translation>
        </message>
        <message>
            <source>{constant} is not a number</source>
            <translation>{constant} ist keine Zahl</translation>
        </message>
        <message>
            <source>an object has too many keys</source>
            <translation>ein Objekt hat zu viele Schlüssel</translation>
        </message>
        <message>
            <source>“{name}” is too large</source>
            <translation>„{name}“ ist zu groß</translation>
        </message>
        <message>
            <source>a turn has more than {count} messages</source>
            <translation>ein Beitrag hat mehr als {count} Nachrichten</translation>
        </message>
        <message>
            <source>it has no question</source>
            <translation>sie hat keine Frage</translation>
        </message>
        <message>
            <source>reading it takes too long</source>
            <translation>sie zu lesen dauert zu lange</translation>
        </message>
        <message>
            <source>the program that reads it crashed</source>
            <translation>das Programm, das sie liest, ist abgestürzt</translation>
        </message>
        <message>
            <source>it has no messages</source>
            <translation>er hat keine Nachrichten</translation>
        </message>
        <message>
            <source>it is no ZIP archive that can be read</source>
            <translation>sie ist kein lesbares ZIP-Archiv</translation>
        </message>
        <message>
            <source>it has more than {count} files</source>
            <translation>sie enthält mehr als {count} Dateien</translation>
        </message>
        <message>
            <source>it names a file outside of its own folder</source>
            <translation>sie nennt eine Datei außerhalb ihres eigenen Ordners</translation>
        </message>
        <message>
            <source>it would unpack to far more than a chat has</source>
            <translation>sie würde entpackt weit größer, als Chats es sind</translation>
        </message>
        <message>
            <source>it is protected by a password</source>
            <translation>sie ist durch ein Passwort geschützt</translation>
        </message>
        <message>
            <source>it is damaged</source>
            <translation>er ist beschädigt</translation>
        </message>
        <message>
            <source>“{name}” is not a valid time</source>
            <translation>„{name}“ ist keine gültige Zeit</translation>
        </message>
        <message>
            <source>“{name}” must be true or false</source>
            <translation>„{name}“ muss wahr oder falsch sein</translation>
        </message>
        <message>
            <source>“{name}” is not text</source>
            <translation>„{name}“ ist kein Text</translation>
        </message>
        <message>
            <source>“{name}” is not an object</source>
            <translation>„{name}“ ist kein Objekt</translation>
        </message>
        <message>
            <source>a number in “{name}” is too large</source>
            <translation>eine Zahl in „{name}“ ist zu groß</translation>
        </message>
        <message>
            <source>a text in “{name}” contains invalid characters</source>
            <translation>ein Text in „{name}“ enthält ungültige Zeichen</translation>
        </message>
        <message>
            <source>“{name}” is nested too deeply</source>
            <translation>„{name}“ ist zu tief verschachtelt</translation>
        </message>
        <message>
            <source>its token record is damaged</source>
            <translation>ihre Token-Aufzeichnung ist beschädigt</translation>
        </message>
        <message>
            <source>head inside {name}</source>
            <translation>Kopf in {name}</translation>
        </message>
        <message>
            <source>head {name}</source>
            <translation>Kopf {name}</translation>
        </message>
        <message>
            <source>{file}
Name in the file: {name}</source>
            <translation>{file}
Es nennt sich {name}</translation>
        </message>
        <message>
            <source>{file}
A reasoning model, so its recommended sampling applies unless you choose otherwise: {told}</source>
            <translation>{file}
Es denkt und antwortet deshalb mit dem Sampling, das es empfiehlt, wenn Sie nichts anderes wählen: {told}</translation>
        </message>
        <message>
            <source>{file}
Its makers recommend to sample with {told}</source>
            <translation>{file}
Seine Hersteller empfehlen als Sampling {told}</translation>
        </message>
        <message>
            <source>{count} bytes</source>
            <translation>{count} Bytes</translation>
        </message>
        <message>
            <source>Automatic</source>
            <translation>Automatisch</translation>
        </message>
        <message>
            <source>Uses the draft that is chosen in the window. With lookahead auto it also uses the text so far, whichever promises more.</source>
            <translation>Nutzt das im Fenster gewählte Entwurfsmodell. Mit der Vorausschau auto nutzt es auch den bisherigen Text, je nachdem, was mehr verspricht.</translation>
        </message>
        <message>
            <source>Plain</source>
            <translation>Einfach</translation>
        </message>
        <message>
            <source>Proposes nothing: the target generates one token at a time.</source>
            <translation>Schlägt nichts vor: Das Zielmodell erzeugt ein Token nach dem anderen.</translation>
        </message>
        <message>
            <source>Rejection sampling</source>
            <translation>Verwerfungsmethode</translation>
        </message>
        <message>
            <source>Keeps a proposed token with probability target / draft, at most 1. Accepts the most tokens.</source>
            <translation>Behält ein vorgeschlagenes Token mit der Wahrscheinlichkeit Zielmodell / Entwurfsmodell, höchstens 1. Nimmt die meisten Tokens an.</translation>
        </message>
        <message>
            <source>Exact match</source>
            <translation>Genaue Übereinstimmung</translation>
        </message>
        <message>
            <source>Keeps a proposed token if the target samples the same one. Accepts fewer tokens; with a seed, a reply repeats at any lookahead.</source>
            <translation>Behält ein vorgeschlagenes Token, wenn das Zielmodell dasselbe zieht. Nimmt weniger Tokens an; mit einem Startwert wiederholt sich eine Antwort bei jeder Vorausschau.</translation>
        </message>
        <message>
            <source>On if draft and target do not run on the same cores.</source>
            <translation>An, wenn Entwurfs- und Zielmodell nicht auf denselben Kernen rechnen.</translation>
        </message>
        <message>
            <source>On</source>
            <translation>An</translation>
        </message>
        <message>
            <source>The draft keeps proposing while the target verifies.</source>
            <translation>Das Entwurfsmodell schlägt weiter vor, während das Zielmodell prüft.</translation>
        </message>
        <message>
            <source>Off</source>
            <translation>Aus</translation>
        </message>
        <message>
            <source>The draft waits for the target.</source>
            <translation>Das Entwurfsmodell wartet auf das Zielmodell.</translation>
        </message>
        <message>
            <source>Temperature</source>
            <translation>Temperatur</translation>
        </message>
        <message>
            <source>0 = greedy: always the most likely token</source>
            <translation>0 = gierig: immer das wahrscheinlichste Token</translation>
        </message>
        <message>
            <source>Enter a number from 0 to 100.</source>
            <translation>Geben Sie eine Zahl von 0 bis 100 ein.</translation>
        </message>
        <message>
            <source>Top-n-sigma</source>
            <translation>Top-n-Sigma</translation>
        </message>
        <message>
            <source>drop tokens this many standard deviations below the best one · 0 = off</source>
            <translation>Tokens verwerfen, die so viele Standardabweichungen unter dem besten liegen · 0 = aus</translation>
        </message>
        <message>
            <source>Top-k</source>
            <translation>Top-k</translation>
        </message>
        <message>
            <source>sample from this many of the most likely tokens · 0 = off</source>
            <translation>aus so vielen der wahrscheinlichsten Tokens ziehen · 0 = aus</translation>
        </message>
        <message>
            <source>Enter 0 or a whole number above 0.</source>
            <translation>Geben Sie 0 oder eine ganze Zahl über 0 ein.</translation>
        </message>
        <message>
            <source>Typical</source>
            <translation>Typisch</translation>
        </message>
        <message>
            <source>sample from the most typical tokens up to this total probability · 1 = off</source>
            <translation>aus den typischsten Tokens bis zu dieser Gesamtwahrscheinlichkeit ziehen · 1 = aus</translation>
        </message>
        <message>
            <source>Enter a number above 0, at most 1.</source>
            <translation>Geben Sie eine Zahl über 0 ein, höchstens 1.</translation>
        </message>
        <message>
            <source>Top-p</source>
            <translation>Top-p</translation>
        </message>
        <message>
            <source>sample from the likeliest tokens up to this total probability · 1 = off</source>
            <translation>aus den wahrscheinlichsten Tokens bis zu dieser Gesamtwahrscheinlichkeit ziehen · 1 = aus</translation>
        </message>
        <message>
            <source>Min-p</source>
            <translation>Min-p</translation>
        </message>
        <message>
            <source>drop tokens below this share of the best one's probability · 0 = off</source>
            <translation>Tokens unter diesem Anteil der Wahrscheinlichkeit des besten verwerfen · 0 = aus</translation>
        </message>
        <message>
            <source>Enter a number from 0 to 1.</source>
            <translation>Geben Sie eine Zahl von 0 bis 1 ein.</translation>
        </message>
        <message>
            <source>Repeat penalty</source>
            <translation>Wiederholungsabzug</translation>
        </message>
        <message>
            <source>weakens tokens already used by this factor · 1 = off</source>
            <translation>schwächt schon verwendete Tokens um diesen Faktor · 1 = aus</translation>
        </message>
        <message>
            <source>Enter a number above 0, at most 100.</source>
            <translation>Geben Sie eine Zahl über 0 ein, höchstens 100.</translation>
        </message>
        <message>
            <source>Presence penalty</source>
            <translation>Anwesenheitsabzug</translation>
        </message>
        <message>
            <source>subtracted once for every token already used · 0 = off</source>
            <translation>einmal für jedes schon verwendete Token abgezogen · 0 = aus</translation>
        </message>
        <message>
            <source>Enter a number from -100 to 100.</source>
            <translation>Geben Sie eine Zahl von -100 bis 100 ein.</translation>
        </message>
        <message>
            <source>Frequency penalty</source>
            <translation>Häufigkeitsabzug</translation>
        </message>
        <message>
            <source>subtracted for every use of a token · 0 = off</source>
            <translation>für jede Verwendung eines Tokens abgezogen · 0 = aus</translation>
        </message>
        <message>
            <source>Penalty window</source>
            <translation>Fenster der Abzüge</translation>
        </message>
        <message>
            <source>number of recent tokens that penalties apply to · 0 = all</source>
            <translation>Zahl der letzten Tokens, für die Abzüge gelten · 0 = alle</translation>
        </message>
        <message>
            <source>Seed</source>
            <translation>Startwert</translation>
        </message>
        <message>
            <source>the same seed gives the same reply · empty = a new seed each time</source>
            <translation>gleicher Startwert, gleiche Antwort · leer = jedes Mal ein neuer</translation>
        </message>
        <message>
            <source>Enter a whole number from 0 to 2⁶⁴ − 1, or leave this empty.</source>
            <translation>Geben Sie eine ganze Zahl von 0 bis 2⁶⁴ − 1 ein oder lassen Sie das Feld leer.</translation>
        </message>
        <message>
            <source>Max tokens</source>
            <translation>Höchstzahl Tokens</translation>
        </message>
        <message>
            <source>new tokens per reply · empty = until the context is full</source>
            <translation>neue Tokens je Antwort · leer = bis der Kontext voll ist</translation>
        </message>
        <message>
            <source>Enter a whole number above 0, or leave this empty.</source>
            <translation>Geben Sie eine ganze Zahl über 0 ein oder lassen Sie das Feld leer.</translation>
        </message>
        <message>
            <source>Stop strings</source>
            <translation>Stopptexte</translation>
        </message>
        <message>
            <source>Texts that end a reply, one per line. Write \n for a line break and \t for a tab.</source>
            <translation>Texte, die eine Antwort beenden, einer je Zeile. Schreiben Sie \n für einen Zeilenumbruch und \t für einen Tabulator.</translation>
        </message>
        <message>
            <source>Enter at most {count} stop strings of up to {length} characters each.</source>
            <translation>Geben Sie höchstens {count} Stopptexte mit je bis zu {length} Zeichen ein.</translation>
        </message>
        <message>
            <source>Format</source>
            <translation>Format</translation>
        </message>
        <message>
            <source>A JSON schema that replies are held to, or the word json for any JSON object. Empty = free text.</source>
            <translation>Ein JSON-Schema, an das sich Antworten halten, oder das Wort json für irgendein JSON-Objekt. Leer = freier Text.</translation>
        </message>
        <message>
            <source>System prompt</source>
            <translation>System-Prompt</translation>
        </message>
        <message>
            <source>Instructions that the model reads before every chat</source>
            <translation>Anweisungen, die das Modell vor jedem Chat liest</translation>
        </message>
        <message>
            <source>Enter at most {length} characters.</source>
            <translation>Geben Sie höchstens {length} Zeichen ein.</translation>
        </message>
        <message>
            <source>Method</source>
            <translation>Verfahren</translation>
        </message>
        <message>
            <source>Acceptance rule</source>
            <translation>Annahmeregel</translation>
        </message>
        <message>
            <source>Overlap</source>
            <translation>Überlappung</translation>
        </message>
        <message>
            <source>New chat in this project</source>
            <translation>Neuer Chat in diesem Projekt</translation>
        </message>
        <message>
            <source>Instructions, files and model…</source>
            <translation>Anweisungen, Dateien und Modell…</translation>
        </message>
        <message>
            <source>Export the project…</source>
            <translation>Projekt exportieren…</translation>
        </message>
        <message>
            <source>Delete the project and its chats</source>
            <translation>Projekt mit seinen Chats löschen</translation>
        </message>
        <message>
            <source>it is a project: import its whole archive</source>
            <translation>sie ist ein Projekt: Importieren Sie sein ganzes Archiv</translation>
        </message>
        <message>
            <source>The chats in {path} were written by a newer version of Outrider (format {version}; this version reads up to format {known}). Nothing was changed. Open them with the newer version.</source>
            <translation>Die Chats in {path} stammen aus einer neueren Version von Outrider (Format {version}; diese Version liest bis Format {known}). Nichts wurde geändert. Öffnen Sie sie mit der neueren Version.</translation>
        </message>
        <message>
            <source>The chats in {path} cannot be read: {reason}. Restore the file from a backup, or move it away to start with an empty list.</source>
            <translation>Die Chats in {path} sind nicht lesbar: {reason}. Stellen Sie die Datei aus einer Sicherung wieder her oder verschieben Sie sie, um mit einer leeren Liste zu beginnen.</translation>
        </message>
        <message>
            <source>The record of this reply’s tokens in {path} is damaged, so it cannot be shown.</source>
            <translation>Die Aufzeichnung der Tokens dieser Antwort in {path} ist beschädigt und kann deshalb nicht gezeigt werden.</translation>
        </message>
        <message>
            <source>The search index of the chats in {path} is damaged. Outrider is building it again: repeat the search in a moment.</source>
            <translation>Der Suchindex der Chats in {path} ist beschädigt. Outrider baut ihn neu auf: Wiederholen Sie die Suche gleich.</translation>
        </message>
        <message>
            <source>Cannot open the chats in {path}: {reason}. Make the folder and the file writable.</source>
            <translation>Die Chats in {path} können nicht geöffnet werden: {reason}. Machen Sie Ordner und Datei beschreibbar.</translation>
        </message>
        <message>
            <source>Cannot open the chats in {path}: the disk is full. Free some space and restart Outrider.</source>
            <translation>Die Chats in {path} können nicht geöffnet werden: Der Datenträger ist voll. Schaffen Sie Platz und starten Sie Outrider neu.</translation>
        </message>
        <message>
            <source>Another program is using the chats in {path}. Close the other instance of Outrider and start again.</source>
            <translation>Ein anderes Programm benutzt die Chats in {path}. Schließen Sie die andere Instanz von Outrider und starten Sie noch einmal.</translation>
        </message>
        <message>
            <source>The disk that holds {parent} is full, so recent changes are not saved yet. Free some space: Outrider then saves them automatically while it is open.</source>
            <translation>Der Datenträger mit {parent} ist voll, daher sind die letzten Änderungen noch nicht gespeichert. Schaffen Sie Platz: Outrider speichert sie dann automatisch, solange es geöffnet ist.</translation>
        </message>
        <message>
            <source>Recent changes cannot be saved in {parent}: {reason}. Outrider tries again every few seconds while it is open.</source>
            <translation>Die letzten Änderungen können nicht in {parent} gespeichert werden: {reason}. Outrider versucht es alle paar Sekunden erneut, solange es geöffnet ist.</translation>
        </message>
        <message>
            <source>The file of the chats, {path}, was deleted while Outrider was running. Outrider has written it again; nothing is lost.</source>
            <translation>Die Datei der Chats, {path}, wurde gelöscht, während Outrider lief. Outrider hat sie neu geschrieben; nichts ist verloren.</translation>
        </message>
        <message>
            <source>The file of the chats, {path}, was replaced while Outrider was running. Outrider has written it again; what had replaced it is now in {aside}.</source>
            <translation>Die Datei der Chats, {path}, wurde ersetzt, während Outrider lief. Outrider hat sie neu geschrieben; was an ihrer Stelle war, ist jetzt in {aside}.</translation>
        </message>
        <message>
            <source>A change could not be saved: {reason}.</source>
            <translation>Eine Änderung konnte nicht gespeichert werden: {reason}.</translation>
        </message>
        <message>
            <source>the file is damaged</source>
            <translation>die Datei ist beschädigt</translation>
        </message>
        <message>
            <source>the file is damaged ({reason})</source>
            <translation>die Datei ist beschädigt ({reason})</translation>
        </message>
        <message>
            <source>it makes no sense to the store</source>
            <translation>sie passt nicht zu den gespeicherten Chats</translation>
        </message>
        <message>
            <source>it has no chats that Outrider can read</source>
            <translation>sie enthält keine Chats, die Outrider lesen kann</translation>
        </message>
        <message>
            <source>it belongs to another program</source>
            <translation>sie gehört zu einem anderen Programm</translation>
        </message>
        <message>
            <source>its first bytes are damaged</source>
            <translation>ihre ersten Bytes sind beschädigt</translation>
        </message>
        <message>
            <source>the description of its tables is damaged</source>
            <translation>die Beschreibung ihrer Tabellen ist beschädigt</translation>
        </message>
        <message>
            <source>it is not an Outrider chat file</source>
            <translation>sie ist keine Chatdatei von Outrider</translation>
        </message>
        <message>
            <source>it ends too early</source>
            <translation>sie endet zu früh</translation>
        </message>
        <message>
            <source>the file was deleted or replaced</source>
            <translation>die Datei wurde gelöscht oder ersetzt</translation>
        </message>
        <message>
            <source>drawing it takes too long</source>
            <translation>das Zeichnen dauert zu lange</translation>
        </message>
        <message>
            <source>it was cancelled</source>
            <translation>es wurde abgebrochen</translation>
        </message>
        <message>
            <source>the program that draws it crashed</source>
            <translation>das Programm, das es zeichnet, ist abgestürzt</translation>
        </message>
        <message>
            <source>it nests too deeply</source>
            <translation>sie ist zu tief verschachtelt</translation>
        </message>
        <message>
            <source>what draws it is not installed</source>
            <translation>was es zeichnet, ist nicht installiert</translation>
        </message>
        <message>
            <source>it is no diagram that can be drawn</source>
            <translation>es ist kein Diagramm, das gezeichnet werden kann</translation>
        </message>
        <message>
            <source>it declares entities</source>
            <translation>es deklariert Entitäten</translation>
        </message>
        <message>
            <source>it is no valid SVG</source>
            <translation>es ist kein gültiges SVG</translation>
        </message>
        <message>
            <source>it has more than {count} elements</source>
            <translation>es hat mehr als {count} Elemente</translation>
        </message>
        <message>
            <source>it refers to something outside of itself</source>
            <translation>es verweist auf etwas außerhalb</translation>
        </message>
        <message>
            <source>it is too large</source>
            <translation>es ist zu groß</translation>
        </message>
        <message>
            <source>it shows nothing without scripts and the network</source>
            <translation>ohne Skripte und Netz zeigt es nichts</translation>
        </message>
        <message>
            <source>{name} is part of Outrider, but it is missing or damaged. Reinstall Outrider.</source>
            <translation>{name} gehört zu Outrider, fehlt aber oder ist beschädigt. Installieren Sie Outrider neu.</translation>
        </message>
        <message>
            <source>Name</source>
            <translation>Name</translation>
        </message>
        <message>
            <source>Parameters</source>
            <translation>Parameter</translation>
        </message>
        <message>
            <source>Quantisation</source>
            <translation>Quantisierung</translation>
        </message>
        <message>
            <source>Size</source>
            <translation>Größe</translation>
        </message>
        <message>
            <source>Context</source>
            <translation>Kontext</translation>
        </message>
        <message>
            <source>Context length in tokens: as loaded / as trained</source>
            <translation>Kontextlänge in Tokens: geladen / trainiert</translation>
        </message>
        <message>
            <source>Memory</source>
            <translation>Speicher</translation>
        </message>
        <message>
            <source>Estimated memory needed to run the model, and free memory</source>
            <translation>Geschätzter Speicherbedarf des Modells und freier Speicher</translation>
        </message>
        <message>
            <source>State</source>
            <translation>Zustand</translation>
        </message>
        <message>
            <source>{name} can only verify chains.</source>
            <translation>{name} kann nur Ketten prüfen.</translation>
        </message>
        <message>
            <source>Drafting trees</source>
            <translation>Vorschlagen von Bäumen</translation>
        </message>
        <message>
            <source>{name} shows no hidden states.</source>
            <translation>{name} zeigt keine verborgenen Zustände.</translation>
        </message>
        <message>
            <source>Drafting with heads</source>
            <translation>Entwerfen mit Köpfen</translation>
        </message>
        <message>
            <source>its cache cannot be restored</source>
            <translation>sein Cache lässt sich nicht wiederherstellen</translation>
        </message>
        <message>
            <source>{name} cannot see.</source>
            <translation>{name} kann nicht sehen.</translation>
        </message>
        <message>
            <source>Reading pictures</source>
            <translation>Bilder zu lesen</translation>
        </message>
        <message>
            <source>a block of the head ends here</source>
            <translation>ein Block des Kopfes endet hier</translation>
        </message>
        <message>
            <source>the head has no hidden states to begin with</source>
            <translation>dem Kopf fehlen die verborgenen Zustände, von denen er ausgeht</translation>
        </message>
        <message>
            <source>a head returns one row of logits at most</source>
            <translation>ein Kopf liefert höchstens eine Zeile Logits</translation>
        </message>
        <message>
            <source>Loading the model</source>
            <translation>Das Laden des Modells</translation>
        </message>
        <message>
            <source>there is no room for its logits ({reason}).</source>
            <translation>für seine Logits ist kein Platz ({reason}).</translation>
        </message>
        <message>
            <source>{n_outputs} rows of logits were requested for {count} tokens</source>
            <translation>{n_outputs} Zeilen mit Logits wurden für {count} Tokens verlangt</translation>
        </message>
        <message>
            <source>its process failed ({reason})</source>
            <translation>sein Prozess ist gescheitert ({reason})</translation>
        </message>
        <message>
            <source>the connection to {machines} was lost. See that rpc-server runs there and load the model again, or choose another one</source>
            <translation>die Verbindung zu {machines} ging verloren. Sehen Sie nach, ob rpc-server dort läuft, und laden Sie das Modell noch einmal, oder wählen Sie ein anderes</translation>
        </message>
        <message>
            <source>no process can be started for it ({reason}).</source>
            <translation>für das Modell kann kein Prozess gestartet werden ({reason}).</translation>
        </message>
        <message>
            <source>{machines} takes connections and does not answer. It may be computing for another program, or is no rpc-server.</source>
            <translation>{machines} nimmt Verbindungen an und antwortet nicht. Vielleicht rechnet es für ein anderes Programm oder ist kein rpc-server.</translation>
        </message>
        <message>
            <source>the connection to {machines} was lost, or the memory there does not suffice. See that rpc-server of this version runs there.</source>
            <translation>die Verbindung zu {machines} ging verloren, oder der Speicher dort reicht nicht. Sehen Sie nach, ob dort rpc-server dieser Version läuft.</translation>
        </message>
        <message>
            <source>{address} does not answer ({reason}). Start rpc-server there, or see whether the address is right.</source>
            <translation>{address} antwortet nicht ({reason}). Starten Sie dort rpc-server, oder prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <source>its state could not be saved</source>
            <translation>sein Zustand konnte nicht gesichert werden</translation>
        </message>
        <message>
            <source>a picture must be read whole</source>
            <translation>ein Bild muss ganz gelesen werden</translation>
        </message>
        <message>
            <source>llama.cpp returned no logits</source>
            <translation>llama.cpp lieferte keine Logits</translation>
        </message>
        <message>
            <source>llama.cpp cannot create a context for it</source>
            <translation>llama.cpp kann dafür keinen Kontext anlegen</translation>
        </message>
        <message>
            <source>it is no embedding model: its file does not say how to make one vector.</source>
            <translation>es ist kein Embedding-Modell: seine Datei sagt nicht, wie ein Vektor entsteht.</translation>
        </message>
        <message>
            <source>there may not be enough memory</source>
            <translation>vielleicht reicht der Arbeitsspeicher nicht</translation>
        </message>
        <message>
            <source>its hidden states cannot be read</source>
            <translation>seine verborgenen Zustände können nicht gelesen werden</translation>
        </message>
        <message>
            <source>a head in a GGUF file needs a target in one. Choose a GGUF file as the target.</source>
            <translation>ein Kopf in einer GGUF-Datei braucht ein Zielmodell in einer. Wählen Sie eine GGUF-Datei als Zielmodell.</translation>
        </message>
        <message>
            <source>llama.cpp cannot read it</source>
            <translation>llama.cpp kann sie nicht lesen</translation>
        </message>
        <message>
            <source>this build of llama.cpp lacks its function {name}. Install Outrider from its sources (make setup) or with an installer.</source>
            <translation>dieser Fassung von llama.cpp fehlt die Funktion {name}. Installieren Sie Outrider aus den Quellen (make setup) oder mit einem Installationsprogramm.</translation>
        </message>
        <message>
            <source>{folder} has no llama.cpp library that runs on this computer. Reinstall Outrider.</source>
            <translation>{folder} enthält keine llama.cpp-Bibliothek, die auf diesem Computer läuft. Installieren Sie Outrider neu.</translation>
        </message>
        <message>
            <source>Running GGUF models</source>
            <translation>Das Ausführen von GGUF-Modellen</translation>
        </message>
        <message>
            <source>it does not generate text token by token. Choose a chat or text model.</source>
            <translation>es erzeugt Text nicht Token für Token. Wählen Sie ein Chat- oder Textmodell.</translation>
        </message>
        <message>
            <source>llama.cpp cannot create a context for it; there may not be enough memory</source>
            <translation>llama.cpp kann dafür keinen Kontext anlegen; vielleicht reicht der Arbeitsspeicher nicht</translation>
        </message>
        <message>
            <source>the memory of the graphics card is too small for it ({detail}). Give it fewer layers (GPU layers), or choose a shorter context or a smaller model.</source>
            <translation>der Speicher der Grafikkarte reicht dafür nicht ({detail}). Geben Sie ihr weniger Schichten (GPU-Schichten), oder wählen Sie einen kürzeren Kontext oder ein kleineres Modell.</translation>
        </message>
        <message>
            <source>{address} is no rpc-server of this version of llama.cpp.</source>
            <translation>{address} ist kein rpc-server dieser Version von llama.cpp.</translation>
        </message>
        <message>
            <source>Computing on several machines</source>
            <translation>Das Rechnen auf mehreren Rechnern</translation>
        </message>
        <message>
            <source>This llama.cpp was compiled without RPC. Run: outrider-engine compile</source>
            <translation>Dieses llama.cpp wurde ohne RPC kompiliert. Führen Sie aus: outrider-engine compile</translation>
        </message>
        <message>
            <source>the model has no tokens to put around pictures.</source>
            <translation>das Modell hat keine Token, die um Bilder stehen könnten.</translation>
        </message>
        <message>
            <source>the picture has more tokens than the model reads at once</source>
            <translation>das Bild hat mehr Token, als das Modell auf einmal liest</translation>
        </message>
        <message>
            <source>the picture cannot be computed</source>
            <translation>das Bild lässt sich nicht berechnen</translation>
        </message>
        <message>
            <source>The model cannot read a picture of {width} × {height} pixels. Choose another size.</source>
            <translation>Das Modell kann ein Bild von {width} × {height} Pixeln nicht lesen. Wählen Sie eine andere Größe.</translation>
        </message>
        <message>
            <source>it is no projector for this model ({reason}).</source>
            <translation>es ist kein Projektor für dieses Modell ({reason}).</translation>
        </message>
        <message>
            <source>it is no projector for this model.</source>
            <translation>es ist kein Projektor für dieses Modell.</translation>
        </message>
        <message>
            <source>this llama.cpp was compiled without mtmd. To compile it, run: outrider-engine compile</source>
            <translation>dieses llama.cpp wurde ohne mtmd kompiliert. Um es zu kompilieren, führen Sie aus: outrider-engine compile</translation>
        </message>
        <message>
            <source>its tokenizer returned no result</source>
            <translation>sein Tokenizer lieferte kein Ergebnis</translation>
        </message>
        <message>
            <source>The prompt has {characters:,} characters; the limit is {longest_text:,}. Shorten it.</source>
            <translation>Der Prompt hat {characters:,} Zeichen; die Grenze liegt bei {longest_text:,}. Kürzen Sie ihn.</translation>
        </message>
        <message>
            <source>{n_outputs} rows of logits were requested for {tokens} tokens</source>
            <translation>{n_outputs} Zeilen mit Logits wurden für {tokens} Tokens verlangt</translation>
        </message>
        <message>
            <source>the memory of {device} is full</source>
            <translation>der Speicher von {device} ist voll</translation>
        </message>
        <message>
            <source>its weights are damaged: it computes values that are not numbers.</source>
            <translation>seine Gewichte sind beschädigt: Es berechnet Werte, die keine Zahlen sind.</translation>
        </message>
        <message>
            <source>it attends to later tokens: it encodes text and cannot generate any.</source>
            <translation>es berücksichtigt spätere Tokens: Es kodiert Text und kann keinen erzeugen.</translation>
        </message>
        <message>
            <source>the memory of {device} is full. Choose a smaller model.</source>
            <translation>der Speicher von {device} ist voll. Wählen Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <source>transformers cannot run it ({first_line}).</source>
            <translation>transformers kann es nicht ausführen ({first_line}).</translation>
        </message>
        <message>
            <source>its config.json does not name the model type (model_type).</source>
            <translation>seine config.json nennt den Modelltyp (model_type) nicht.</translation>
        </message>
        <message>
            <source>the model type {kind!r} needs code from the model folder, which Outrider never runs</source>
            <translation>der Modelltyp {kind!r} braucht Code aus dem Modellordner, den Outrider nie ausführt</translation>
        </message>
        <message>
            <source>the installed transformers {version} does not support the model type {kind!r}</source>
            <translation>das installierte transformers {version} unterstützt den Modelltyp {kind!r} nicht</translation>
        </message>
        <message>
            <source>{reason}. Choose another model, or convert it to GGUF.</source>
            <translation>{reason}. Wählen Sie ein anderes Modell oder wandeln Sie es in GGUF um.</translation>
        </message>
        <message>
            <source>its config.json cannot be used ({first_line}).</source>
            <translation>seine config.json ist unbrauchbar ({first_line}).</translation>
        </message>
        <message>
            <source>it is an encoder-decoder model, which turns one text into another.</source>
            <translation>es ist ein Encoder-Decoder-Modell, das einen Text in einen anderen umwandelt.</translation>
        </message>
        <message>
            <source>{model_type} models read pictures in a way that is not supported here. Choose its GGUF file, with its projector (mmproj) beside it.</source>
            <translation>Modelle der Art {model_type} lesen Bilder auf eine Weise, die hier nicht unterstützt wird. Wählen Sie seine GGUF-Datei mit ihrem Projektor (mmproj) daneben.</translation>
        </message>
        <message>
            <source>{model_type} models do not generate text token by token.</source>
            <translation>{model_type}-Modelle erzeugen Text nicht Token für Token.</translation>
        </message>
        <message>
            <source>its files contain a {kind}, which does not generate text.</source>
            <translation>seine Dateien enthalten ein {kind}, das keinen Text erzeugt.</translation>
        </message>
        <message>
            <source>its config.json gives {value} for {name!r}, but its files do not match.</source>
            <translation>seine config.json nennt {value} für {name!r}, aber seine Dateien passen nicht dazu.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the shape {shape}, but config.json requires {asked}.</source>
            <translation>der Tensor {name!r} hat die Form {shape}, aber config.json verlangt {asked}.</translation>
        </message>
        <message>
            <source>its config.json describes {elements:,} weights, but its files contain {parameters:,}: part of the model is missing.</source>
            <translation>seine config.json beschreibt {elements:,} Gewichte, aber seine Dateien enthalten {parameters:,}: Ein Teil des Modells fehlt.</translation>
        </message>
        <message>
            <source>its files contain the layer of {name!r}, which config.json does not describe.</source>
            <translation>seine Dateien enthalten die Schicht von {name!r}, die config.json nicht beschreibt.</translation>
        </message>
        <message>
            <source> and {count} more</source>
            <translation> und {count} weitere</translation>
        </message>
        <message>
            <source>its files lack the tensor {name!r}{more}. Download the model again.</source>
            <translation>seinen Dateien fehlt der Tensor {name!r}{more}. Laden Sie das Modell noch einmal.</translation>
        </message>
        <message>
            <source>it lacks the tensor {name!r}.</source>
            <translation>ihr fehlt der Tensor {name!r}.</translation>
        </message>
        <message>
            <source>its table of draft tokens (d2t) is damaged.</source>
            <translation>ihre Tabelle der Entwurfs-Tokens (d2t) ist beschädigt.</translation>
        </message>
        <message>
            <source>a head in a safetensors file needs a target in one. Choose such a folder as the target.</source>
            <translation>ein Kopf in einer safetensors-Datei braucht ein Zielmodell in einer. Wählen Sie einen solchen Ordner als Zielmodell.</translation>
        </message>
        <message>
            <source>it cannot be read ({error}).</source>
            <translation>sie kann nicht gelesen werden ({error}).</translation>
        </message>
        <message>
            <source>it is not a head for {target}: {reason}. Choose a head that was trained for this target.</source>
            <translation>sie ist kein Kopf für {target}: {reason}. Wählen Sie einen Kopf, der für dieses Zielmodell trainiert wurde.</translation>
        </message>
        <message>
            <source>it has another vocabulary</source>
            <translation>er hat ein anderes Vokabular</translation>
        </message>
        <message>
            <source>it cannot be moved to {device} ({first_line}).</source>
            <translation>es kann nicht auf {device} verschoben werden ({first_line}).</translation>
        </message>
        <message>
            <source>this computer has {known}. Choose one of these, or auto.</source>
            <translation>dieser Computer hat {known}. Wählen Sie eines davon oder auto.</translation>
        </message>
        <message>
            <source>The device {name}</source>
            <translation>Das Gerät {name}</translation>
        </message>
        <message>
            <source>it needs a package that is not installed ({first_line}).</source>
            <translation>es braucht ein Paket, das nicht installiert ist ({first_line}).</translation>
        </message>
        <message>
            <source>the computer ran out of memory while reading it. Close other programs.</source>
            <translation>der Arbeitsspeicher reichte beim Lesen nicht aus. Schließen Sie andere Programme.</translation>
        </message>
        <message>
            <source>transformers cannot load it ({first_line}).</source>
            <translation>transformers kann es nicht laden ({first_line}).</translation>
        </message>
        <message>
            <source>its MTP layers cannot be run as {kind} layers ({first_line}).</source>
            <translation>seine Schichten für spätere Tokens (MTP) lassen sich nicht als Schichten der Art {kind} ausführen ({first_line}).</translation>
        </message>
        <message>
            <source>its pictures' processor cannot be used ({first_line}).</source>
            <translation>der Prozessor seiner Bilder ist nicht verwendbar ({first_line}).</translation>
        </message>
        <message>
            <source>its folder contains none</source>
            <translation>sein Ordner enthält keinen</translation>
        </message>
        <message>
            <source>{file} needs another package ({reason})</source>
            <translation>{file} braucht ein weiteres Paket ({reason})</translation>
        </message>
        <message>
            <source>its tokenizer cannot be read ({first_line}).</source>
            <translation>sein Tokenizer kann nicht gelesen werden ({first_line}).</translation>
        </message>
        <message>
            <source>its tokenizer cannot be read: the file is damaged.</source>
            <translation>sein Tokenizer kann nicht gelesen werden: Die Datei ist beschädigt.</translation>
        </message>
        <message>
            <source>{kind} is not one of Hugging Face's fast tokenizers</source>
            <translation>{kind} ist keiner der schnellen Tokenizer von Hugging Face</translation>
        </message>
        <message>
            <source>{reason}. Pass the prompt as token ids (--tokens), or add a tokenizer.json to its folder.</source>
            <translation>{reason}. Übergeben Sie den Prompt als Token-Nummern (--tokens), oder legen Sie eine tokenizer.json in seinen Ordner.</translation>
        </message>
        <message>
            <source>This model's tokenizer</source>
            <translation>Der Tokenizer dieses Modells</translation>
        </message>
        <message>
            <source>The measurement</source>
            <translation>Die Messung</translation>
        </message>
        <message>
            <source>Only a lookahead, 'auto' or 'ngram' can be measured, not {way!r}.</source>
            <translation>Messen lässt sich nur eine Vorausschau, 'auto' oder 'ngram', nicht {way!r}.</translation>
        </message>
        <message>
            <source>{name} cannot answer this prompt: {why}.</source>
            <translation>{name} kann diesen Prompt nicht beantworten: {why}.</translation>
        </message>
        <message>
            <source>{name} can answer none of the prompts. The first: {why}</source>
            <translation>{name} kann keinen der Prompts beantworten. Der erste: {why}</translation>
        </message>
        <message>
            <source>it took too long</source>
            <translation>es dauerte zu lange</translation>
        </message>
        <message>
            <source>it crashes the process that renders it</source>
            <translation>sie bringt den Prozess zum Absturz, der sie ausführt</translation>
        </message>
        <message>
            <source>it takes too much memory</source>
            <translation>sie braucht zu viel Speicher</translation>
        </message>
        <message>
            <source>the process that renders it cannot be started ({reason})</source>
            <translation>der Prozess, der sie ausführt, lässt sich nicht starten ({reason})</translation>
        </message>
        <message>
            <source>The conversation uses all of Unicode's private characters.</source>
            <translation>Das Gespräch verwendet alle privaten Zeichen von Unicode.</translation>
        </message>
        <message>
            <source>it does not terminate</source>
            <translation>sie endet nicht</translation>
        </message>
        <message>
            <source>its text is far longer than the chat</source>
            <translation>ihr Text ist weit länger als der Chat</translation>
        </message>
        <message>
            <source>The chat template takes one type for each parameter of a tool; the others are in its description.</source>
            <translation>Die Chatvorlage nimmt für jeden Parameter eines Werkzeugs nur einen Typ; die anderen stehen in seiner Beschreibung.</translation>
        </message>
        <message>
            <source>The chat template cannot describe these tools; they were described in the system prompt.</source>
            <translation>Die Chatvorlage kann diese Werkzeuge nicht beschreiben; sie wurden im System-Prompt beschrieben.</translation>
        </message>
        <message>
            <source>The chat template needs tools; it was given an empty list of them.</source>
            <translation>Die Chatvorlage braucht Werkzeuge; sie hat eine leere Liste bekommen.</translation>
        </message>
        <message>
            <source>The chat template takes arguments of tools as text only; they were given as JSON.</source>
            <translation>Die Chatvorlage nimmt Argumente von Werkzeugen nur als Text; sie wurden als JSON übergeben.</translation>
        </message>
        <message>
            <source>The chat template takes one system prompt, at the beginning; all of them were joined there.</source>
            <translation>Die Chatvorlage nimmt einen System-Prompt, am Anfang; alle wurden dort verbunden.</translation>
        </message>
        <message>
            <source>The chat template takes no system prompt; it was put at the beginning of the first question.</source>
            <translation>Die Chatvorlage nimmt keinen System-Prompt; er wurde an den Anfang der ersten Frage gestellt.</translation>
        </message>
        <message>
            <source>The chat template wants a question, and there is none; the system prompt was given as one.</source>
            <translation>Die Chatvorlage verlangt eine Frage, und es gibt keine; der System-Prompt wurde als eine gegeben.</translation>
        </message>
        <message>
            <source>The chat template takes no empty replies; they were left out.</source>
            <translation>Die Chatvorlage nimmt keine leeren Antworten; sie wurden weggelassen.</translation>
        </message>
        <message>
            <source>The chat template cannot write the tool calls; they were written as plain text.</source>
            <translation>Die Chatvorlage kann die Werkzeugaufrufe nicht schreiben; sie wurden als einfacher Text geschrieben.</translation>
        </message>
        <message>
            <source>The chat template wants questions and replies in turns; those that follow each other were joined.</source>
            <translation>Die Chatvorlage will Fragen und Antworten im Wechsel; aufeinanderfolgende wurden verbunden.</translation>
        </message>
        <message>
            <source>This llama.cpp was compiled without Outrider's sources: replies are parsed by think tags alone, and tool calls are not recognised. Install Outrider from its sources (make setup) or with an installer.</source>
            <translation>Dieses llama.cpp wurde ohne die Quellen von Outrider übersetzt: Antworten werden nur an think-Tags geteilt, und Werkzeugaufrufe werden nicht erkannt. Installieren Sie Outrider aus seinen Quellen (make setup) oder mit einem Installer.</translation>
        </message>
        <message>
            <source>Replies are parsed by think tags alone, because llama.cpp cannot use the chat template: {reason}.</source>
            <translation>Antworten werden nur an think-Tags geteilt, denn llama.cpp kann die Chatvorlage nicht verwenden: {reason}.</translation>
        </message>
        <message>
            <source>The reply was a call of {names} as plain JSON; it was read as one.</source>
            <translation>Die Antwort war ein Aufruf von {names} als bloßes JSON; sie wurde als einer gelesen.</translation>
        </message>
        <message>
            <source>The chat template of this model says nothing of tools: the model does not see them.</source>
            <translation>Die Chatvorlage dieses Modells sagt nichts von Werkzeugen: Das Modell sieht sie nicht.</translation>
        </message>
        <message>
            <source>Messages need the chat template: omit raw.</source>
            <translation>Nachrichten brauchen die Chatvorlage: Lassen Sie raw weg.</translation>
        </message>
        <message>
            <source>The chat template of this model has no switch that turns thinking on or off.</source>
            <translation>Die Chatvorlage dieses Modells hat keinen Schalter, der das Nachdenken ein- oder ausschaltet.</translation>
        </message>
        <message>
            <source>The chat template of this model knows no thinking effort. Omit thinking.</source>
            <translation>Die Chatvorlage dieses Modells kennt keine Stufen des Nachdenkens. Lassen Sie thinking weg.</translation>
        </message>
        <message>
            <source>The chat template of this model knows no thinking effort. Use on or off.</source>
            <translation>Die Chatvorlage dieses Modells kennt keine Stufen des Nachdenkens. Verwenden Sie on oder off.</translation>
        </message>
        <message>
            <source>token ids with finite numbers</source>
            <translation>Token-Nummern mit endlichen Zahlen</translation>
        </message>
        <message>
            <source>token ids, whole numbers of 0 or more</source>
            <translation>Token-Nummern, ganze Zahlen ab 0</translation>
        </message>
        <message>
            <source>Machines must be addresses such as 192.168.1.20:50052, at most {most} with commas between them, not {value!r}.</source>
            <translation>Rechner müssen Adressen wie 192.168.1.20:50052 sein, höchstens {most}, durch Kommas getrennt, nicht {value!r}.</translation>
        </message>
        <message>
            <source>A tree must be its width (1 to {width}) and its depth (1 to {depth}), like 3x4, not {value!r}.</source>
            <translation>Ein Baum muss als Breite (1 bis {width}) und Tiefe (1 bis {depth}) angegeben sein, etwa 3x4, nicht {value!r}.</translation>
        </message>
        <message>
            <source>max_tokens must be a whole number above 0, not {max_tokens!r}.</source>
            <translation>max_tokens muss eine ganze Zahl über 0 sein, nicht {max_tokens!r}.</translation>
        </message>
        <message>
            <source>The model {name} cannot see pictures. Choose one with its projector (mmproj-….gguf) beside it.</source>
            <translation>Das Modell {name} kann keine Bilder sehen. Wählen Sie eines, neben dem sein Projektor (mmproj-….gguf) liegt.</translation>
        </message>
        <message>
            <source>Compiling llama.cpp</source>
            <translation>Das Kompilieren von llama.cpp</translation>
        </message>
        <message>
            <source>this program brings its own, compiled with the kernels.</source>
            <translation>dieses Programm bringt ein eigenes mit, das mit den Kernels kompiliert ist.</translation>
        </message>
        <message>
            <source>{python} has no pip. Run: {python} -m ensurepip</source>
            <translation>{python} hat kein pip. Führen Sie aus: {python} -m ensurepip</translation>
        </message>
        <message>
            <source>Parting the replies of this model</source>
            <translation>Das Teilen der Antworten dieses Modells</translation>
        </message>
        <message>
            <source>it has no chat template.</source>
            <translation>es hat keine Chatvorlage.</translation>
        </message>
        <message>
            <source>a number from 0 to 1</source>
            <translation>eine Zahl von 0 bis 1</translation>
        </message>
        <message>
            <source>a number from 0 to 100</source>
            <translation>eine Zahl von 0 bis 100</translation>
        </message>
        <message>
            <source>a number from -100 to 100</source>
            <translation>eine Zahl von -100 bis 100</translation>
        </message>
        <message>
            <source>a number above 0, at most 1</source>
            <translation>eine Zahl über 0, höchstens 1</translation>
        </message>
        <message>
            <source>a number above 0, at most 100</source>
            <translation>eine Zahl über 0, höchstens 100</translation>
        </message>
        <message>
            <source>0 (off) or a whole number above 0</source>
            <translation>0 (aus) oder eine ganze Zahl über 0</translation>
        </message>
        <message>
            <source>0 (all) or a whole number above 0</source>
            <translation>0 (alle) oder eine ganze Zahl über 0</translation>
        </message>
        <message>
            <source>a whole number from 0 to 2^64 - 1</source>
            <translation>eine ganze Zahl von 0 bis 2^64 - 1</translation>
        </message>
        <message>
            <source>Overlap must be 'on', 'off' or 'auto', not {overlap!r}.</source>
            <translation>Die Überlappung muss 'on', 'off' oder 'auto' sein, nicht {overlap!r}.</translation>
        </message>
        <message>
            <source>Acceptance must be 'rejection' or 'exact', not {acceptance!r}.</source>
            <translation>Die Annahmeregel muss 'rejection' oder 'exact' sein, nicht {acceptance!r}.</translation>
        </message>
        <message>
            <source>The context must be a whole number of 8 tokens or more, not {context_length!r}.</source>
            <translation>Der Kontext muss eine ganze Zahl von 8 oder mehr Tokens sein, nicht {context_length!r}.</translation>
        </message>
        <message>
            <source>Threads must be a whole number from 1 to 512, not {threads!r}.</source>
            <translation>Threads müssen eine ganze Zahl von 1 bis 512 sein, nicht {threads!r}.</translation>
        </message>
        <message>
            <source>GPU layers must be a whole number, -1 for all, not {gpu_layers!r}.</source>
            <translation>GPU-Schichten müssen eine ganze Zahl sein, -1 für alle, nicht {gpu_layers!r}.</translation>
        </message>
        <message>
            <source>The device must be auto, cpu, cuda, cuda:0 (or another number) or mps, not {device!r}.</source>
            <translation>Das Gerät muss auto, cpu, cuda, cuda:0 (oder eine andere Zahl) oder mps sein, nicht {device!r}.</translation>
        </message>
        <message>
            <source>The number format must be one of {dtypes}, not {dtype!r}.</source>
            <translation>Das Zahlenformat muss eines von {dtypes} sein, nicht {dtype!r}.</translation>
        </message>
        <message>
            <source>A chat template must have 1 to {most:,} characters.</source>
            <translation>Eine Chatvorlage muss 1 bis {most:,} Zeichen haben.</translation>
        </message>
        <message>
            <source>The cache type must be one of {cache_types}, not {cache_type!r}.</source>
            <translation>Der Cache-Typ muss einer von {cache_types} sein, nicht {cache_type!r}.</translation>
        </message>
        <message>
            <source>Tools need the chat template: omit raw, and pass text or messages.</source>
            <translation>Werkzeuge brauchen die Chatvorlage: Lassen Sie raw weg und übergeben Sie Text oder Nachrichten.</translation>
        </message>
        <message>
            <source>Tools and a constraint exclude each other, but for JSON.</source>
            <translation>Werkzeuge und eine Vorgabe schließen sich aus, außer bei JSON.</translation>
        </message>
        <message>
            <source>The prompt is empty: it must have some text.</source>
            <translation>Der Prompt ist leer: Er muss Text haben.</translation>
        </message>
        <message>
            <source>A stop string must be text and must not be empty.</source>
            <translation>Ein Stopptext muss Text sein und darf nicht leer sein.</translation>
        </message>
        <message>
            <source>top must be a whole number from 0 to {max_top}, not {top!r}.</source>
            <translation>top muss eine ganze Zahl von 0 bis {max_top} sein, nicht {top!r}.</translation>
        </message>
        <message>
            <source>must_call must name tools of this request: {names}.</source>
            <translation>must_call muss Werkzeuge dieser Anfrage nennen: {names}.</translation>
        </message>
        <message>
            <source>Thinking must be one of {modes}, not {value!r}.</source>
            <translation>Das Nachdenken muss eines von {modes} sein, nicht {value!r}.</translation>
        </message>
        <message>
            <source>A prompt must be text, a list of messages or a list of token ids.</source>
            <translation>Ein Prompt muss Text, eine Liste von Nachrichten oder eine Liste von Token-Nummern sein.</translation>
        </message>
        <message>
            <source>Sources must be different names out of {sources}, not {value!r}.</source>
            <translation>Die Quellen müssen verschiedene Namen aus {sources} sein, nicht {value!r}.</translation>
        </message>
        <message>
            <source>{title}: nothing was written, enter it by hand.</source>
            <translation>{title}: Nichts wurde geschrieben, geben Sie es von Hand ein.</translation>
        </message>
        <message>
            <source>Cline keeps its settings where no other program can write them: enter this on its settings page.</source>
            <translation>Cline bewahrt seine Einstellungen dort auf, wo kein anderes Programm sie schreiben kann: Geben Sie dies auf seiner Einstellungsseite ein.</translation>
        </message>
        <message>
            <source>Zed keeps no key there: start it with OUTRIDER_API_KEY set to it, or to any text where there is none.</source>
            <translation>Zed bewahrt dort keinen Schlüssel auf: Starten Sie es mit OUTRIDER_API_KEY, auf den Schlüssel gesetzt, oder auf irgendeinen Text, wo es keinen gibt.</translation>
        </message>
        <message>
            <source>Set this before Open WebUI starts, or add a connection in its admin settings. In a container the address of this computer is http://host.docker.internal with the server's port.</source>
            <translation>Setzen Sie dies, bevor Open WebUI startet, oder fügen Sie in seinen Verwaltungseinstellungen eine Verbindung hinzu. In einem Container ist die Adresse dieses Rechners http://host.docker.internal mit dem Port des Servers.</translation>
        </message>
        <message>
            <source>Then: llm -m outrider 'Hello'. Where the server wants a key: llm keys set openai</source>
            <translation>Danach: llm -m outrider 'Hallo'. Wo der Server einen Schlüssel will: llm keys set openai</translation>
        </message>
        <message>
            <source>Cannot write {path}: {reason}.</source>
            <translation>{path} kann nicht geschrieben werden: {reason}.</translation>
        </message>
        <message>
            <source>{path} is too large for settings. Look at it, and copy what to set by hand.</source>
            <translation>{path} ist zu groß für Einstellungen. Sehen Sie sich die Datei an, und übertragen Sie von Hand, was einzustellen ist.</translation>
        </message>
        <message>
            <source>{path} is no text. Look at it, and copy what to set by hand.</source>
            <translation>{path} ist kein Text. Sehen Sie sich die Datei an, und übertragen Sie von Hand, was einzustellen ist.</translation>
        </message>
        <message>
            <source>Cannot read {path}: {reason}.</source>
            <translation>{path} kann nicht gelesen werden: {reason}.</translation>
        </message>
        <message>
            <source>{path} is no plain {kind}, or has it in a form of its own. Copy what to set by hand.</source>
            <translation>{path} ist kein einfaches {kind}, oder hat eine eigene Form davon. Übertragen Sie von Hand, was einzustellen ist.</translation>
        </message>
        <message>
            <source>the answer is not of the form that was asked for</source>
            <translation>die Antwort hat nicht die verlangte Form</translation>
        </message>
        <message>
            <source>The constraint</source>
            <translation>Die Vorgabe</translation>
        </message>
        <message>
            <source>The JSON schema</source>
            <translation>Das JSON-Schema</translation>
        </message>
        <message>
            <source>The regular expression</source>
            <translation>Der reguläre Ausdruck</translation>
        </message>
        <message>
            <source>The grammar</source>
            <translation>Die Grammatik</translation>
        </message>
        <message>
            <source>A constraint must be one of {kinds}, with its text.</source>
            <translation>Eine Vorgabe muss eine von diesen sein, mit ihrem Text: {kinds}.</translation>
        </message>
        <message>
            <source>{what} is too long: the limit is {most:,} characters.</source>
            <translation>{what} ist zu lang: Höchstens {most:,} Zeichen sind möglich.</translation>
        </message>
        <message>
            <source>The JSON schema is not plain JSON.</source>
            <translation>Das JSON-Schema ist kein reines JSON.</translation>
        </message>
        <message>
            <source>The JSON schema uses oneOf whose parts may overlap, which cannot be enforced. Use anyOf instead.</source>
            <translation>Das JSON-Schema verwendet oneOf mit Teilen, die sich überschneiden können. Das lässt sich nicht erzwingen. Verwenden Sie stattdessen anyOf.</translation>
        </message>
        <message>
            <source>{what} cannot be used: {reason}.</source>
            <translation>{what} kann nicht verwendet werden: {reason}.</translation>
        </message>
        <message>
            <source>The JSON schema uses keywords that cannot be enforced: {names}. Leave them out.</source>
            <translation>Das JSON-Schema verwendet Schlüsselwörter, die sich nicht erzwingen lassen: {names}. Lassen Sie sie weg.</translation>
        </message>
        <message>
            <source>The JSON schema is not JSON: look at line {line}, character {column}.</source>
            <translation>Das JSON-Schema ist kein JSON: siehe Zeile {line}, Zeichen {column}.</translation>
        </message>
        <message>
            <source>The JSON schema is not JSON that can be read.</source>
            <translation>Das JSON-Schema ist kein JSON, das gelesen werden kann.</translation>
        </message>
        <message>
            <source>The JSON schema must be an object.</source>
            <translation>Das JSON-Schema muss ein Objekt sein.</translation>
        </message>
        <message>
            <source>A constraint cannot have the value {number}. Choose one nearer to 0.</source>
            <translation>Eine Vorgabe kann den Wert {number} nicht haben. Wählen Sie einen, der näher bei 0 liegt.</translation>
        </message>
        <message>
            <source>This decoder is already generating a reply. Wait for it, or cancel it.</source>
            <translation>Dieser Decoder erzeugt schon eine Antwort. Warten Sie darauf oder brechen Sie sie ab.</translation>
        </message>
        <message>
            <source>This decoder is generating a reply. Wait for it, or cancel it.</source>
            <translation>Dieser Decoder erzeugt eine Antwort. Warten Sie darauf oder brechen Sie sie ab.</translation>
        </message>
        <message>
            <source>Only its first {count:,} characters were read.</source>
            <translation>Nur die ersten {count:,} Zeichen wurden gelesen.</translation>
        </message>
        <message>
            <source>it is a PostScript file: save it as PDF</source>
            <translation>die Datei ist PostScript: speichern Sie sie als PDF</translation>
        </message>
        <message>
            <source>it is an RTF file: save it as .docx, PDF or text</source>
            <translation>die Datei ist RTF: speichern Sie sie als .docx, PDF oder Text</translation>
        </message>
        <message>
            <source>what is packed in it is larger than {count} MiB</source>
            <translation>ihr gepackter Inhalt ist größer als {count} MiB</translation>
        </message>
        <message>
            <source>it is encrypted: open it with its password and save it without one</source>
            <translation>die Datei ist verschlüsselt: öffnen Sie sie mit ihrem Passwort und speichern Sie sie ohne</translation>
        </message>
        <message>
            <source>it has an old format of Office: save it as .docx, .pptx or PDF</source>
            <translation>die Datei hat ein altes Office-Format: speichern Sie sie als .docx, .pptx oder PDF</translation>
        </message>
        <message>
            <source>there is nothing in it that can be read</source>
            <translation>sie enthält nichts Lesbares</translation>
        </message>
        <message>
            <source>there are more than {count} files</source>
            <translation>es sind mehr als {count} Dateien</translation>
        </message>
        <message>
            <source>its name leads out of the archive</source>
            <translation>ihr Name führt aus dem Archiv hinaus</translation>
        </message>
        <message>
            <source>it is encrypted</source>
            <translation>sie ist verschlüsselt</translation>
        </message>
        <message>
            <source>there is no text in it</source>
            <translation>sie enthält keinen Text</translation>
        </message>
        <message>
            <source>it has {width} × {height} pixels; {count} million are the most</source>
            <translation>es hat {width} × {height} Pixel; {count} Millionen sind das Höchste</translation>
        </message>
        <message>
            <source>it is no picture of a known kind: save it as PNG, JPEG, WebP, GIF or BMP</source>
            <translation>es ist kein Bild einer bekannten Art: Speichern Sie es als PNG, JPEG, WebP, GIF oder BMP</translation>
        </message>
        <message>
            <source>What follows {name} was left out: there is too much.</source>
            <translation>Was auf {name} folgt, wurde weggelassen: Es ist zu viel.</translation>
        </message>
        <message>
            <source>{name} was left out: {reason}.</source>
            <translation>{name} wurde weggelassen: {reason}.</translation>
        </message>
        <message>
            <source>an archive within an archive is not unpacked</source>
            <translation>ein Archiv in einem Archiv wird nicht ausgepackt</translation>
        </message>
        <message>
            <source>Only the first {count:,} of {pages:,} pages were read.</source>
            <translation>Nur die ersten {count:,} von {pages:,} Seiten wurden gelesen.</translation>
        </message>
        <message>
            <source>These pages are damaged and were left out: {pages}.</source>
            <translation>Diese Seiten sind beschädigt und wurden weggelassen: {pages}.</translation>
        </message>
        <message>
            <source>These pages are pictures without text, which were not read: {pages}.</source>
            <translation>Diese Seiten sind Bilder ohne Text und wurden nicht gelesen: {pages}.</translation>
        </message>
        <message>
            <source>it has no page {page}</source>
            <translation>sie hat keine Seite {page}</translation>
        </message>
        <message>
            <source>its pages are pictures without text: a model that sees could read them as pictures</source>
            <translation>ihre Seiten sind Bilder ohne Text: ein Modell, das sieht, könnte sie als Bilder lesen</translation>
        </message>
        <message>
            <source>it is neither text nor a kind of document that can be read</source>
            <translation>sie ist weder Text noch eine Art von Dokument, die gelesen werden kann</translation>
        </message>
        <message>
            <source>its text is in no known encoding</source>
            <translation>ihr Text hat keine bekannte Kodierung</translation>
        </message>
        <message>
            <source>The sheets from {name} on were left out: there is too much.</source>
            <translation>Die Tabellenblätter ab {name} wurden weggelassen: Es ist zu viel.</translation>
        </message>
        <message>
            <source>Of {name} the first {count:,} rows were read.</source>
            <translation>Von {name} wurden die ersten {count:,} Zeilen gelesen.</translation>
        </message>
        <message>
            <source>Cannot read a picture: {reason}.</source>
            <translation>Ein Bild lässt sich nicht lesen: {reason}.</translation>
        </message>
        <message>
            <source>Pictures are not fetched: send the picture itself, as data:image/png;base64,… in its address.</source>
            <translation>Bilder werden nicht geholt: Senden Sie das Bild selbst, als data:image/png;base64,… in seiner Adresse.</translation>
        </message>
        <message>
            <source>A picture is larger than {count} MiB: make it smaller.</source>
            <translation>Ein Bild ist größer als {count} MiB: Verkleinern Sie es.</translation>
        </message>
        <message>
            <source>A picture's address is no valid base64.</source>
            <translation>Die Adresse eines Bildes ist kein gültiges Base64.</translation>
        </message>
        <message>
            <source>it is not a file</source>
            <translation>das ist keine Datei</translation>
        </message>
        <message>
            <source>what reads it is not installed: install the extra “documents”</source>
            <translation>was sie liest, ist nicht installiert: installieren Sie das Extra „documents“</translation>
        </message>
        <message>
            <source>A draft with another tokenizer proposes chains only, no trees.</source>
            <translation>Ein Entwurf mit anderem Tokenizer schlägt nur Ketten vor, keine Bäume.</translation>
        </message>
        <message>
            <source>{name} verifies chains only: no trees are proposed.</source>
            <translation>{name} prüft nur Ketten: Es werden keine Bäume vorgeschlagen.</translation>
        </message>
        <message>
            <source>No {what} model is loaded. Choose one first.</source>
            <translation>Es ist kein Modell ({what}) geladen. Wählen Sie zuerst eines.</translation>
        </message>
        <message>
            <source>No draft heads are loaded. Choose some first.</source>
            <translation>Es sind keine Entwurfsköpfe geladen. Wählen Sie zuerst welche.</translation>
        </message>
        <message>
            <source>Cannot load {name}: {reason}</source>
            <translation>{name} kann nicht geladen werden: {reason}</translation>
        </message>
        <message>
            <source>{count:,} bytes</source>
            <translation>{count:,} Bytes</translation>
        </message>
        <message>
            <source>the file is incomplete: {amount} are missing. Download or copy it again.</source>
            <translation>die Datei ist unvollständig: {amount} fehlen. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>it needs about {needed:.1f} GiB of memory, but only {available:.1f} GiB are free. Choose a smaller model or quantisation, a shorter context, or close other programs.</source>
            <translation>es braucht etwa {needed:.1f} GiB Arbeitsspeicher, aber nur {available:.1f} GiB sind frei. Wählen Sie ein kleineres Modell, eine kleinere Quantisierung oder einen kürzeren Kontext, oder schließen Sie andere Programme.</translation>
        </message>
        <message>
            <source>it needs about {needed:.1f} GiB of the graphics card's memory, but only {available:.1f} GiB are free. Give it fewer layers (GPU layers), or choose a shorter context or a smaller model.</source>
            <translation>es braucht etwa {needed:.1f} GiB vom Speicher der Grafikkarte, aber nur {available:.1f} GiB sind frei. Geben Sie ihr weniger Schichten (GPU-Schichten), oder wählen Sie einen kürzeren Kontext oder ein kleineres Modell.</translation>
        </message>
        <message>
            <source>Cannot read the folder {path}: {reason}. Choose another folder.</source>
            <translation>Der Ordner {path} kann nicht gelesen werden: {reason}. Wählen Sie einen anderen.</translation>
        </message>
        <message>
            <source>{draft} cannot draft for {target}: {reason}</source>
            <translation>{draft} kann nicht Entwurfsmodell für {target} sein: {reason}</translation>
        </message>
        <message>
            <source>Unknown method {method!r}. Known: {known}.</source>
            <translation>Unbekanntes Verfahren {method!r}. Bekannt: {known}.</translation>
        </message>
        <message>
            <source>{what} is not available: {advice}</source>
            <translation>{what} ist nicht verfügbar: {advice}</translation>
        </message>
        <message>
            <source>Lookahead must be a whole number from 0 to 32, 'adaptive' or 'auto', not {value!r}.</source>
            <translation>Die Vorausschau muss eine ganze Zahl von 0 bis 32, 'adaptive' oder 'auto' sein, nicht {value!r}.</translation>
        </message>
        <message>
            <source>{parameter} must be {allowed}, not {value!r}.</source>
            <translation>{parameter}: Erlaubt ist {allowed}, nicht {value!r}.</translation>
        </message>
        <message>
            <source>The prompt has {needed} tokens, but the context holds only {available}. Shorten it, start a new chat, or load the model with a longer context.</source>
            <translation>Der Prompt hat {needed} Tokens, aber der Kontext fasst nur {available}. Kürzen Sie ihn, beginnen Sie einen neuen Chat oder laden Sie das Modell mit einem längeren Kontext.</translation>
        </message>
        <message>
            <source>Token id {token} is not in the vocabulary (0 to {last}).</source>
            <translation>Token-Nummer {token} ist nicht im Vokabular (0 bis {last}).</translation>
        </message>
        <message>
            <source>more than one character</source>
            <translation>mehr als ein Zeichen</translation>
        </message>
        <message>
            <source>This model's vocabulary has no token for {character!r} ({name}). Leave it out of the prompt, or choose another model.</source>
            <translation>Das Vokabular dieses Modells hat kein Token für {character!r} ({name}). Lassen Sie es im Prompt weg oder wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <source>The model's chat template failed: {reason}. Send plain text (--raw) or choose another model.</source>
            <translation>Die Chatvorlage des Modells ist fehlgeschlagen: {reason}. Senden Sie einfachen Text (--raw) oder wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <source> at position {position}</source>
            <translation> an Position {position}</translation>
        </message>
        <message>
            <source>The model returned no usable distribution{where}: {reason}. The file may be damaged.</source>
            <translation>Das Modell lieferte{where} keine brauchbare Verteilung: {reason}. Vielleicht ist die Datei beschädigt.</translation>
        </message>
        <message>
            <source>This model's cache cannot be rewound from {current} to {length} tokens.</source>
            <translation>Der Cache dieses Modells kann nicht von {current} auf {length} Tokens zurückgesetzt werden.</translation>
        </message>
        <message>
            <source>The model could not be run{where}: {what}.</source>
            <translation>Das Modell konnte{where} nicht ausgeführt werden: {what}.</translation>
        </message>
        <message>
            <source>it was closed</source>
            <translation>es wurde geschlossen</translation>
        </message>
        <message>
            <source>Cannot read {name}: {reason}.</source>
            <translation>{name} kann nicht gelesen werden: {reason}.</translation>
        </message>
        <message>
            <source>{folder} has another {name}: there is a newer file at the hub, or it is a different one. Take the hub's in its place, or choose another folder.</source>
            <translation>In {folder} liegt eine andere {name}: Am Hub gibt es eine neuere Datei, oder es ist eine andere. Nehmen Sie stattdessen die vom Hub, oder wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <source>The request</source>
            <translation>Die Anfrage</translation>
        </message>
        <message>
            <source>{what} was cancelled.</source>
            <translation>{what} wurde abgebrochen.</translation>
        </message>
        <message>
            <source>it reads the cache of a Gemma 4, and this target is none</source>
            <translation>er liest den Cache eines Gemma 4, und dieses Zielmodell ist keines</translation>
        </message>
        <message>
            <source>it was trained for a target of width {theirs}, and this one has {ours}</source>
            <translation>er wurde für ein Zielmodell der Breite {theirs} trainiert, dieses hat {ours}</translation>
        </message>
        <message>
            <source>it reads keys of another shape than those in the cache of this target</source>
            <translation>er liest Schlüssel von anderer Form als die im Cache dieses Zielmodells</translation>
        </message>
        <message>
            <source>it stands behind {theirs} layers, and this target has {layers}</source>
            <translation>er steht hinter {theirs} Schichten, dieses Zielmodell hat {layers}</translation>
        </message>
        <message>
            <source>it reads layer {layer} of its target, and this one has {layers}</source>
            <translation>er liest Schicht {layer} seines Zielmodells, dieses hat {layers}</translation>
        </message>
        <message>
            <source>llama.cpp cannot read layer {layer} of such a target</source>
            <translation>llama.cpp kann Schicht {layer} eines solchen Zielmodells nicht lesen</translation>
        </message>
        <message>
            <source>its header does not say which keys of the target its layers read.</source>
            <translation>ihr Kopfteil sagt nicht, welche Schlüssel des Zielmodells ihre Schichten lesen.</translation>
        </message>
        <message>
            <source>the header entry {name!r} has the invalid value {content}.</source>
            <translation>der Kopfeintrag {name!r} hat den ungültigen Wert {content}.</translation>
        </message>
        <message>
            <source>its header does not name the model architecture.</source>
            <translation>ihr Kopf nennt die Modellarchitektur nicht.</translation>
        </message>
        <message>
            <source>contains only a tokenizer, no model weights.</source>
            <translation>enthält nur einen Tokenizer, keine Modellgewichte.</translation>
        </message>
        <message>
            <source>its header lacks {name!r}.</source>
            <translation>ihrem Kopf fehlt {name!r}.</translation>
        </message>
        <message>
            <source>the header entry {name!r} must be a number.</source>
            <translation>der Kopfeintrag {name!r} muss eine Zahl sein.</translation>
        </message>
        <message>
            <source>the header entry {name!r} is not a list of numbers.</source>
            <translation>der Kopfeintrag {name!r} ist keine Liste von Zahlen.</translation>
        </message>
        <message>
            <source>the header entry {name!r} must have one number per layer.</source>
            <translation>der Kopfeintrag {name!r} muss eine Zahl je Schicht haben.</translation>
        </message>
        <message>
            <source>the header entry {name!r} has invalid numbers.</source>
            <translation>der Kopfeintrag {name!r} hat ungültige Zahlen.</translation>
        </message>
        <message>
            <source>the header entry {key!r} has the wrong type.</source>
            <translation>der Kopfeintrag {key!r} hat den falschen Typ.</translation>
        </message>
        <message>
            <source>the header entry {name!r} is not a number.</source>
            <translation>der Kopfeintrag {name!r} ist keine Zahl.</translation>
        </message>
        <message>
            <source>its width of {width} is not a multiple of its head size {head}.</source>
            <translation>ihre Breite von {width} ist kein Vielfaches ihrer Head-Größe {head}.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is not a number.</source>
            <translation>der Kopfeintrag {key!r} ist keine Zahl.</translation>
        </message>
        <message>
            <source>the header entry {key!r} has the invalid value {content:g}.</source>
            <translation>der Kopfeintrag {key!r} hat den ungültigen Wert {content:g}.</translation>
        </message>
        <message>
            <source>its {ours} attention heads cannot share {theirs} key-value heads.</source>
            <translation>ihre {ours} Attention-Heads können sich nicht {theirs} Key-Value-Heads teilen.</translation>
        </message>
        <message>
            <source>its width of {width} cannot be divided among {first} heads.</source>
            <translation>ihre Breite von {width} lässt sich nicht auf {first} Heads aufteilen.</translation>
        </message>
        <message>
            <source>its heads are {width} wide, but RoPE would rotate {rotated} dimensions.</source>
            <translation>ihre Heads sind {width} breit, aber RoPE würde {rotated} Dimensionen drehen.</translation>
        </message>
        <message>
            <source>its RoPE scaling {content!r} is unknown.</source>
            <translation>ihre RoPE-Skalierung {content!r} ist unbekannt.</translation>
        </message>
        <message>
            <source>its RoPE base {content!r} is invalid.</source>
            <translation>ihre RoPE-Basis {content!r} ist ungültig.</translation>
        </message>
        <message>
            <source>its RoPE scaling factor {content!r} is invalid.</source>
            <translation>ihr RoPE-Skalierungsfaktor {content!r} ist ungültig.</translation>
        </message>
        <message>
            <source>it claims to use {used} of {count} experts.</source>
            <translation>sie gibt an, {used} von {count} Experten zu verwenden.</translation>
        </message>
        <message>
            <source>its {count} experts cannot be divided into {groups} groups.</source>
            <translation>ihre {count} Experten lassen sich nicht in {groups} Gruppen aufteilen.</translation>
        </message>
        <message>
            <source>it claims to use {used_groups} of {groups} groups of experts.</source>
            <translation>sie gibt an, {used_groups} von {groups} Expertengruppen zu verwenden.</translation>
        </message>
        <message>
            <source>its header does not name the tokenizer type.</source>
            <translation>ihr Kopf nennt den Tokenizer-Typ nicht.</translation>
        </message>
        <message>
            <source>it has no vocabulary. Convert the model again.</source>
            <translation>sie hat kein Vokabular. Wandeln Sie das Modell noch einmal um.</translation>
        </message>
        <message>
            <source>it is an embedding model, which does not generate text.</source>
            <translation>es ist ein Embedding-Modell, das keinen Text erzeugt.</translation>
        </message>
        <message>
            <source>its tokenizer {tokenizer!r} is unknown.</source>
            <translation>ihr Tokenizer {tokenizer!r} ist unbekannt.</translation>
        </message>
        <message>
            <source>its vocabulary is missing.</source>
            <translation>ihr Vokabular fehlt.</translation>
        </message>
        <message>
            <source>a token occurs twice in its vocabulary.</source>
            <translation>ein Token steht zweimal in ihrem Vokabular.</translation>
        </message>
        <message>
            <source>its vocabulary has tokens that are not valid text.</source>
            <translation>ihr Vokabular hat Tokens, die kein gültiger Text sind.</translation>
        </message>
        <message>
            <source>the header entry {key!r} does not match the {count} tokens of the vocabulary.</source>
            <translation>der Kopfeintrag {key!r} passt nicht zu den {count} Tokens des Vokabulars.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is damaged.</source>
            <translation>der Kopfeintrag {key!r} ist beschädigt.</translation>
        </message>
        <message>
            <source>its vocabulary lacks the merges that its tokenizer needs.</source>
            <translation>ihrem Vokabular fehlen die Merges, die ihr Tokenizer braucht.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is not a list of strings.</source>
            <translation>der Kopfeintrag {key!r} ist keine Liste von Zeichenketten.</translation>
        </message>
        <message>
            <source>the merges of its vocabulary are not valid text.</source>
            <translation>die Merges ihres Vokabulars sind kein gültiger Text.</translation>
        </message>
        <message>
            <source>its vocabulary lacks single bytes that its tokenizer needs.</source>
            <translation>ihrem Vokabular fehlen einzelne Bytes, die ihr Tokenizer braucht.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is not a token id.</source>
            <translation>der Kopfeintrag {key!r} ist keine Token-Nummer.</translation>
        </message>
        <message>
            <source>{key!r} is {content}, but the vocabulary has {count} tokens.</source>
            <translation>{key!r} ist {content}, aber das Vokabular hat {count} Tokens.</translation>
        </message>
        <message>
            <source>the tensor {name!r} cannot be stored as {stored}.</source>
            <translation>der Tensor {name!r} kann nicht als {stored} gespeichert sein.</translation>
        </message>
        <message>
            <source>it lacks the tensor 'token_embd.weight'.</source>
            <translation>ihr fehlt der Tensor 'token_embd.weight'.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the shape {shape}, but its header says {told}.</source>
            <translation>der Tensor {name!r} hat die Form {shape}, nicht {told}, wie der Kopf angibt.</translation>
        </message>
        <message>
            <source>the tensor 'output_norm.weight' does not have {width} elements.</source>
            <translation>der Tensor 'output_norm.weight' hat nicht {width} Elemente.</translation>
        </message>
        <message>
            <source>an EAGLE-3 head has one layer, this one {count}.</source>
            <translation>ein EAGLE-3-Kopf hat eine Schicht, dieser {count}.</translation>
        </message>
        <message>
            <source>its header does not name the three layers of the target that it reads.</source>
            <translation>ihr Kopfteil nennt die drei Schichten des Zielmodells nicht, die sie liest.</translation>
        </message>
        <message>
            <source>its keys are {key} wide and its values {value}.</source>
            <translation>ihre Schlüssel sind {key} breit und ihre Werte {value}.</translation>
        </message>
        <message>
            <source>heads of the kind {kind} cannot be used yet.</source>
            <translation>Köpfe der Art {kind} können noch nicht verwendet werden.</translation>
        </message>
        <message>
            <source>its header does not name the layers of the target that it reads.</source>
            <translation>ihr Kopfteil nennt die Schichten des Zielmodells nicht, die sie liest.</translation>
        </message>
        <message>
            <source>its header names no mask token.</source>
            <translation>ihr Kopfteil nennt kein Masken-Token.</translation>
        </message>
        <message>
            <source>it has no draft heads.</source>
            <translation>sie hat keine Entwurfsköpfe.</translation>
        </message>
        <message>
            <source>MTP layers of the architecture {kind} cannot be used yet.</source>
            <translation>MTP-Schichten der Architektur {kind} können noch nicht verwendet werden.</translation>
        </message>
        <message>
            <source>llama.cpp loads the MTP layers of {kind}, but never runs them.</source>
            <translation>llama.cpp lädt die MTP-Schichten von {kind}, führt sie aber nie aus.</translation>
        </message>
        <message>
            <source>it lacks the tensor {name!r} and all others of the layer for later tokens (MTP) that its header tells of.</source>
            <translation>ihr fehlen der Tensor {name!r} und alle anderen der Schicht für spätere Tokens (MTP), von der ihr Kopf spricht.</translation>
        </message>
        <message>
            <source>it is a diffusion model</source>
            <translation>es ist ein Diffusionsmodell</translation>
        </message>
        <message>
            <source>it generates audio, not text</source>
            <translation>es erzeugt Audio, keinen Text</translation>
        </message>
        <message>
            <source>it is an encoder-decoder model</source>
            <translation>es ist ein Encoder-Decoder-Modell</translation>
        </message>
        <message>
            <source>It is a draft head that cannot be used: {reason}</source>
            <translation>Es ist ein Entwurfskopf, der nicht verwendet werden kann: {reason}</translation>
        </message>
        <message>
            <source>It contains {kind} data, not a model.</source>
            <translation>Sie enthält Daten der Art {kind}, kein Modell.</translation>
        </message>
        <message>
            <source>It does not generate text token by token: {why}.</source>
            <translation>Es erzeugt Text nicht Token für Token: {why}.</translation>
        </message>
        <message>
            <source>it lacks the tensor {name!r} of the MTP layers that its header names, and llama.cpp cannot load it without.</source>
            <translation>ihr fehlt der Tensor {name!r} der Schichten für spätere Tokens (MTP), von denen ihr Kopf spricht, und ohne ihn kann llama.cpp sie nicht laden.</translation>
        </message>
        <message>
            <source>it is part {part} of {parts}. Choose the first part.</source>
            <translation>sie ist Teil {part} von {parts}. Wählen Sie den ersten Teil.</translation>
        </message>
        <message>
            <source>it is part {part} of {parts}, and the first part is missing.</source>
            <translation>sie ist Teil {part} von {parts}, und der erste Teil fehlt.</translation>
        </message>
        <message>
            <source>it is part {part} of {parts}, but its name does not say so, so the other parts cannot be found. Give all parts their original names.</source>
            <translation>sie ist Teil {part} von {parts}, aber ihr Name sagt das nicht, daher werden die anderen Teile nicht gefunden. Geben Sie allen Teilen ihre ursprünglichen Namen.</translation>
        </message>
        <message>
            <source>its parts do not belong together. Download or copy all of them again.</source>
            <translation>ihre Teile gehören nicht zusammen. Laden oder kopieren Sie alle noch einmal.</translation>
        </message>
        <message>
            <source>the file is incomplete: it ends within its header. Download or copy it again.</source>
            <translation>die Datei ist unvollständig: Sie endet in ihrem Kopf. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>it is not a file.</source>
            <translation>das ist keine Datei.</translation>
        </message>
        <message>
            <source>there is no such file.</source>
            <translation>diese Datei gibt es nicht.</translation>
        </message>
        <message>
            <source>Outrider has no permission to read it. Change its permissions.</source>
            <translation>Outrider hat keine Leseberechtigung. Ändern Sie die Zugriffsrechte.</translation>
        </message>
        <message>
            <source>it cannot be read ({reason}).</source>
            <translation>sie kann nicht gelesen werden ({reason}).</translation>
        </message>
        <message>
            <source>its header claims an impossible number of tensors ({tensor_count}) or entries ({value_count}).</source>
            <translation>ihr Kopf gibt eine unmögliche Zahl von Tensoren ({tensor_count}) oder Einträgen ({value_count}) an.</translation>
        </message>
        <message>
            <source>the header entry {key!r} occurs twice.</source>
            <translation>der Kopfeintrag {key!r} kommt zweimal vor.</translation>
        </message>
        <message>
            <source>it is empty. Download or copy it again.</source>
            <translation>sie ist leer. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>it is not a GGUF file.</source>
            <translation>das ist keine GGUF-Datei.</translation>
        </message>
        <message>
            <source>it has version 1 of the GGUF format. Convert the model again.</source>
            <translation>sie hat Version 1 des GGUF-Formats. Wandeln Sie das Modell noch einmal um.</translation>
        </message>
        <message>
            <source>it was written for big-endian machines. Convert the model again.</source>
            <translation>sie wurde für Big-Endian-Rechner geschrieben. Wandeln Sie das Modell noch einmal um.</translation>
        </message>
        <message>
            <source>its header claims version {version} of the GGUF format, which this version of Outrider does not know.</source>
            <translation>ihr Kopf nennt Version {version} des GGUF-Formats, die diese Version von Outrider nicht kennt.</translation>
        </message>
        <message>
            <source>its header is larger than that of any model.</source>
            <translation>ihr Kopf ist größer als der jedes Modells.</translation>
        </message>
        <message>
            <source>the name of {what} in its header is damaged.</source>
            <translation>der Name von {what} in ihrem Kopf ist beschädigt.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is not valid text.</source>
            <translation>der Kopfeintrag {key!r} ist kein gültiger Text.</translation>
        </message>
        <message>
            <source>the header entry {key!r} has the unknown type {kind}.</source>
            <translation>der Kopfeintrag {key!r} hat den unbekannten Typ {kind}.</translation>
        </message>
        <message>
            <source>the header entry {key!r} claims an impossible number of strings ({count}).</source>
            <translation>der Kopfeintrag {key!r} gibt eine unmögliche Zahl von Zeichenketten ({count}) an.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is a list of the unknown type {kind}.</source>
            <translation>der Kopfeintrag {key!r} ist eine Liste vom unbekannten Typ {kind}.</translation>
        </message>
        <message>
            <source>the name of the tensor {name!r} is too long.</source>
            <translation>der Name des Tensors {name!r} ist zu lang.</translation>
        </message>
        <message>
            <source>the tensor {name!r} claims an impossible number of dimensions ({dimensions}).</source>
            <translation>der Tensor {name!r} gibt eine unmögliche Zahl von Dimensionen ({dimensions}) an.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the unknown type {kind}.</source>
            <translation>der Tensor {name!r} hat den unbekannten Typ {kind}.</translation>
        </message>
        <message>
            <source>the tensor {name!r} claims the impossible shape {shape}.</source>
            <translation>der Tensor {name!r} gibt die unmögliche Form {shape} an.</translation>
        </message>
        <message>
            <source>the rows of the tensor {name!r} do not divide into whole {layout} blocks.</source>
            <translation>die Zeilen des Tensors {name!r} lassen sich nicht in ganze {layout}-Blöcke teilen.</translation>
        </message>
        <message>
            <source>its alignment is not a number.</source>
            <translation>ihre Ausrichtung ist keine Zahl.</translation>
        </message>
        <message>
            <source>its alignment is {alignment}, which is not a power of two.</source>
            <translation>ihre Ausrichtung ist {alignment}, also keine Zweierpotenz.</translation>
        </message>
        <message>
            <source>the tensor {name!r} occurs twice.</source>
            <translation>der Tensor {name!r} kommt zweimal vor.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the wrong offset.</source>
            <translation>der Tensor {name!r} hat den falschen Offset.</translation>
        </message>
        <message>
            <source>It is the vision part of a model (a projector), which does not generate text.</source>
            <translation>Es ist der Bildteil eines Modells (ein Projektor), der keinen Text erzeugt.</translation>
        </message>
        <message>
            <source>It is an embedding model, which does not generate text.</source>
            <translation>Es ist ein Embedding-Modell, das keinen Text erzeugt.</translation>
        </message>
        <message>
            <source>It is a draft head for a target, not a model of its own.</source>
            <translation>Es ist ein Draft-Head für ein Zielmodell, kein eigenständiges Modell.</translation>
        </message>
        <message>
            <source>It is an adapter (LoRA) for a model, not a model of its own.</source>
            <translation>Es ist ein Adapter (LoRA) für ein Modell, kein eigenständiges Modell.</translation>
        </message>
        <message>
            <source>it is pickled, and reading such files can run code. Convert it: outrider-engine convert-head {file} {name}.safetensors</source>
            <translation>sie ist mit Pickle geschrieben, und solche Dateien zu lesen kann Code ausführen. Wandeln Sie sie um: outrider-engine convert-head {file} {name}.safetensors</translation>
        </message>
        <message>
            <source>heads with the activation {name!r} cannot be used yet.</source>
            <translation>Köpfe mit der Aktivierung {name!r} können noch nicht verwendet werden.</translation>
        </message>
        <message>
            <source>it has the tensor {name!r}, which is in no EAGLE-2 head.</source>
            <translation>sie hat den Tensor {name!r}, den kein EAGLE-2-Kopf hat.</translation>
        </message>
        <message>
            <source>its config.json has no valid {key!r}.</source>
            <translation>in seiner config.json fehlt ein gültiges {key!r}.</translation>
        </message>
        <message>
            <source>It is an encoder-decoder model, which does not continue a text.</source>
            <translation>Es ist ein Encoder-Decoder-Modell, das keinen Text fortsetzt.</translation>
        </message>
        <message>
            <source>It is an image or audio model, which does not generate text.</source>
            <translation>Es ist ein Bild- oder Audiomodell, das keinen Text erzeugt.</translation>
        </message>
        <message>
            <source>Its config.json does not name the model type, so it cannot be used as a language model.</source>
            <translation>Seine config.json nennt den Modelltyp nicht, daher ist es nicht als Sprachmodell verwendbar.</translation>
        </message>
        <message>
            <source>It is a {classes}, which has no output layer for text.</source>
            <translation>Es ist ein {classes} ohne Ausgabeschicht für Text.</translation>
        </message>
        <message>
            <source>its config.json names MTP layers, but its files lack them.</source>
            <translation>seine config.json nennt Schichten für spätere Tokens (MTP), aber in seinen Dateien fehlen sie.</translation>
        </message>
        <message>
            <source>its MTP layers are quantised ({dtype}), which cannot be used yet.</source>
            <translation>seine Schichten für spätere Tokens (MTP) sind quantisiert ({dtype}); solche können noch nicht verwendet werden.</translation>
        </message>
        <message>
            <source>its part {part} lacks the tensor {name!r}. Download the model again.</source>
            <translation>seinem Teil {part} fehlt der Tensor {name!r}. Laden Sie das Modell noch einmal.</translation>
        </message>
        <message>
            <source>its files have no tensors.</source>
            <translation>seine Dateien haben keine Tensoren.</translation>
        </message>
        <message>
            <source>there is no such file. Download the model again.</source>
            <translation>diese Datei gibt es nicht. Laden Sie das Modell noch einmal.</translation>
        </message>
        <message>
            <source>it is not a JSON file of a model.</source>
            <translation>das ist keine JSON-Datei eines Modells.</translation>
        </message>
        <message>
            <source>it is not valid JSON. Download or copy it again.</source>
            <translation>das ist kein gültiges JSON. Laden oder kopieren Sie die Datei noch einmal.</translation>
        </message>
        <message>
            <source>it is not a JSON object. Download or copy it again.</source>
            <translation>das ist kein JSON-Objekt. Laden oder kopieren Sie die Datei noch einmal.</translation>
        </message>
        <message>
            <source>its weights are pickled ({pickled}), and reading such files can run code. Convert them to safetensors, or download a safetensors version.</source>
            <translation>seine Gewichte sind mit pickle gespeichert ({pickled}), und das Lesen solcher Dateien kann Code ausführen. Wandeln Sie sie in safetensors um oder laden Sie eine safetensors-Fassung herunter.</translation>
        </message>
        <message>
            <source>it is an adapter for a model, not a model of its own.</source>
            <translation>es ist ein Adapter für ein Modell, kein eigenständiges Modell.</translation>
        </message>
        <message>
            <source>its weights are in several files, but {index}, which lists them, is missing.</source>
            <translation>seine Gewichte liegen in mehreren Dateien, aber {index} mit deren Liste fehlt.</translation>
        </message>
        <message>
            <source>its weights ({other}) do not have the names that transformers expects: {single} or {index}.</source>
            <translation>seine Gewichte ({other}) haben nicht die Namen, die transformers erwartet: {single} oder {index}.</translation>
        </message>
        <message>
            <source>it has no weights: there is neither {single} nor {index}.</source>
            <translation>es hat keine Gewichte: Es gibt weder {single} noch {index}.</translation>
        </message>
        <message>
            <source>it does not say where the tensors are. Download or copy it again.</source>
            <translation>sie sagt nicht, wo die Tensoren sind. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>it names {name!r}, which is not a safetensors file in the folder.</source>
            <translation>sie nennt {name!r}, das keine safetensors-Datei in diesem Ordner ist.</translation>
        </message>
        <message>
            <source>it names more files and tensors than any model has.</source>
            <translation>sie nennt mehr Dateien und Tensoren, als ein Modell haben kann.</translation>
        </message>
        <message>
            <source>it is not a safetensors file. Download or copy it again.</source>
            <translation>das ist keine safetensors-Datei. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>its header is damaged. Download or copy it again.</source>
            <translation>ihr Kopf ist beschädigt. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>its header claims an impossible number of tensors ({header}).</source>
            <translation>ihr Kopf gibt eine unmögliche Zahl von Tensoren ({header}) an.</translation>
        </message>
        <message>
            <source>its header is damaged at the tensor {name!r}. Download or copy it again.</source>
            <translation>ihr Kopf ist beim Tensor {name!r} beschädigt. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>its tensor {name!r} has the unknown number format {dtype!r}.</source>
            <translation>ihr Tensor {name!r} hat das unbekannte Zahlenformat {dtype!r}.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has {count} bytes, which does not match its shape {shape}. Download or copy it again.</source>
            <translation>der Tensor {name!r} hat {count} Bytes, was nicht zu seiner Form {shape} passt. Laden oder kopieren Sie die Datei noch einmal.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the wrong offset. Download or copy it again.</source>
            <translation>der Tensor {name!r} hat den falschen Offset. Laden oder kopieren Sie die Datei noch einmal.</translation>
        </message>
        <message>
            <source>it has {count} extra bytes after its tensors. Download or copy it again.</source>
            <translation>sie hat {count} überzählige Bytes nach ihren Tensoren. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>heads with RoPE scaling {kind!r} cannot be used yet.</source>
            <translation>Köpfe mit der RoPE-Skalierung {kind!r} können noch nicht verwendet werden.</translation>
        </message>
        <message>
            <source>its tensor {name!r} is stored as {dtype}, which cannot be used here.</source>
            <translation>sein Tensor {name!r} ist als {dtype} gespeichert; das kann hier nicht verwendet werden.</translation>
        </message>
        <message>
            <source>the reply ended without a result</source>
            <translation>die Antwort endete ohne Ergebnis</translation>
        </message>
        <message>
            <source>The model {name} cannot fill gaps: it has no tokens for them. Choose another.</source>
            <translation>Das Modell {name} kann keine Lücken füllen: Es hat keine Tokens dafür. Wählen Sie ein anderes.</translation>
        </message>
        <message>
            <source>Halves of characters (lone surrogates) in the prompt were read as question marks.</source>
            <translation>Halbe Zeichen (einzelne Surrogate) im Prompt wurden als Fragezeichen gelesen.</translation>
        </message>
        <message>
            <source>Parts of messages that are no text were left out: this model does not read them.</source>
            <translation>Teile von Nachrichten, die kein Text sind, wurden ausgelassen: Dieses Modell liest sie nicht.</translation>
        </message>
        <message>
            <source>The prompt has no tokens: it must have some text.</source>
            <translation>Der Prompt hat keine Tokens: Er muss Text haben.</translation>
        </message>
        <message>
            <source>The prompt ends with a picture: write something behind it.</source>
            <translation>Der Prompt endet mit einem Bild: Schreiben Sie etwas dahinter.</translation>
        </message>
        <message>
            <source>Trees are chosen by cost only where the lookahead is too. Omit the lookahead, or name a size.</source>
            <translation>Bäume werden nur dort nach Kosten gewählt, wo es auch die Vorausschau wird. Lassen Sie die Vorausschau weg, oder nennen Sie eine Größe.</translation>
        </message>
        <message>
            <source>{name} cannot draft behind a picture.</source>
            <translation>{name} kann hinter einem Bild keine Entwürfe machen.</translation>
        </message>
        <message>
            <source>The method {method}</source>
            <translation>Das Verfahren {method}</translation>
        </message>
        <message>
            <source>it is planned for a later version. Use another one.</source>
            <translation>sie ist für eine spätere Version geplant. Verwenden Sie eine andere.</translation>
        </message>
        <message>
            <source>The method {method} cannot be combined with the sources {sources}. Omit one of them.</source>
            <translation>Das Verfahren {method} lässt sich nicht mit den Quellen {sources} kombinieren. Lassen Sie eines davon weg.</translation>
        </message>
        <message>
            <source>The method {method} needs other heads: those of {name} are for {theirs}.</source>
            <translation>Die Methode {method} braucht andere Köpfe: die von {name} sind für {theirs}.</translation>
        </message>
        <message>
            <source>{repository} has no {name} any more.</source>
            <translation>{repository} enthält {name} nicht mehr.</translation>
        </message>
        <message>
            <source>{first} cannot be reached; {second} was asked.</source>
            <translation>{first} ist nicht zu erreichen; {second} wurde gefragt.</translation>
        </message>
        <message>
            <source>MODELSCOPE_DOMAIN is no address: {address!r}.</source>
            <translation>MODELSCOPE_DOMAIN ist keine Adresse: {address!r}.</translation>
        </message>
        <message>
            <source>search</source>
            <translation>Suche</translation>
        </message>
        <message>
            <source>HF_ENDPOINT is no address: {address!r}.</source>
            <translation>HF_ENDPOINT ist keine Adresse: {address!r}.</translation>
        </message>
        <message>
            <source>{revision!r} is no revision.</source>
            <translation>{revision!r} ist keine Revision.</translation>
        </message>
        <message>
            <source>{name!r} is no name of a repository. Write it like OWNER/NAME or OWNER/NAME:Q4_K_M.</source>
            <translation>{name!r} ist kein Name eines Repositorys. Schreiben Sie ihn wie OWNER/NAME oder OWNER/NAME:Q4_K_M.</translation>
        </message>
        <message>
            <source>The server names a file {name!r}, which is no name for a file here. It is left out.</source>
            <translation>Der Server nennt eine Datei {name!r}; so kann hier keine Datei heißen. Sie wird ausgelassen.</translation>
        </message>
        <message>
            <source>{folder} has another {name}. Move it away, or choose another folder.</source>
            <translation>{folder} enthält ein anderes {name}. Verschieben Sie es, oder wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <source>The certificates in the settings of pip cannot be read: {reason}.</source>
            <translation>Die Zertifikate, die pip genannt sind, können nicht gelesen werden: {reason}.</translation>
        </message>
        <message>
            <source>No Python package index has {package}. It is found where pip finds its packages.</source>
            <translation>Kein Python-Paketindex hat {package}. Gesucht wird, wo pip seine Pakete findet.</translation>
        </message>
        <message>
            <source>{name} came with a wrong checksum and was thrown away. Ask again; if it is wrong again, the package {package} is damaged there.</source>
            <translation>{name} kam mit falscher Prüfsumme an und wurde verworfen. Versuchen Sie es erneut; ist sie wieder falsch, ist das Paket {package} dort beschädigt.</translation>
        </message>
        <message>
            <source>The package {package} does not hold the {name} that we know, so nothing of it was taken.</source>
            <translation>Das Paket {package} enthält nicht das bekannte {name}; es wurde nichts davon genommen.</translation>
        </message>
        <message>
            <source>{folder} has no room: {needed:.1f} MB more are needed, and {free:.1f} MB are free. Make room, or choose another folder.</source>
            <translation>In {folder} ist kein Platz: {needed:.1f} MB werden noch gebraucht, {free:.1f} MB sind frei. Schaffen Sie Platz, oder wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <source>The disk of {folder} is full. The part that came is kept: free space, then ask again.</source>
            <translation>Der Datenträger von {folder} ist voll. Was schon da ist, bleibt: Schaffen Sie Platz, und beginnen Sie erneut, um fortzufahren.</translation>
        </message>
        <message>
            <source>This file is being downloaded into {folder} already, by another program.</source>
            <translation>Diese Datei wird bereits von einem anderen Programm nach {folder} geladen.</translation>
        </message>
        <message>
            <source>Cannot write to {folder}: {reason}. Choose another folder.</source>
            <translation>In {folder} kann nicht geschrieben werden: {reason}. Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <source>The folder {folder} is gone. Choose another one, or ask again when it is back.</source>
            <translation>Der Ordner {folder} ist nicht mehr da. Wählen Sie einen anderen, oder versuchen Sie es erneut, wenn er wieder da ist.</translation>
        </message>
        <message>
            <source>There is no connection to {server}: its name is not known. Check the network; everything that is on this machine works without it.</source>
            <translation>Es gibt keine Verbindung zu {server}: Der Name ist unbekannt. Prüfen Sie das Netzwerk; alles, was auf diesem Computer ist, funktioniert auch ohne.</translation>
        </message>
        <message>
            <source>{server} does not answer. Check the network, and ask again to go on.</source>
            <translation>{server} antwortet nicht. Prüfen Sie das Netzwerk, und versuchen Sie es erneut, um fortzufahren.</translation>
        </message>
        <message>
            <source>The proxy refuses the connection to {server} ({reason}). Check the proxy of this system.</source>
            <translation>Der Proxy verweigert die Verbindung zu {server} ({reason}). Prüfen Sie den Proxy dieses Systems.</translation>
        </message>
        <message>
            <source>The connection to {server} fails ({reason}). Check the network, and ask again to go on.</source>
            <translation>Die Verbindung zu {server} scheitert ({reason}). Prüfen Sie das Netzwerk, und versuchen Sie es erneut, um fortzufahren.</translation>
        </message>
        <message>
            <source>{server} keeps breaking off. Ask again to resume.</source>
            <translation>{server} bricht immer wieder mittendrin ab. Versuchen Sie es erneut, um fortzufahren.</translation>
        </message>
        <message>
            <source>Cannot trust {server}: {reason}. Check the address, or name its certificates in SSL_CERT_FILE.</source>
            <translation>{server} ist nicht vertrauenswürdig: {reason}. Prüfen Sie die Adresse, oder nennen Sie die Zertifikate in SSL_CERT_FILE.</translation>
        </message>
        <message>
            <source>{server} is busy ({status}). Ask again later; what came stays.</source>
            <translation>{server} ist ausgelastet ({status}). Versuchen Sie es später erneut; was schon da ist, bleibt.</translation>
        </message>
        <message>
            <source>{server} is busy ({status}). Ask again in {seconds:.0f} s; what came stays.</source>
            <translation>{server} ist ausgelastet ({status}). Versuchen Sie es in {seconds:.0f} s erneut; was schon da ist, bleibt.</translation>
        </message>
        <message>
            <source>{server} leads from one address to another without end.</source>
            <translation>{server} leitet endlos von einer Adresse zur nächsten weiter.</translation>
        </message>
        <message>
            <source>{server} leads to an address that is none.</source>
            <translation>{server} leitet zu einer Adresse weiter, die keine ist.</translation>
        </message>
        <message>
            <source>{server} leads to an address without encryption, which is not followed.</source>
            <translation>{server} leitet zu einer unverschlüsselten Adresse weiter; dem wird nicht gefolgt.</translation>
        </message>
        <message>
            <source>A proxy of the kind {kind} cannot be used. Name an HTTP proxy in HTTPS_PROXY.</source>
            <translation>Ein Proxy der Art {kind} kann nicht benutzt werden. Nennen Sie einen HTTP-Proxy in HTTPS_PROXY.</translation>
        </message>
        <message>
            <source>The answer of {server} cannot be read: it is compressed, which was not asked for.</source>
            <translation>Die Antwort von {server} ist nicht lesbar: Sie ist komprimiert, was nicht verlangt war.</translation>
        </message>
        <message>
            <source>{server} gives no parts of files, so this one cannot be read out of its package.</source>
            <translation>{server} gibt keine Teile von Dateien heraus; so kann diese nicht aus ihrem Paket gelesen werden.</translation>
        </message>
        <message>
            <source>The answer of {server} cannot be read: it is longer than any should be.</source>
            <translation>Die Antwort von {server} ist nicht lesbar: Sie ist länger, als eine sein sollte.</translation>
        </message>
        <message>
            <source>The answer of {server} cannot be read: it is no listing of models. Check the address.</source>
            <translation>Die Antwort von {server} ist nicht lesbar: Sie ist kein Verzeichnis von Modellen. Prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <source>{what} is gated: its authors want to know who takes it. Accept their terms on its page at {server}, and set HF_TOKEN to a token of yours.</source>
            <translation>{what} ist zugangsbeschränkt: Die Autoren möchten wissen, wer es nimmt. Stimmen Sie den Bedingungen auf der Seite bei {server} zu, und setzen Sie HF_TOKEN auf ein Token von Ihnen.</translation>
        </message>
        <message>
            <source>{server} refuses the token for {what}, or there is no {what}.</source>
            <translation>{server} lehnt das Token für {what} ab, oder es gibt {what} nicht.</translation>
        </message>
        <message>
            <source>There is no {what} at {server}, or it wants a token. Check the name; for a token of yours set HF_TOKEN.</source>
            <translation>Bei {server} gibt es {what} nicht, oder es verlangt ein Token. Prüfen Sie den Namen; für ein Token von Ihnen setzen Sie HF_TOKEN.</translation>
        </message>
        <message>
            <source>There is no {what} at {server}. Check the name.</source>
            <translation>Bei {server} gibt es {what} nicht. Prüfen Sie den Namen.</translation>
        </message>
        <message>
            <source>{server} refuses {what} ({status}){words}</source>
            <translation>{server} verweigert {what} ({status}){words}</translation>
        </message>
        <message>
            <source>{name} keeps changing during the download. Try again later.</source>
            <translation>{name} ändert sich beim Herunterladen immer wieder. Versuchen Sie es später erneut.</translation>
        </message>
        <message>
            <source>What {server} sends as {name} is {why}. Nothing was kept.</source>
            <translation>Was {server} als {name} sendet, ist {why}. Nichts wurde behalten.</translation>
        </message>
        <message>
            <source>{name} came with a wrong checksum and was thrown away. Ask again; if it is wrong again, the file at {server} is damaged.</source>
            <translation>{name} kam mit falscher Prüfsumme an und wurde verworfen. Versuchen Sie es erneut; ist sie wieder falsch, ist die Datei bei {server} beschädigt.</translation>
        </message>
        <message>
            <source>{server} says two things of {name}: its listing and the file itself differ. Ask again later.</source>
            <translation>{server} sagt Widersprüchliches über {name}: Verzeichnis und Datei stimmen nicht überein. Versuchen Sie es später erneut.</translation>
        </message>
        <message>
            <source>{name} starts again: the server cannot resume.</source>
            <translation>{name} beginnt von vorn: Der Server kann nicht in der Mitte fortfahren.</translation>
        </message>
        <message>
            <source>{name} has changed at {server} since its download began, so it begins anew.</source>
            <translation>{name} hat sich bei {server} geändert, seit das Herunterladen begann; es beginnt daher von vorn.</translation>
        </message>
        <message>
            <source>a web page, no model</source>
            <translation>eine Webseite, kein Modell</translation>
        </message>
        <message>
            <source>a pointer to the model, not the model</source>
            <translation>ein Verweis auf das Modell, nicht das Modell</translation>
        </message>
        <message>
            <source>no GGUF file</source>
            <translation>keine GGUF-Datei</translation>
        </message>
        <message>
            <source>no safetensors file</source>
            <translation>keine safetensors-Datei</translation>
        </message>
        <message>
            <source>{name!r} is no quantisation.</source>
            <translation>{name!r} ist keine Quantisierung.</translation>
        </message>
        <message>
            <source>{repository} has no {quantisation}. It has: {there}.</source>
            <translation>{repository} enthält kein {quantisation}. Vorhanden: {there}.</translation>
        </message>
        <message>
            <source>{repository} has no model that can be used here: neither GGUF files nor safetensors.</source>
            <translation>{repository} enthält kein Modell, das hier benutzt werden kann: weder GGUF-Dateien noch safetensors.</translation>
        </message>
        <message>
            <source>{repository} has no file {name}. It has: {there}.</source>
            <translation>{repository} enthält keine Datei {name}. Vorhanden: {there}.</translation>
        </message>
        <message>
            <source>{name} cannot be used: {problem}</source>
            <translation>{name} kann nicht verwendet werden: {problem}</translation>
        </message>
        <message>
            <source>it does not generate text.</source>
            <translation>es erzeugt keinen Text.</translation>
        </message>
        <message>
            <source>{name} has no vocabulary of its own.</source>
            <translation>{name} hat kein eigenes Vokabular.</translation>
        </message>
        <message>
            <source>The target's tokens have no text, so proposals cannot be translated.</source>
            <translation>Die Tokens des Zielmodells haben keinen Text, daher lassen sich Vorschläge nicht übersetzen.</translation>
        </message>
        <message>
            <source>The draft's tokens have no text, so proposals cannot be translated.</source>
            <translation>Die Tokens des Entwurfsmodells haben keinen Text, daher lassen sich Vorschläge nicht übersetzen.</translation>
        </message>
        <message>
            <source>Same vocabulary{though}.</source>
            <translation>Gleiches Vokabular{though}.</translation>
        </message>
        <message>
            <source>They have different tokenizers ({target} and {draft}): {difference}, so proposals are translated through text, which is slower.</source>
            <translation>Sie haben verschiedene Tokenizer ({target} und {draft}): {difference}; daher werden Vorschläge über den Text übersetzt, was langsamer ist.</translation>
        </message>
        <message>
            <source>they have different types</source>
            <translation>sie haben verschiedene Typen</translation>
        </message>
        <message>
            <source>most of their tokens stand for different texts</source>
            <translation>die meisten ihrer Tokens stehen für verschiedene Texte</translation>
        </message>
        <message>
            <source>{differing:,} of {compared:,} tokens stand for different texts, the first of them {first}</source>
            <translation>{differing:,} von {compared:,} Tokens stehen für verschiedene Texte, das erste davon ist {first}</translation>
        </message>
        <message>
            <source>the target has {surplus:,} more tokens</source>
            <translation>das Zielmodell hat {surplus:,} Tokens mehr</translation>
        </message>
        <message>
            <source>the draft has {surplus:,} more tokens</source>
            <translation>das Entwurfsmodell hat {surplus:,} Tokens mehr</translation>
        </message>
        <message>
            <source>they have too few tokens in common</source>
            <translation>sie haben zu wenige Tokens gemeinsam</translation>
        </message>
        <message>
            <source>, but the draft expects begin token {used} and gets none</source>
            <translation>, aber das Entwurfsmodell erwartet das Anfangstoken {used} und erhält keines</translation>
        </message>
        <message>
            <source>, but the draft expects begin token {used} and gets token {given}</source>
            <translation>, aber das Entwurfsmodell erwartet das Anfangstoken {used} und erhält Token {given}</translation>
        </message>
        <message>
            <source>{count:,} tokens</source>
            <translation>{count:,} Tokens</translation>
        </message>
        <message>
            <source>{kind} with {count:,} tokens</source>
            <translation>{kind} mit {count:,} Tokens</translation>
        </message>
        <message>
            <source>The draft is the target itself: no speedup.</source>
            <translation>Das Entwurfsmodell ist das Zielmodell selbst: keine Beschleunigung.</translation>
        </message>
        <message>
            <source>The draft is not smaller than the target: no speedup.</source>
            <translation>Das Entwurfsmodell ist nicht kleiner als das Zielmodell: keine Beschleunigung.</translation>
        </message>
        <message>
            <source>The draft is hardly smaller than the target: little or no speedup.</source>
            <translation>Das Entwurfsmodell ist kaum kleiner als das Zielmodell: wenig oder keine Beschleunigung.</translation>
        </message>
        <message>
            <source>a speedup is likely</source>
            <translation>eine Beschleunigung ist wahrscheinlich</translation>
        </message>
        <message>
            <source>a speedup is possible</source>
            <translation>eine Beschleunigung ist möglich</translation>
        </message>
        <message>
            <source>a small speedup at best</source>
            <translation>bestenfalls eine kleine Beschleunigung</translation>
        </message>
        <message>
            <source>the draft may be too small to guess well</source>
            <translation>das Entwurfsmodell ist vielleicht zu klein, um gut zu raten</translation>
        </message>
        <message>
            <source>The target is {times} times as large as the draft: {promise}.</source>
            <translation>Das Zielmodell ist {times}-mal so groß wie das Entwurfsmodell: {promise}.</translation>
        </message>
        <message>
            <source>Its own MTP layers.</source>
            <translation>Seine eigenen Schichten für spätere Tokens.</translation>
        </message>
        <message>
            <source>Same vocabulary and width.</source>
            <translation>Gleiches Vokabular und gleiche Breite.</translation>
        </message>
        <message>
            <source>It is not for this target: {why}.</source>
            <translation>Er ist nicht für dieses Zielmodell: {why}.</translation>
        </message>
        <message>
            <source>{name} is kept by {program}. Delete it there.</source>
            <translation>{name} wird von {program} verwahrt. Löschen Sie es dort.</translation>
        </message>
        <message>
            <source>{name} is a part of Outrider.</source>
            <translation>{name} gehört zu Outrider.</translation>
        </message>
        <message>
            <source>{file} cannot be moved to the bin: {reason}.</source>
            <translation>{file} lässt sich nicht in den Papierkorb legen: {reason}.</translation>
        </message>
        <message>
            <source>{name!r} is no alias: write letters, digits, dots and lines.</source>
            <translation>{name!r} ist kein Alias: Schreiben Sie Buchstaben, Ziffern, Punkte und Striche.</translation>
        </message>
        <message>
            <source>There is no alias {name!r}.</source>
            <translation>Es gibt keinen Alias {name!r}.</translation>
        </message>
        <message>
            <source>several models are called like this: {there}. Write more of the name.</source>
            <translation>mehrere Modelle heißen so: {there}. Schreiben Sie mehr vom Namen.</translation>
        </message>
        <message>
            <source>it is part of Outrider, but it is missing. Reinstall Outrider.</source>
            <translation>sie gehört zu Outrider, fehlt aber. Installieren Sie Outrider neu.</translation>
        </message>
        <message>
            <source>there is no such file, and no {repository} in the Hugging Face cache ({cache}). Download it first: hf download {repository}</source>
            <translation>diese Datei gibt es nicht, und kein {repository} im Hugging-Face-Cache ({cache}). Laden Sie es zuerst: hf download {repository}</translation>
        </message>
        <message>
            <source>has no files</source>
            <translation>hat keine Dateien</translation>
        </message>
        <message>
            <source>is only partly downloaded</source>
            <translation>ist nur teilweise heruntergeladen</translation>
        </message>
        <message>
            <source>has no weights</source>
            <translation>hat keine Gewichte</translation>
        </message>
        <message>
            <source>{repository} in the Hugging Face cache {what}. Download it again: hf download {repository}</source>
            <translation>{repository} im Hugging-Face-Cache {what}. Laden Sie es noch einmal: hf download {repository}</translation>
        </message>
        <message>
            <source>lacks {missing}</source>
            <translation>ist ohne {missing}</translation>
        </message>
        <message>
            <source>this folder cannot be read ({reason}).</source>
            <translation>dieser Ordner kann nicht gelesen werden ({reason}).</translation>
        </message>
        <message>
            <source>this folder contains several models. Choose one of its files: {there}.</source>
            <translation>dieser Ordner enthält mehrere Modelle. Wählen Sie eine seiner Dateien: {there}.</translation>
        </message>
        <message>
            <source>it has no {quantisation} file. Available: {there}.</source>
            <translation>es hat keine Datei in {quantisation}. Verfügbar: {there}.</translation>
        </message>
        <message>
            <source>a file of a model cannot lie outside its folder.</source>
            <translation>eine Datei eines Modells kann nicht außerhalb seines Ordners liegen.</translation>
        </message>
        <message>
            <source>{repository} in the Hugging Face cache has no {file}. Download it: hf download {repository} {file}</source>
            <translation>{repository} im Hugging-Face-Cache hat kein {file}. Laden Sie es: hf download {repository} {file}</translation>
        </message>
        <message>
            <source>lacks {name}</source>
            <translation>ist ohne {name}</translation>
        </message>
        <message>
            <source>Its manifest cannot be read. Get it again: ollama pull {name}</source>
            <translation>Sein Manifest ist nicht lesbar. Laden Sie es erneut: ollama pull {name}</translation>
        </message>
        <message>
            <source>Its manifest names no GGUF file: it runs elsewhere, or is kept in another form.</source>
            <translation>Sein Manifest nennt keine GGUF-Datei: Es läuft anderswo oder liegt in anderer Form vor.</translation>
        </message>
        <message>
            <source>Its file is missing. Get it again: ollama pull {name}</source>
            <translation>Seine Datei fehlt. Laden Sie es erneut: ollama pull {name}</translation>
        </message>
        <message>
            <source>Its file is incomplete. Get it again: ollama pull {name}</source>
            <translation>Seine Datei ist unvollständig. Laden Sie es erneut: ollama pull {name}</translation>
        </message>
        <message>
            <source>It cannot be read ({reason}).</source>
            <translation>Es ist nicht lesbar ({reason}).</translation>
        </message>
        <message>
            <source>Its model.yml cannot be read. Import it again in Jan.</source>
            <translation>Seine model.yml ist nicht lesbar. Importieren Sie es in Jan erneut.</translation>
        </message>
        <message>
            <source>Its file {file} is missing. Get it again in Jan.</source>
            <translation>Seine Datei {file} fehlt. Laden Sie es in Jan erneut.</translation>
        </message>
        <message>
            <source>Its settings {file} cannot be read.</source>
            <translation>Seine Einstellungen {file} sind nicht lesbar.</translation>
        </message>
        <message>
            <source>{file} names it, but there is no such file.</source>
            <translation>{file} nennt es, aber es gibt keine solche Datei.</translation>
        </message>
        <message>
            <source>Its manifest cannot be read. Get it again: llama-server -hf {name}</source>
            <translation>Sein Manifest ist nicht lesbar. Laden Sie es erneut: llama-server -hf {name}</translation>
        </message>
        <message>
            <source>Its file is missing. Get it again: llama-server -hf {name}</source>
            <translation>Seine Datei fehlt. Laden Sie es erneut: llama-server -hf {name}</translation>
        </message>
        <message>
            <source>It is only partly downloaded. Get it again: hf download {name}</source>
            <translation>Es ist nur teilweise heruntergeladen. Laden Sie es erneut: hf download {name}</translation>
        </message>
        <message>
            <source>it is no projector (mmproj) for pictures.</source>
            <translation>sie ist kein Projektor (mmproj) für Bilder.</translation>
        </message>
        <message>
            <source>Part of it is missing: {missing}.</source>
            <translation>Ein Teil davon fehlt: {missing}.</translation>
        </message>
        <message>
            <source>This folder has more than {count:,} files. The rest are not listed.</source>
            <translation>Dieser Ordner hat mehr als {count:,} Dateien. Die übrigen sind nicht aufgeführt.</translation>
        </message>
        <message>
            <source>there is no such folder</source>
            <translation>diesen Ordner gibt es nicht</translation>
        </message>
        <message>
            <source>it is not a folder</source>
            <translation>das ist kein Ordner</translation>
        </message>
        <message>
            <source>Outrider has no permission to read it</source>
            <translation>Outrider hat keine Leseberechtigung</translation>
        </message>
        <message>
            <source>It was copied out of the Hugging Face cache without its names (the folder snapshots). Copy that too, its links as files, or get it again.</source>
            <translation>Es wurde ohne seine Namen (den Ordner snapshots) aus dem Zwischenspeicher von Hugging Face kopiert. Kopieren Sie auch den, mit seinen Verweisen als Dateien, oder holen Sie es noch einmal.</translation>
        </message>
        <message>
            <source>This folder cannot be read: {reason}.</source>
            <translation>Dieser Ordner kann nicht gelesen werden: {reason}.</translation>
        </message>
        <message>
            <source>This folder is nested too deeply to be searched.</source>
            <translation>Dieser Ordner ist zu tief verschachtelt, um durchsucht zu werden.</translation>
        </message>
        <message>
            <source>The new file must end in .safetensors, not {name}.</source>
            <translation>Die neue Datei muss auf .safetensors enden, nicht {name}.</translation>
        </message>
        <message>
            <source>{path} is there already. Choose another name.</source>
            <translation>{path} ist schon da. Wählen Sie einen anderen Namen.</translation>
        </message>
        <message>
            <source>Converting pickled weights</source>
            <translation>Umwandeln von Gewichten aus Pickle-Dateien</translation>
        </message>
        <message>
            <source>there is no such file. Check the path.</source>
            <translation>es gibt keine solche Datei. Prüfen Sie den Pfad.</translation>
        </message>
        <message>
            <source>it holds more than weights, and reading it would run its code.</source>
            <translation>sie enthält mehr als Gewichte, und sie zu lesen würde ihren Code ausführen.</translation>
        </message>
        <message>
            <source>it holds no tensors by name.</source>
            <translation>sie enthält keine benannten Tensoren.</translation>
        </message>
        <message>
            <source>converting it takes too much memory.</source>
            <translation>sie umzuwandeln braucht zu viel Speicher.</translation>
        </message>
        <message>
            <source>it is damaged, incomplete, or no file of PyTorch.</source>
            <translation>sie ist beschädigt, unvollständig oder keine Datei von PyTorch.</translation>
        </message>
        <message>
            <source>Loading safetensors models</source>
            <translation>Das Laden von safetensors-Modellen</translation>
        </message>
        <message>
            <source>its folder has no config.json, which describes the model.</source>
            <translation>sein Ordner enthält keine config.json, die das Modell beschreibt.</translation>
        </message>
        <message>
            <source>only GGUF models can be computed on other machines.</source>
            <translation>nur GGUF-Modelle können auf anderen Rechnern berechnet werden.</translation>
        </message>
        <message>
            <source>only GGUF models see with a projector (mmproj).</source>
            <translation>nur GGUF-Modelle sehen mit einem Projektor (mmproj).</translation>
        </message>
        <message>
            <source>{name} does not see: with {file} it cannot be loaded.</source>
            <translation>{name} sieht nicht: Mit {file} lässt es sich nicht laden.</translation>
        </message>
        <message>
            <source>embedding models are GGUF files here.</source>
            <translation>Embedding-Modelle sind hier GGUF-Dateien.</translation>
        </message>
        <message>
            <source>memory ran out while it was tested. Close other programs, or choose a shorter context or a smaller model.</source>
            <translation>der Arbeitsspeicher reichte bei der Prüfung nicht aus. Schließen Sie andere Programme, oder wählen Sie einen kürzeren Kontext oder ein kleineres Modell.</translation>
        </message>
        <message>
            <source>memory ran out while it was tested, perhaps that of the graphics card. Give it fewer layers (GPU layers), or choose a shorter context or a smaller model.</source>
            <translation>beim Prüfen ging der Speicher aus, vielleicht der der Grafikkarte. Geben Sie ihr weniger Schichten (GPU-Schichten), oder wählen Sie einen kürzeren Kontext oder ein kleineres Modell.</translation>
        </message>
        <message>
            <source>its cache cannot be {cache_type}: {count} of its numbers lie together, not a multiple of 32. Choose the cache type f16.</source>
            <translation>der Cache kann nicht {cache_type} sein: {count} seiner Zahlen liegen beieinander, kein Vielfaches von 32. Wählen Sie den Cache-Typ f16.</translation>
        </message>
        <message>
            <source>it is not a model.</source>
            <translation>es ist kein Modell.</translation>
        </message>
        <message>
            <source>llama.cpp took too long to load it.</source>
            <translation>llama.cpp hat zu lange gebraucht, um es zu laden.</translation>
        </message>
        <message>
            <source>its chat template does not terminate.</source>
            <translation>ihre Chatvorlage endet nicht.</translation>
        </message>
        <message>
            <source>llama.cpp cannot be loaded ({reason}). A build for graphics cards needs the card's driver; install that, or Outrider again.</source>
            <translation>llama.cpp kann nicht geladen werden ({reason}). Ein Build für Grafikkarten braucht den Treiber der Karte: Installieren Sie ihn oder Outrider erneut.</translation>
        </message>
        <message>
            <source>this build of llama.cpp uses instructions that this processor lacks. Install Outrider again on this computer (from its sources: make setup).</source>
            <translation>dieses llama.cpp verwendet Befehle, die diesem Prozessor fehlen. Installieren Sie Outrider auf diesem Computer neu (aus den Quellen: make setup).</translation>
        </message>
        <message>
            <source>the process that tests it failed ({noise}).</source>
            <translation>der Prozess, der sie prüft, ist fehlgeschlagen ({noise}).</translation>
        </message>
        <message>
            <source>the process that tests it crashed (signal {signal}), perhaps in the graphics driver. Update the driver, or compute on the processor (GPU layers: 0).</source>
            <translation>der Prozess, der es prüft, ist abgestürzt (Signal {signal}), vielleicht im Grafiktreiber. Aktualisieren Sie den Treiber, oder rechnen Sie auf dem Prozessor (GPU-Schichten: 0).</translation>
        </message>
        <message>
            <source>llama.cpp cannot run this file ({detail}). Download or convert the model again.</source>
            <translation>llama.cpp kann diese Datei nicht ausführen ({detail}). Laden Sie das Modell noch einmal oder wandeln Sie es noch einmal um.</translation>
        </message>
        <message>
            <source>the process that tests it cannot be started ({reason}).</source>
            <translation>der Prozess, der sie prüft, kann nicht gestartet werden ({reason}).</translation>
        </message>
        <message>
            <source>it cannot be run ({reason}).</source>
            <translation>es kann nicht ausgeführt werden ({reason}).</translation>
        </message>
        <message>
            <source>this version does not support the {kind} {name!r}. Choose another model.</source>
            <translation>diese Version unterstützt {kind} {name!r} nicht. Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <source>{complaint} Download or convert it again.</source>
            <translation>{complaint} Laden Sie das Modell noch einmal oder wandeln Sie es noch einmal um.</translation>
        </message>
        <message>
            <source>it computes no usable numbers: its weights are damaged.</source>
            <translation>es berechnet keine brauchbaren Zahlen: Seine Gewichte sind beschädigt.</translation>
        </message>
        <message>
            <source>The beginning of the reply does not fit the constraint.</source>
            <translation>Der Anfang der Antwort passt nicht zur Vorgabe.</translation>
        </message>
        <message>
            <source>Nothing that this model can write satisfies the constraint.</source>
            <translation>Nichts, was dieses Modell schreiben kann, erfüllt die Vorgabe.</translation>
        </message>
        <message>
            <source>the model has no token for what the constraint demands here</source>
            <translation>das Modell hat kein Token für das, was die Vorgabe hier verlangt</translation>
        </message>
        <message>
            <source>The constraint cannot be used: what it demands has no end, or more than 50,000 letters.</source>
            <translation>Die Vorgabe kann nicht verwendet werden: Was sie verlangt, hat kein Ende oder mehr als 50.000 Buchstaben.</translation>
        </message>
        <message>
            <source>The constraint cannot be used: {reason}.</source>
            <translation>Die Vorgabe kann nicht verwendet werden: {reason}.</translation>
        </message>
        <message>
            <source>A message's role must be system, developer, user, assistant or tool, not {role!r}.</source>
            <translation>Die Rolle einer Nachricht muss system, developer, user, assistant oder tool sein, nicht {role!r}.</translation>
        </message>
        <message>
            <source>A message of the role {role} cannot hold a part of the kind {name}.</source>
            <translation>Eine Nachricht der Rolle {role} kann keinen Teil der Art {name} haben.</translation>
        </message>
        <message>
            <source>A message of a tool must hold one result.</source>
            <translation>Eine Nachricht eines Werkzeugs muss ein Ergebnis haben.</translation>
        </message>
        <message>
            <source>The arguments of the tool call {name!r} must be a JSON object.</source>
            <translation>Die Argumente des Werkzeugaufrufs {name!r} müssen ein JSON-Objekt sein.</translation>
        </message>
        <message>
            <source>A part's {field} must be text, not {name}.</source>
            <translation>{field} eines Teils muss Text sein, nicht {name}.</translation>
        </message>
        <message>
            <source>{name!r} in a message holds what JSON cannot say.</source>
            <translation>{name!r} in einer Nachricht enthält etwas, das JSON nicht ausdrücken kann.</translation>
        </message>
        <message>
            <source>A message must be an object with "role" and "content".</source>
            <translation>Eine Nachricht muss ein Objekt mit "role" und "content" sein.</translation>
        </message>
        <message>
            <source>A tool call must be an object with a "function" that has a "name" and "arguments".</source>
            <translation>Ein Werkzeugaufruf muss ein Objekt mit einer „function“ sein, die „name“ und „arguments“ hat.</translation>
        </message>
        <message>
            <source>A message's content must be text or a list of parts, not {name}.</source>
            <translation>Der Inhalt einer Nachricht muss Text oder eine Liste von Teilen sein, nicht {name}.</translation>
        </message>
        <message>
            <source>A part of a message must be an object with a "type".</source>
            <translation>Ein Teil einer Nachricht muss ein Objekt mit einem „type“ sein.</translation>
        </message>
        <message>
            <source>A part of type {kind!r} is incomplete or malformed.</source>
            <translation>Ein Teil der Art {kind!r} ist unvollständig oder fehlerhaft.</translation>
        </message>
        <message>
            <source>A message's {name} must be text.</source>
            <translation>{name} einer Nachricht muss Text sein.</translation>
        </message>
        <message>
            <source>A message's tool_calls must be a list.</source>
            <translation>tool_calls einer Nachricht muss eine Liste sein.</translation>
        </message>
        <message>
            <source>Tools must be a list of functions.</source>
            <translation>Werkzeuge müssen eine Liste von Funktionen sein.</translation>
        </message>
        <message>
            <source>Each function needs a "name", a "description" and "parameters".</source>
            <translation>Jede Funktion braucht „name“, „description“ und „parameters“.</translation>
        </message>
        <message>
            <source>The tool {name} must be of the type "function".</source>
            <translation>Das Werkzeug {name} muss vom Typ „function“ sein.</translation>
        </message>
        <message>
            <source>The "description" of {name} must be text.</source>
            <translation>„description“ von {name} muss Text sein.</translation>
        </message>
        <message>
            <source>The "parameters" of {name} must be a JSON schema (an object).</source>
            <translation>„parameters“ von {name} müssen ein JSON-Schema sein (ein Objekt).</translation>
        </message>
        <message>
            <source>The function {name} is not plain JSON.</source>
            <translation>Die Funktion {name} ist kein reines JSON.</translation>
        </message>
        <message>
            <source>The function {name} is nested too deeply.</source>
            <translation>Die Funktion {name} ist zu tief verschachtelt.</translation>
        </message>
        <message>
            <source>Draft model</source>
            <translation>Entwurfsmodell</translation>
        </message>
        <message>
            <source>Only the draft model proposes tokens, if one is chosen.</source>
            <translation>Nur das Entwurfsmodell schlägt Tokens vor, wenn eines gewählt ist.</translation>
        </message>
        <message>
            <source>N-gram</source>
            <translation>N-Gramm</translation>
        </message>
        <message>
            <source>Proposes what followed earlier in the text when it begins to repeat. Needs no draft model.</source>
            <translation>Schlägt vor, was früher im Text folgte, wenn er sich zu wiederholen beginnt. Braucht kein Entwurfsmodell.</translation>
        </message>
        <message>
            <source>Heads that read the target's last hidden state propose, one token each.</source>
            <translation>Köpfe, die den letzten verborgenen Zustand des Zielmodells lesen, schlagen vor, jeder ein Token.</translation>
        </message>
        <message>
            <source>A head that reads the target's last features proposes.</source>
            <translation>Ein Kopf, der die letzten Merkmale des Zielmodells liest, schlägt vor.</translation>
        </message>
        <message>
            <source>A head that reads the target's hidden states proposes.</source>
            <translation>Ein Kopf, der die verborgenen Zustände des Zielmodells liest, schlägt vor.</translation>
        </message>
        <message>
            <source>The target's own MTP layers propose.</source>
            <translation>Die eigenen Schichten des Zielmodells für spätere Tokens schlagen vor.</translation>
        </message>
        <message>
            <source>A head proposes a block of tokens at once.</source>
            <translation>Ein Kopf schlägt einen Block von Tokens auf einmal vor.</translation>
        </message>
        <message>
            <source>A head proposes a block of tokens at once, each in view of the one before it.</source>
            <translation>Ein Kopf schlägt einen Block von Tokens auf einmal vor, jedes im Hinblick auf das vorige.</translation>
        </message>
        <message>
            <source>A reply to pictures cannot be proved yet.</source>
            <translation>Eine Antwort auf Bilder lässt sich noch nicht beweisen.</translation>
        </message>
        <message>
            <source>The reply has no tokens that could be computed again.</source>
            <translation>Die Antwort hat keine Tokens, die sich noch einmal berechnen ließen.</translation>
        </message>
        <message>
            <source>Some of this reply was given or ended by hand: it cannot be computed again.</source>
            <translation>Teile dieser Antwort wurden von Hand vorgegeben oder beendet: Sie lässt sich nicht noch einmal berechnen.</translation>
        </message>
        <message>
            <source>The draft’s timing decided some of its random draws. Set a seed (or temperature 0), and ask again.</source>
            <translation>Das Tempo des Entwurfsmodells hat manche Zufallszüge bestimmt. Setzen Sie einen Seed (oder Temperatur 0), und fragen Sie noch einmal.</translation>
        </message>
        <message>
            <source>The model {name} was changed or removed since: there is no proof.</source>
            <translation>Das Modell {name} wurde seitdem geändert oder entfernt: Es gibt keinen Beleg.</translation>
        </message>
        <message>
            <source>The model {name} cannot be read: {reason}.</source>
            <translation>Das Modell {name} lässt sich nicht lesen: {reason}.</translation>
        </message>
        <message>
            <source>This file is too large for a proof: {most} MB at most.</source>
            <translation>Diese Datei ist zu groß für einen Beleg: höchstens {most} MB.</translation>
        </message>
        <message>
            <source>This is no proof of a reply, or it is damaged.</source>
            <translation>Das ist kein Beleg einer Antwort, oder er ist beschädigt.</translation>
        </message>
        <message>
            <source>Another version of the program wrote this proof.</source>
            <translation>Diesen Beleg hat eine andere Version des Programms geschrieben.</translation>
        </message>
        <message>
            <source>All {count} tokens are the same, but their probabilities differ by up to {difference:.2g} (natural logarithm): that is more than other kernels explain.</source>
            <translation>Alle {count} Tokens sind dieselben, aber ihre Wahrscheinlichkeiten unterscheiden sich um bis zu {difference:.2g} (natürlicher Logarithmus): Das ist mehr, als andere Kernel erklären.</translation>
        </message>
        <message>
            <source>Identical: all {count} tokens, and their probabilities.</source>
            <translation>Identisch: alle {count} Tokens und ihre Wahrscheinlichkeiten.</translation>
        </message>
        <message>
            <source>Identical: all {count} tokens. Another processor or other kernels computed them; the probabilities differ by up to {difference:.2g} (natural logarithm; {bound:g} is allowed).</source>
            <translation>Identisch: alle {count} Tokens. Ein anderer Prozessor oder andere Kernel haben sie berechnet; die Wahrscheinlichkeiten unterscheiden sich um bis zu {difference:.2g} (natürlicher Logarithmus; erlaubt ist {bound:g}).</translation>
        </message>
        <message>
            <source>Not identical: the reply ends before token {number}.</source>
            <translation>Nicht identisch: Die Antwort endet vor Token {number}.</translation>
        </message>
        <message>
            <source>Not identical: token {number} is {token!r} in the proof, and {ours!r} when computed again.</source>
            <translation>Nicht identisch: Token {number} ist im Beleg {token!r} und beim erneuten Berechnen {ours!r}.</translation>
        </message>
        <message>
            <source>It is not among the {count} likeliest tokens there.</source>
            <translation>Es ist dort nicht unter den {count} wahrscheinlichsten Tokens.</translation>
        </message>
        <message>
            <source>Its log-probability is {recomputed:.4f}, {difference:+.4f} from what the proof says.</source>
            <translation>Seine logarithmierte Wahrscheinlichkeit ist {recomputed:.4f}, {difference:+.4f} gegenüber dem Beleg.</translation>
        </message>
        <message>
            <source>The two are a near tie, which another processor may break the other way.</source>
            <translation>Die beiden liegen fast gleichauf; ein anderer Prozessor kann sich für das andere entscheiden.</translation>
        </message>
        <message>
            <source>The proof needs the model {name}, which is not here.</source>
            <translation>Der Beleg braucht das Modell {name}, das nicht da ist.</translation>
        </message>
        <message>
            <source>{path} is not the file of which the proof speaks ({name}).</source>
            <translation>{path} ist nicht die Datei, von der der Beleg spricht ({name}).</translation>
        </message>
        <message>
            <source>The file was changed after it was written.</source>
            <translation>Die Datei wurde geändert, nachdem sie geschrieben wurde.</translation>
        </message>
        <message>
            <source>The messages do not give the tokens that the model had read (a template may tell the date).</source>
            <translation>Die Nachrichten ergeben nicht die Tokens, die das Modell gelesen hatte (eine Vorlage kann das Datum nennen).</translation>
        </message>
        <message>
            <source>The reply cannot be computed again: {reason}</source>
            <translation>Die Antwort lässt sich nicht noch einmal berechnen: {reason}</translation>
        </message>
        <message>
            <source>The text is not that of the tokens.</source>
            <translation>Der Text ist nicht der der Tokens.</translation>
        </message>
        <message>
            <source>{address!r} is no address of a server. Write it like http://localhost:8080.</source>
            <translation>{address!r} ist keine Adresse eines Servers. Schreiben Sie sie wie http://localhost:8080.</translation>
        </message>
        <message>
            <source>An address cannot hold a name or a password. A key is given by itself, not in the address.</source>
            <translation>Eine Adresse kann keinen Namen und kein Kennwort enthalten. Ein Schlüssel wird für sich angegeben, nicht in der Adresse.</translation>
        </message>
        <message>
            <source>The address of a server has no ? and no #. Write it without them.</source>
            <translation>Die Adresse eines Servers hat kein ? und kein #. Schreiben Sie sie ohne diese.</translation>
        </message>
        <message>
            <source>A call of {names} was left out: it is not complete.</source>
            <translation>Ein Aufruf von {names} wurde weggelassen: Er ist nicht vollständig.</translation>
        </message>
        <message>
            <source>a tool call is malformed</source>
            <translation>ein Werkzeugaufruf hat eine falsche Form</translation>
        </message>
        <message>
            <source>"tool_calls" is no list</source>
            <translation>„tool_calls“ ist keine Liste</translation>
        </message>
        <message>
            <source>a piece of it is no JSON object</source>
            <translation>ein Teil davon ist kein JSON-Objekt</translation>
        </message>
        <message>
            <source>"choices" is no list of objects</source>
            <translation>„choices“ ist keine Liste von Objekten</translation>
        </message>
        <message>
            <source>it is longer than any reply should be</source>
            <translation>sie ist länger, als eine Antwort sein sollte</translation>
        </message>
        <message>
            <source>"delta" is no object</source>
            <translation>„delta“ ist kein Objekt</translation>
        </message>
        <message>
            <source>a text in it is something else</source>
            <translation>ein Text darin ist etwas anderes</translation>
        </message>
        <message>
            <source>Ending a reply at a token</source>
            <translation>Eine Antwort bei einem Token zu beenden</translation>
        </message>
        <message>
            <source>give a text as --stop instead</source>
            <translation>geben Sie stattdessen einen Text als --stop an</translation>
        </message>
        <message>
            <source>Not sent to the server, which has no such setting: {names}.</source>
            <translation>Dem Server wurde {names} nicht mitgeteilt: Er hat keine solche Einstellung.</translation>
        </message>
        <message>
            <source>Writing given tokens first</source>
            <translation>Vorgegebene Tokens zuerst zu schreiben</translation>
        </message>
        <message>
            <source>give a prefix instead</source>
            <translation>geben Sie stattdessen einen Anfang an</translation>
        </message>
        <message>
            <source>A prefix of token ids</source>
            <translation>Ein Präfix aus Token-Nummern</translation>
        </message>
        <message>
            <source>give it as a text instead</source>
            <translation>geben Sie es als Text an</translation>
        </message>
        <message>
            <source>A prefix behind token ids</source>
            <translation>Ein Präfix hinter Token-Nummern</translation>
        </message>
        <message>
            <source>give the prompt as a text instead</source>
            <translation>geben Sie den Prompt als Text an</translation>
        </message>
        <message>
            <source>Going on with a reply</source>
            <translation>Eine Antwort fortzusetzen</translation>
        </message>
        <message>
            <source>ask for the reply again instead</source>
            <translation>lassen Sie die Antwort stattdessen neu schreiben</translation>
        </message>
        <message>
            <source>A regular expression or grammar as a constraint</source>
            <translation>Ein regulärer Ausdruck oder eine Grammatik als Vorgabe</translation>
        </message>
        <message>
            <source>a server can be asked for JSON or for JSON of a schema</source>
            <translation>von einem Server kann JSON oder JSON nach einem Schema verlangt werden</translation>
        </message>
        <message>
            <source>{what}, with a server as the target,</source>
            <translation>{what}, mit einem Server als Zielmodell,</translation>
        </message>
        <message>
            <source>This server is already asked for a reply. Wait for it, or cancel it.</source>
            <translation>Dieser Server schreibt schon eine Antwort. Warten Sie darauf, oder brechen Sie sie ab.</translation>
        </message>
        <message>
            <source>The connection to this server was closed. Connect anew.</source>
            <translation>Die Verbindung zu diesem Server wurde geschlossen. Verbinden Sie sich neu.</translation>
        </message>
        <message>
            <source>The text of a token</source>
            <translation>Der Text eines Tokens</translation>
        </message>
        <message>
            <source>Counting the tokens of a text</source>
            <translation>Die Token eines Textes zu zählen</translation>
        </message>
        <message>
            <source>Counting the tokens of a chat</source>
            <translation>Die Token eines Chats zu zählen</translation>
        </message>
        <message>
            <source>What the model reads</source>
            <translation>Was das Modell liest</translation>
        </message>
        <message>
            <source>the target is a server, which does not tell. Choose a local target</source>
            <translation>das Zielmodell ist ein Server, der das nicht mitteilt. Wählen Sie ein lokales Zielmodell</translation>
        </message>
        <message>
            <source>The server at {address} names no model. Say which with --model.</source>
            <translation>Der Server {address} nennt kein Modell. Geben Sie mit --model an, welches.</translation>
        </message>
        <message>
            <source>The server at {address} has several models. Choose one: {names}.</source>
            <translation>Der Server {address} hat mehrere Modelle. Wählen Sie eines: {names}.</translation>
        </message>
        <message>
            <source>The server at {address} has no model {model!r}. It has: {names}.</source>
            <translation>Der Server {address} hat kein Modell {model!r}. Er hat: {names}.</translation>
        </message>
        <message>
            <source>it lists no models</source>
            <translation>er nennt keine Modelle</translation>
        </message>
        <message>
            <source>the answer is longer than any should be</source>
            <translation>die Antwort ist länger, als eine sein sollte</translation>
        </message>
        <message>
            <source>it is not JSON</source>
            <translation>sie ist kein JSON</translation>
        </message>
        <message>
            <source>a piece of it is longer than any should be</source>
            <translation>ein Stück davon ist länger, als eines sein sollte</translation>
        </message>
        <message>
            <source>a line of the reply is longer than any should be</source>
            <translation>eine Zeile der Antwort ist länger, als eine sein sollte</translation>
        </message>
        <message>
            <source>it is compressed, which was not asked for</source>
            <translation>sie ist komprimiert, was nicht verlangt war</translation>
        </message>
        <message>
            <source>A key is one line of ASCII letters, digits and signs. Copy the key again.</source>
            <translation>Ein Schlüssel ist eine Zeile aus ASCII-Buchstaben, Ziffern und Zeichen. Kopieren Sie den Schlüssel noch einmal.</translation>
        </message>
        <message>
            <source>What it wrote stays. Ask again to go on.</source>
            <translation>Was er geschrieben hat, bleibt. Fragen Sie noch einmal, um fortzufahren.</translation>
        </message>
        <message>
            <source>Cannot trust the server at {address}: {reason}. Check the address, or have this computer trust its certificate.</source>
            <translation>Dem Server {address} kann nicht vertraut werden: {reason}. Prüfen Sie die Adresse, oder lassen Sie diesen Computer seinem Zertifikat vertrauen.</translation>
        </message>
        <message>
            <source>Cannot reach the server at {address}: nothing answered within {seconds:g} seconds. Check the address and the network.</source>
            <translation>Der Server {address} ist nicht erreichbar: Innerhalb von {seconds:g} Sekunden kam keine Antwort. Prüfen Sie die Adresse und das Netz.</translation>
        </message>
        <message>
            <source>Cannot reach the server at {address}: the proxy refuses it. Check the proxy of this system.</source>
            <translation>Der Server {address} ist nicht erreichbar: Der Proxy lehnt ihn ab. Prüfen Sie den Proxy dieses Systems.</translation>
        </message>
        <message>
            <source>The server at {address} ended the connection without an answer. Check that it is still running.</source>
            <translation>Der Server {address} hat die Verbindung ohne Antwort beendet. Prüfen Sie, ob er noch läuft.</translation>
        </message>
        <message>
            <source>Cannot reach the server at {address}. Check that it is running and that the address is right.</source>
            <translation>Der Server {address} ist nicht erreichbar. Prüfen Sie, ob er läuft und ob die Adresse stimmt.</translation>
        </message>
        <message>
            <source>The server at {address} could not be asked ({error}). Check the address.</source>
            <translation>Der Server {address} konnte nicht gefragt werden ({error}). Prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <source>The server at {address} broke off in the middle of its answer. {again}</source>
            <translation>Der Server {address} hat mitten in seiner Antwort abgebrochen. {again}</translation>
        </message>
        <message>
            <source>The server at {address} has sent nothing for {seconds:g} seconds. {again}</source>
            <translation>Der Server {address} hat {seconds:g} Sekunden lang nichts gesendet. {again}</translation>
        </message>
        <message>
            <source>The server at {address} has not answered for {seconds:g} seconds. Check what it is doing, and ask again.</source>
            <translation>Der Server {address} hat {seconds:g} Sekunden lang nicht geantwortet. Prüfen Sie, was er tut, und fragen Sie noch einmal.</translation>
        </message>
        <message>
            <source>The answer of the server at {address} cannot be read: {reason}. Check that it has OpenAI's interface.</source>
            <translation>Die Antwort des Servers {address} ist nicht lesbar: {reason}. Prüfen Sie, ob er die Schnittstelle von OpenAI hat.</translation>
        </message>
        <message>
            <source>The server at {address} failed{words}</source>
            <translation>Der Server {address} hat einen Fehler{words}</translation>
        </message>
        <message>
            <source>it is neither a stream nor JSON</source>
            <translation>sie ist weder ein Strom von Ereignissen noch JSON</translation>
        </message>
        <message>
            <source>The server at {address} refuses the key. Check it.</source>
            <translation>Der Server {address} lehnt den Schlüssel ab. Prüfen Sie ihn.</translation>
        </message>
        <message>
            <source>The server at {address} wants a key. Enter it, or set OUTRIDER_API_KEY and OUTRIDER_API_KEY_ADDRESS.</source>
            <translation>Der Server {address} verlangt einen Schlüssel. Geben Sie ihn ein, oder setzen Sie OUTRIDER_API_KEY und OUTRIDER_API_KEY_ADDRESS.</translation>
        </message>
        <message>
            <source>The server at {address} does not have what was asked for (404){words}</source>
            <translation>Der Server {address} hat nicht, was verlangt wurde (404){words}</translation>
        </message>
        <message>
            <source>The server at {address} takes no more requests for now (429). Ask again in {seconds} s.</source>
            <translation>Der Server {address} nimmt zurzeit keine Anfragen mehr an (429). Fragen Sie in {seconds} s noch einmal.</translation>
        </message>
        <message>
            <source>The server at {address} takes no more requests for now (429). Ask again later.</source>
            <translation>Der Server {address} nimmt zurzeit keine Anfragen mehr an (429). Fragen Sie später noch einmal.</translation>
        </message>
        <message>
            <source>The server at {address} sends to another address ({status}). Enter that one.</source>
            <translation>Der Server {address} verweist auf eine andere Adresse ({status}). Geben Sie jene ein.</translation>
        </message>
        <message>
            <source>The server at {address} failed ({status}){words}</source>
            <translation>Der Server {address} hat einen Fehler ({status}){words}</translation>
        </message>
        <message>
            <source>The server at {address} refuses the request ({status}){words}</source>
            <translation>Der Server {address} lehnt die Anfrage ab ({status}){words}</translation>
        </message>
        <message>
            <source>a piece of it is not JSON</source>
            <translation>ein Teil davon ist kein JSON</translation>
        </message>
        <message>
            <source>The server withheld the rest of this reply (content_filter).</source>
            <translation>Der Server hat den Rest dieser Antwort zurückgehalten (content_filter).</translation>
        </message>
        <message>
            <source>a probability is not a finite number</source>
            <translation>eine Wahrscheinlichkeit ist keine endliche Zahl</translation>
        </message>
        <message>
            <source>its probabilities sum to zero or are not finite numbers</source>
            <translation>seine Wahrscheinlichkeiten ergeben in der Summe null oder sind keine endlichen Zahlen</translation>
        </message>
        <message>
            <source>its best logit is not a finite number</source>
            <translation>sein bestes Logit ist keine endliche Zahl</translation>
        </message>
        <message>
            <source>Cannot listen on {host}, port {port}: {reason}. Choose another port.</source>
            <translation>Der Server kann {host}, Port {port}, nicht benutzen: {reason}. Wählen Sie einen anderen Port.</translation>
        </message>
        <message>
            <source>A key is one line of letters, digits and signs. Choose another one.</source>
            <translation>Ein Schlüssel ist eine Zeile aus Buchstaben, Ziffern und Zeichen. Wählen Sie einen anderen.</translation>
        </message>
        <message>
            <source>Other computers could use this address: set a key.</source>
            <translation>Andere Computer könnten diese Adresse benutzen: Legen Sie einen Schlüssel fest.</translation>
        </message>
        <message>
            <source>The port must be a whole number from 0 to 65535.</source>
            <translation>Der Port muss eine ganze Zahl von 0 bis 65535 sein.</translation>
        </message>
        <message>
            <source>Dictation</source>
            <translation>Diktieren</translation>
        </message>
        <message>
            <source>{name} is no Whisper model, or it is damaged.</source>
            <translation>{name} ist kein Whisper-Modell oder beschädigt.</translation>
        </message>
        <message>
            <source>it takes too long.</source>
            <translation>es dauert zu lange.</translation>
        </message>
        <message>
            <source>{name} crashed the program that reads it.</source>
            <translation>{name} brachte das Programm zum Absturz, das es liest.</translation>
        </message>
        <message>
            <source>install the Python package pywhispercpp.</source>
            <translation>installieren Sie das Python-Paket pywhispercpp.</translation>
        </message>
        <message>
            <source>reading it takes too much memory</source>
            <translation>sie zu lesen braucht zu viel Speicher</translation>
        </message>
        <message>
            <source>Running models in a forked process</source>
            <translation>Modelle in einem abgespaltenen Prozess auszuführen</translation>
        </message>
        <message>
            <source>models were loaded before the fork, and their threads are lost. Start processes with multiprocessing's 'spawn', or load models only behind the fork.</source>
            <translation>vor dem Abspalten (fork) wurden Modelle geladen, und ihre Threads sind verloren. Starten Sie Prozesse mit „spawn“ von multiprocessing, oder laden Sie Modelle erst danach.</translation>
        </message>
        <message>
            <source>This build of Outrider does not include PyTorch and transformers. Install the full flavour of Outrider.</source>
            <translation>Diese Ausgabe von Outrider enthält PyTorch und transformers nicht. Installieren Sie die vollständige Ausgabe von Outrider.</translation>
        </message>
        <message>
            <source>PyTorch and transformers are not installed. Install them with: pip install "outrider[torch]"</source>
            <translation>PyTorch und transformers sind nicht installiert. Installieren Sie sie mit: pip install "outrider[torch]"</translation>
        </message>
        <message>
            <source>llama.cpp was compiled on another computer, for a processor with instructions that this one lacks ({names}). Install Outrider again on this computer (from its sources: make setup).</source>
            <translation>llama.cpp wurde auf einem anderen Computer kompiliert, für einen Prozessor mit Befehlen, die diesem fehlen ({names}). Installieren Sie Outrider auf diesem Computer neu (aus den Quellen: make setup).</translation>
        </message>
        <message>
            <source>Calculate</source>
            <translation>Rechnen</translation>
        </message>
        <message>
            <source>Plot</source>
            <translation>Zeichnen</translation>
        </message>
        <message>
            <source>Search my chats</source>
            <translation>Meine Chats durchsuchen</translation>
        </message>
        <message>
            <source>The time</source>
            <translation>Die Zeit</translation>
        </message>
        <message>
            <source>List a folder</source>
            <translation>Einen Ordner auflisten</translation>
        </message>
        <message>
            <source>Read a file</source>
            <translation>Eine Datei lesen</translation>
        </message>
        <message>
            <source>Search files</source>
            <translation>Dateien durchsuchen</translation>
        </message>
        <message>
            <source>Fetch a page</source>
            <translation>Eine Seite holen</translation>
        </message>
        <message>
            <source>install selectolax: pip install selectolax</source>
            <translation>installieren Sie selectolax: pip install selectolax</translation>
        </message>
        <message>
            <source>Fetching pages</source>
            <translation>Seiten zu holen</translation>
        </message>
        <message>
            <source>The call</source>
            <translation>Der Aufruf</translation>
        </message>
        <message>
            <source>The tool server {name} failed: {error}.</source>
            <translation>Der Werkzeugserver {name} ist gescheitert: {error}.</translation>
        </message>
        <message>
            <source>The tool server {name} does not answer: {seconds:g} seconds are over.</source>
            <translation>Der Werkzeugserver {name} antwortet nicht: {seconds:g} Sekunden sind um.</translation>
        </message>
        <message>
            <source>The tool {tool} does not answer: {seconds:g} seconds are over.</source>
            <translation>Das Werkzeug {tool} antwortet nicht: {seconds:g} Sekunden sind um.</translation>
        </message>
        <message>
            <source>Tool servers are ended.</source>
            <translation>Die Werkzeugserver sind beendet.</translation>
        </message>
        <message>
            <source>the package mcp is not installed. Run: pip install 'outrider[tools]'</source>
            <translation>das Paket mcp ist nicht installiert. Führen Sie aus: pip install 'outrider[tools]'</translation>
        </message>
        <message>
            <source>Using tool servers</source>
            <translation>Werkzeugserver zu verwenden</translation>
        </message>
        <message>
            <source>Tool servers cannot be used: {reason}.</source>
            <translation>Werkzeugserver können nicht verwendet werden: {reason}.</translation>
        </message>
        <message>
            <source>The process that talks to tool servers ended. Try again.</source>
            <translation>Der Prozess, der mit den Werkzeugservern spricht, ist beendet. Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <source>The process that talks to tool servers is stuck, and was ended.</source>
            <translation>Der Prozess, der mit den Werkzeugservern spricht, hing und wurde beendet.</translation>
        </message>
        <message>
            <source>The arguments are too long.</source>
            <translation>Die Argumente sind zu lang.</translation>
        </message>
        <message>
            <source>The tool server {name} offers more than {most} tools: the others are left out.</source>
            <translation>Der Werkzeugserver {name} bietet mehr als {most} Werkzeuge an: Die übrigen sind weggelassen.</translation>
        </message>
        <message>
            <source>Tools of {name} are left out, since their names or parameters are too long or too deep: {tools}.</source>
            <translation>Werkzeuge von {name} sind weggelassen, weil ihre Namen oder Parameter zu lang oder zu tief verschachtelt sind: {tools}.</translation>
        </message>
        <message>
            <source>The tool server {name} {problem}.</source>
            <translation>Der Werkzeugserver {name} {problem}.</translation>
        </message>
        <message>
            <source>The tool server {name} cannot be started: {command}: {reason}.</source>
            <translation>Der Werkzeugserver {name} kann nicht gestartet werden: {command}: {reason}.</translation>
        </message>
        <message>
            <source>The tool server {name} refuses: {reason}.</source>
            <translation>Der Werkzeugserver {name} lehnt ab: {reason}.</translation>
        </message>
        <message>
            <source>The tool server {name} cannot be reached: {reason}.</source>
            <translation>Der Werkzeugserver {name} ist nicht erreichbar: {reason}.</translation>
        </message>
        <message>
            <source>The tool server {name} answers what makes no sense: {reason}.</source>
            <translation>Der Werkzeugserver {name} antwortet etwas Sinnloses: {reason}.</translation>
        </message>
        <message>
            <source>sent a message that is nested too deeply</source>
            <translation>hat eine zu tief verschachtelte Nachricht gesendet</translation>
        </message>
        <message>
            <source>sent more than {size} MB at once, and was ended</source>
            <translation>hat mehr als {size} MB auf einmal gesendet und wurde beendet</translation>
        </message>
        <message>
            <source>ended ({code}): {last}</source>
            <translation>hat sich beendet ({code}): {last}</translation>
        </message>
        <message>
            <source>ended ({code})</source>
            <translation>hat sich beendet ({code})</translation>
        </message>
        <message>
            <source>{name} may change something or start a program: allow it always on its own page first.</source>
            <translation>{name} kann etwas ändern oder ein Programm starten: Erlauben Sie es zuerst auf seiner eigenen Seite immer.</translation>
        </message>
        <message>
            <source>Cannot write {path}: {said}.</source>
            <translation>{path} lässt sich nicht schreiben: {said}.</translation>
        </message>
        <message>
            <source>No tool server can have our own name, {name}.</source>
            <translation>Kein Werkzeug-Server kann unseren eigenen Namen haben: {name}.</translation>
        </message>
        <message>
            <source>{name!r} cannot be the name of a tool server: up to 64 characters, no / in them.</source>
            <translation>{name!r} kann kein Werkzeugserver heißen: höchstens 64 Zeichen, keines davon ein /.</translation>
        </message>
        <message>
            <source>A tool server cannot be called {name}, as our own tools are.</source>
            <translation>Ein Werkzeugserver kann nicht {name} heißen: So heißen die eigenen Werkzeuge.</translation>
        </message>
        <message>
            <source>The tool server {name} needs either a command or an address.</source>
            <translation>Der Werkzeugserver {name} braucht entweder einen Befehl oder eine Adresse.</translation>
        </message>
        <message>
            <source>The address of the tool server {name} must begin with https://.</source>
            <translation>Die Adresse des Werkzeugservers {name} muss mit https:// beginnen.</translation>
        </message>
        <message>
            <source>The tool server {name} wants an input that another program asks for: write it into {file}.</source>
            <translation>Der Werkzeugserver {name} braucht eine Eingabe, nach der ein anderes Programm fragt: Schreiben Sie sie in {file}.</translation>
        </message>
        <message>
            <source>That is too much text for a list of servers.</source>
            <translation>Das ist zu viel Text für eine Liste von Servern.</translation>
        </message>
        <message>
            <source>The text</source>
            <translation>Der Text</translation>
        </message>
        <message>
            <source>The text lists no servers.</source>
            <translation>Der Text nennt keine Server.</translation>
        </message>
        <message>
            <source>{path} lists no servers under "mcpServers".</source>
            <translation>{path} führt unter "mcpServers" keine Server auf.</translation>
        </message>
        <message>
            <source>{path} lists too many servers.</source>
            <translation>{path} führt zu viele Server auf.</translation>
        </message>
        <message>
            <source>{path} is too large for a list of servers.</source>
            <translation>{path} ist zu groß für eine Liste von Servern.</translation>
        </message>
        <message>
            <source>{path} is not UTF-8 text.</source>
            <translation>{path} ist kein UTF-8-Text.</translation>
        </message>
        <message>
            <source>{path} is not JSON: {error}.</source>
            <translation>{path} ist kein JSON: {error}.</translation>
        </message>
        <message>
            <source>The tool server {name} must be an object.</source>
            <translation>Der Werkzeugserver {name} muss ein Objekt sein.</translation>
        </message>
        <message>
            <source>The tool server {name} has the old SSE transport, which is not spoken here. Use its address for streamable HTTP.</source>
            <translation>Der Werkzeugserver {name} verwendet den alten SSE-Transport, der hier nicht gesprochen wird. Verwenden Sie seine Adresse für streamable HTTP.</translation>
        </message>
        <message>
            <source>"{member}" of the tool server {name} is not what it must be.</source>
            <translation>„{member}“ des Werkzeugservers {name} ist nicht, was es sein muss.</translation>
        </message>
        <message>
            <source>Training a head</source>
            <translation>Das Trainieren eines Kopfes</translation>
        </message>
        <message>
            <source>{path} is no GGUF file: heads can be trained for these only. Name one.</source>
            <translation>{path} ist keine GGUF-Datei: Nur für solche können Köpfe trainiert werden. Nennen Sie eine.</translation>
        </message>
        <message>
            <source>Another program is training in {folder} already. Wait until it is done, or name another file (--out).</source>
            <translation>In {folder} trainiert schon ein anderes Programm. Warten Sie, bis es fertig ist, oder nennen Sie eine andere Datei (--out).</translation>
        </message>
        <message>
            <source>Cannot write to {folder}: {reason}.</source>
            <translation>In {folder} kann nicht geschrieben werden: {reason}.</translation>
        </message>
        <message>
            <source>A training was begun in {folder}. Go on with it (--resume), or delete that folder.</source>
            <translation>In {folder} wurde ein Training begonnen. Setzen Sie es fort (--resume), oder löschen Sie diesen Ordner.</translation>
        </message>
        <message>
            <source>The questions were changed since. Delete {folder} and start again.</source>
            <translation>Die Fragen wurden seitdem geändert. Löschen Sie {folder}, und beginnen Sie neu.</translation>
        </message>
        <message>
            <source>There is no training to go on with in {folder}. Omit --resume.</source>
            <translation>In {folder} gibt es kein Training, das fortgesetzt werden kann. Lassen Sie --resume weg.</translation>
        </message>
        <message>
            <source>The model was changed since. Delete {folder} and start again.</source>
            <translation>Das Modell wurde seitdem geändert. Löschen Sie {folder}, und beginnen Sie neu.</translation>
        </message>
        <message>
            <source>Training needs {needed:.1f} GB of memory and {free:.1f} GB are free. Close other programs.</source>
            <translation>Das Training braucht {needed:.1f} GB Arbeitsspeicher, frei sind {free:.1f} GB. Schließen Sie andere Programme.</translation>
        </message>
        <message>
            <source>Training needs {needed:.2f} GB of disk and {free:.2f} GB are free in {folder}. Make room, or train on fewer tokens.</source>
            <translation>Das Training braucht {needed:.2f} GB auf der Platte, in {folder} sind {free:.2f} GB frei. Schaffen Sie Platz, oder trainieren Sie mit weniger Token.</translation>
        </message>
        <message>
            <source>No head can be trained for {name}: the hidden states of its layers cannot be read.</source>
            <translation>Für {name} kann kein Kopf trainiert werden: Die verborgenen Zustände seiner Schichten sind nicht lesbar.</translation>
        </message>
        <message>
            <source>{name} is {width} numbers wide, not a multiple of 32.</source>
            <translation>{name} ist {width} Zahlen breit, kein Vielfaches von 32.</translation>
        </message>
        <message>
            <source>The weights of {name} are stored as {kind}, which cannot be read here. Choose another file of it.</source>
            <translation>Die Gewichte von {name} sind als {kind} gespeichert, was hier nicht gelesen werden kann. Wählen Sie eine andere Datei davon.</translation>
        </message>
        <message>
            <source>{name} has no embedding of its own.</source>
            <translation>{name} hat keine eigene Einbettung.</translation>
        </message>
        <message>
            <source>{folder} is no folder with questions. Name another one.</source>
            <translation>{folder} ist kein Ordner mit Fragen. Nennen Sie einen anderen.</translation>
        </message>
        <message>
            <source>A head needs {needed} different questions at least, and {folder} has {count}: its text files must have one a line. Add some, or leave the folder out.</source>
            <translation>Ein Kopf braucht mindestens {needed} verschiedene Fragen, {folder} hat {count}: In den Textdateien muss in jeder Zeile eine stehen. Fügen Sie welche hinzu, oder lassen Sie den Ordner weg.</translation>
        </message>
    </context>
</TS>
