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
            <source>Copy the versions, for a report</source>
            <translation>Die Versionen kopieren, für eine Meldung</translation>
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
            <translation>aus dem Quelltext gestartet</translation>
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
            <source>Parts of the program</source>
            <translation>Bestandteile des Programms</translation>
        </message>
        <message>
            <source>Licence text</source>
            <translation>Lizenztext</translation>
        </message>
        <message>
            <source>No text of the licence was installed with this part.</source>
            <translation>Zu diesem Bestandteil wurde kein Lizenztext installiert.</translation>
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
            <source>Measuring this pair, once…</source>
            <translation>Dieses Paar wird einmalig vermessen…</translation>
        </message>
        <message>
            <source>Reading the prompt ({subject} tokens)</source>
            <translation>Die Eingabe wird gelesen ({subject} Tokens)</translation>
        </message>
        <message>
            <source>Looking for models in {subject}</source>
            <translation>In {subject} werden Modelle gesucht</translation>
        </message>
        <message>
            <source>Waiting for the measurement to end</source>
            <translation>Wartet auf das Ende der Messung</translation>
        </message>
        <message>
            <source>Waiting: shall {subject} be loaded?</source>
            <translation>Wartet: Soll {subject} geladen werden?</translation>
        </message>
        <message>
            <source>Waiting for the reply in another chat</source>
            <translation>Wartet auf die Antwort in einem anderen Chat</translation>
        </message>
    </context>
    <context>
        <name>Attachments</name>
        <message>
            <source>{name} is not there any more. Choose another file.</source>
            <translation>{name} ist nicht mehr da. Wählen Sie eine andere Datei.</translation>
        </message>
        <message>
            <source>{name} is a folder. Attach the files in it one by one.</source>
            <translation>{name} ist ein Ordner. Hängen Sie die Dateien darin einzeln an.</translation>
        </message>
        <message>
            <source>{name} is no ordinary file. Attach a text file.</source>
            <translation>{name} ist keine gewöhnliche Datei. Hängen Sie eine Textdatei an.</translation>
        </message>
        <message>
            <source>{name} cannot be read ({detail}). See whether you may open it, or attach a copy.</source>
            <translation>{name} kann nicht gelesen werden ({detail}). Sehen Sie nach, ob Sie sie öffnen dürfen, oder hängen Sie eine Kopie an.</translation>
        </message>
        <message>
            <source>There is no text in {name}. Attach another file.</source>
            <translation>In {name} steht kein Text. Hängen Sie eine andere Datei an.</translation>
        </message>
        <message>
            <source>{name} is larger than {detail} MiB. Attach the part that matters.</source>
            <translation>{name} ist größer als {detail} MiB. Hängen Sie den Teil an, auf den es ankommt.</translation>
        </message>
        <message>
            <source>{name} is no text. Only text files can be attached; save its text as one.</source>
            <translation>{name} ist kein Text. Nur Textdateien können angehängt werden; speichern Sie den Text als solche.</translation>
        </message>
        <message>
            <source>{name} is no text in UTF-8 (byte {detail}). Save it as UTF-8 and attach it again.</source>
            <translation>{name} ist kein Text in UTF-8 (Byte {detail}). Speichern Sie die Datei als UTF-8 und hängen Sie sie noch einmal an.</translation>
        </message>
        <message>
            <source>{name} was not attached: no more than {detail} files go with one question.</source>
            <translation>{name} wurde nicht angehängt: Mehr als {detail} Dateien passen nicht zu einer Frage.</translation>
        </message>
        <message>
            <source>the system says no more</source>
            <translation>mehr sagt das System nicht</translation>
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
        <name>Chip</name>
        <message>
            <source>Attached file {name}</source>
            <translation>Angehängte Datei {name}</translation>
        </message>
        <message>
            <source>Delete takes it away</source>
            <translation>Entf nimmt sie weg</translation>
        </message>
        <message>
            <source>Take {name} away</source>
            <translation>{name} wegnehmen</translation>
        </message>
    </context>
    <context>
        <name>ChipRow</name>
        <message>
            <source>Attached files</source>
            <translation>Angehängte Dateien</translation>
        </message>
        <message>
            <source>being read…</source>
            <translation>wird gelesen…</translation>
        </message>
    </context>
    <context>
        <name>CodeBar</name>
        <message>
            <source>Copy the code</source>
            <translation>Den Code kopieren</translation>
        </message>
    </context>
    <context>
        <name>CommandPalette</name>
        <message>
            <source>Command palette</source>
            <translation>Befehlspalette</translation>
        </message>
        <message>
            <source>What is to be done?</source>
            <translation>Was soll geschehen?</translation>
        </message>
        <message>
            <source>Command</source>
            <translation>Befehl</translation>
        </message>
        <message>
            <source>Up and Down choose, Enter does it, Esc closes</source>
            <translation>Auf und Ab wählen, Eingabe führt aus, Esc schließt</translation>
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
            <source>Conversation</source>
            <translation>Unterhaltung</translation>
        </message>
    </context>
    <context>
        <name>Commands</name>
        <message>
            <source>Chat</source>
            <translation>Chat</translation>
        </message>
        <message>
            <source>Conversations</source>
            <translation>Unterhaltungen</translation>
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
            <source>Compare plain and speculative</source>
            <translation>Einfach und spekulativ vergleichen</translation>
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
            <source>Answers the prompt plain and speculative, in turns. A question sent meanwhile waits.</source>
            <translation>Beantwortet die Eingabe abwechselnd einfach und spekulativ. Eine Frage, die Sie inzwischen senden, wartet.</translation>
        </message>
    </context>
    <context>
        <name>Context</name>
        <message>
            <source>too long: {used} tokens, {available} fit</source>
            <translation>zu lang: {used} Tokens, {available} passen</translation>
        </message>
        <message>
            <source>{used} of {available} tokens, without the oldest messages</source>
            <translation>{used} von {available} Tokens, ohne die ältesten Nachrichten</translation>
        </message>
        <message>
            <source>{used} of {available} tokens</source>
            <translation>{used} von {available} Tokens</translation>
        </message>
        <message>
            <source>Your message and the system prompt alone have {used} tokens, and the context holds {available}. Shorten it, leave a file out, or load the target with a longer context.</source>
            <translation>Ihre Nachricht und die Systemanweisung allein haben {used} Tokens, und der Kontext fasst {available}. Kürzen Sie die Nachricht, lassen Sie eine Datei weg oder laden Sie das Zielmodell mit einem längeren Kontext.</translation>
        </message>
        <message>
            <source>The model reads {used} tokens, and its context holds {available}.</source>
            <translation>Das Modell liest {used} Tokens, und sein Kontext fasst {available}.</translation>
        </message>
        <message>
            <source>What you write now: {count}.</source>
            <translation>Was Sie gerade schreiben: {count}.</translation>
        </message>
        <message>
            <source>There is no room for the oldest {count} messages: it is not shown them. A line in the conversation shows where they end. The system prompt and your question always stay.</source>
            <translation>Für die {count} ältesten Nachrichten ist kein Platz: Das Modell sieht sie nicht. Eine Linie in der Unterhaltung zeigt, wo sie enden. Die Systemanweisung und Ihre Frage bleiben immer.</translation>
        </message>
        <message>
            <source>When it is full, the oldest messages are left out. The system prompt and your question always stay.</source>
            <translation>Wenn er voll ist, werden die ältesten Nachrichten weggelassen. Die Systemanweisung und Ihre Frage bleiben immer.</translation>
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
        <name>ConversationDesk</name>
        <message>
            <source>What you write now is not kept.</source>
            <translation>Was Sie jetzt schreiben, wird nicht aufbewahrt.</translation>
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
            <source>Conversation</source>
            <translation>Unterhaltung</translation>
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
            <source>Import a conversation…</source>
            <translation>Unterhaltung importieren…</translation>
        </message>
        <message>
            <source>Conversations</source>
            <translation>Unterhaltungen</translation>
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
            <source>Export as Markdown…</source>
            <translation>Als Markdown exportieren…</translation>
        </message>
        <message>
            <source>Export as JSON…</source>
            <translation>Als JSON exportieren…</translation>
        </message>
        <message>
            <source>Import…</source>
            <translation>Importieren…</translation>
        </message>
        <message>
            <source>Delete</source>
            <translation>Löschen</translation>
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
            <translation>Tokens des Entwurfs, die das Zielmodell geprüft hat</translation>
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
            <source>Acceptance rate</source>
            <translation>Annahmequote</translation>
        </message>
        <message>
            <source>Accepted / proposed</source>
            <translation>Angenommen / vorgeschlagen</translation>
        </message>
        <message>
            <source>Mean length</source>
            <translation>Mittlere Länge</translation>
        </message>
        <message>
            <source>Tokens per round, corrections and bonuses included</source>
            <translation>Tokens je Runde, mit Korrekturen und Boni</translation>
        </message>
        <message>
            <source>Tokens/s</source>
            <translation>Tokens/s</translation>
        </message>
        <message>
            <source>Of the last second while a reply is written, then of all of it</source>
            <translation>Der letzten Sekunde, solange eine Antwort geschrieben wird, danach der ganzen Antwort</translation>
        </message>
    </context>
    <context>
        <name>DropVeil</name>
        <message>
            <source>Drop it here</source>
            <translation>Hier ablegen</translation>
        </message>
        <message>
            <source>A model becomes the target, a folder is searched for models, a conversation (.json) is imported, a text goes with the question.</source>
            <translation>Ein Modell wird Zielmodell, ein Ordner wird nach Modellen durchsucht, eine Unterhaltung (.json) wird importiert, ein Text geht mit der Frage.</translation>
        </message>
    </context>
    <context>
        <name>DroppedLine</name>
        <message>
            <source>The model no longer reads what is above</source>
            <translation>Was hierüber steht, liest das Modell nicht mehr</translation>
        </message>
        <message>
            <source>There is no room for it in the context. The system prompt and your question always stay.</source>
            <translation>Dafür ist im Kontext kein Platz. Die Systemanweisung und Ihre Frage bleiben immer.</translation>
        </message>
    </context>
    <context>
        <name>ErrorDialog</name>
        <message>
            <source>Error report</source>
            <translation>Fehlerbericht</translation>
        </message>
        <message>
            <source>This is what the makers of Outrider need to find the mistake: versions, the names of the models, and where in the program it happened. No word of your conversations is in it.</source>
            <translation>Das brauchen die Macher von Outrider, um den Fehler zu finden: Versionen, die Namen der Modelle, und wo im Programm es geschah. Kein Wort Ihrer Unterhaltungen ist darin.</translation>
        </message>
        <message>
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <source>Open the log folder</source>
            <translation>Ordner des Protokolls öffnen</translation>
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
            <source>There is not enough memory for this. Choose a smaller model, or close other programs.</source>
            <translation>Dafür reicht der Arbeitsspeicher nicht. Wählen Sie ein kleineres Modell oder schließen Sie andere Programme.</translation>
        </message>
        <message>
            <source>Something unexpected went wrong ({error}). You can go on. To report it, copy the details.</source>
            <translation>Etwas Unerwartetes ist schiefgegangen ({error}). Sie können weiterarbeiten. Um es zu melden, kopieren Sie die Einzelheiten.</translation>
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
            <source>The program ended while this was being written.</source>
            <translation>Das Programm endete, während dies geschrieben wurde.</translation>
        </message>
        <message>
            <source>stopped at the limit</source>
            <translation>an der Grenze beendet</translation>
        </message>
        <message>
            <source>the context is full</source>
            <translation>der Kontext ist voll</translation>
        </message>
        <message>
            <source>an empty reply</source>
            <translation>eine leere Antwort</translation>
        </message>
    </context>
    <context>
        <name>Files</name>
        <message>
            <source>Markdown (*.md)</source>
            <translation>Markdown (*.md)</translation>
        </message>
        <message>
            <source>Conversation (*.json)</source>
            <translation>Unterhaltung (*.json)</translation>
        </message>
        <message>
            <source>Export the conversation</source>
            <translation>Unterhaltung exportieren</translation>
        </message>
        <message>
            <source>Import a conversation</source>
            <translation>Unterhaltung importieren</translation>
        </message>
        <message>
            <source>Attach text files</source>
            <translation>Textdateien anhängen</translation>
        </message>
        <message>
            <source>Add a models folder</source>
            <translation>Modellordner hinzufügen</translation>
        </message>
        <message>
            <source>JSON (*.json)</source>
            <translation>JSON (*.json)</translation>
        </message>
    </context>
    <context>
        <name>FirstLaunchView</name>
        <message>
            <source>Try the demo pair</source>
            <translation>Das Demopaar ausprobieren</translation>
        </message>
        <message>
            <source>Choose a folder with models…</source>
            <translation>Ordner mit Modellen wählen…</translation>
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
            <source>The text is exactly what the large model would have written alone. Only the waiting is shorter.</source>
            <translation>Der Text ist genau der, den das große Modell allein geschrieben hätte. Nur das Warten ist kürzer.</translation>
        </message>
        <message>
            <source>The draft</source>
            <translation>Der Entwurf</translation>
        </message>
        <message>
            <source>is small and quick. It runs ahead and guesses the next few words.</source>
            <translation>ist klein und schnell. Er läuft voraus und rät die nächsten Wörter.</translation>
        </message>
        <message>
            <source>The target</source>
            <translation>Das Zielmodell</translation>
        </message>
        <message>
            <source>is large and decides. It checks all the guesses in one go, keeps what it would have written itself, and puts the first wrong one right.</source>
            <translation>ist groß und entscheidet. Es prüft alles Geratene auf einmal, behält, was es selbst geschrieben hätte, und berichtigt das erste Falsche.</translation>
        </message>
        <message>
            <source>A small pair that comes with the program: it is there at once</source>
            <translation>Ein kleines Paar, das mit dem Programm kommt: Es ist sofort da</translation>
        </message>
        <message>
            <source>A folder with GGUF models that are on this computer already</source>
            <translation>Ein Ordner mit GGUF-Modellen, die schon auf diesem Computer sind</translation>
        </message>
        <message>
            <source>The demo pair is tiny: it shows how it works. For real answers choose models of your own.</source>
            <translation>Das Demopaar ist winzig: Es zeigt, wie es geht. Für richtige Antworten wählen Sie eigene Modelle.</translation>
        </message>
    </context>
    <context>
        <name>FolderDesk</name>
        <message>
            <source>The models folder {folder} cannot be read at present ({reason}). What is loaded goes on working; the folder is read again as soon as it is back.</source>
            <translation>Der Modellordner {folder} ist zurzeit nicht lesbar ({reason}). Was geladen ist, arbeitet weiter; der Ordner wird wieder gelesen, sobald er zurück ist.</translation>
        </message>
    </context>
    <context>
        <name>FolderList</name>
        <message>
            <source>Models folders</source>
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
            <source>Take the chosen folder off this list; its files stay where they are</source>
            <translation>Den gewählten Ordner aus dieser Liste nehmen; seine Dateien bleiben, wo sie sind</translation>
        </message>
        <message>
            <source>{folder} · not there at present</source>
            <translation>{folder} · zurzeit nicht da</translation>
        </message>
        <message>
            <source>No folder yet: add one with GGUF models.</source>
            <translation>Noch kein Ordner: Fügen Sie einen mit GGUF-Modellen hinzu.</translation>
        </message>
    </context>
    <context>
        <name>GeneralPage</name>
        <message>
            <source>As the system</source>
            <translation>Wie das System</translation>
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
            <source>Theme</source>
            <translation>Erscheinungsbild</translation>
        </message>
        <message>
            <source>Language</source>
            <translation>Sprache</translation>
        </message>
        <message>
            <source>From the next start on.</source>
            <translation>Gilt ab dem nächsten Start.</translation>
        </message>
        <message>
            <source>{size} pt</source>
            <translation>{size} pt</translation>
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
            <source>When a long reply ends while you are elsewhere</source>
            <translation>Wenn eine lange Antwort endet, während Sie woanders sind</translation>
        </message>
        <message>
            <source>Never</source>
            <translation>Nie</translation>
        </message>
        <message>
            <source>Notifications</source>
            <translation>Benachrichtigungen</translation>
        </message>
    </context>
    <context>
        <name>GenerationPage</name>
        <message>
            <source>This conversation</source>
            <translation>Diese Unterhaltung</translation>
        </message>
        <message>
            <source>New conversations</source>
            <translation>Neue Unterhaltungen</translation>
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
            <translation>Systemanweisung</translation>
        </message>
        <message>
            <source>Own values</source>
            <translation>Eigene Werte</translation>
        </message>
        <message>
            <source>Own text</source>
            <translation>Eigener Text</translation>
        </message>
        <message>
            <source>None</source>
            <translation>Keine</translation>
        </message>
    </context>
    <context>
        <name>Library</name>
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
            <source>Memory</source>
            <translation>Speicher</translation>
        </message>
        <message>
            <source>State</source>
            <translation>Zustand</translation>
        </message>
        <message>
            <source>Tokens: loaded with, of those it was trained for</source>
            <translation>Tokens: mit so vielen geladen, von denen, für die es trainiert wurde</translation>
        </message>
        <message>
            <source>Memory it needs to run, an estimate, against what is free</source>
            <translation>Speicher, den es ungefähr braucht, und was frei ist</translation>
        </message>
        <message>
            <source>Needs {needed}, {free} free</source>
            <translation>Braucht {needed}, {free} frei</translation>
        </message>
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
            <source>Its folder is not there at present</source>
            <translation>Sein Ordner ist zurzeit nicht da</translation>
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
            <source>Fits in memory</source>
            <translation>Passt in den Speicher</translation>
        </message>
        <message>
            <source>context {context}</source>
            <translation>Kontext {context}</translation>
        </message>
        <message>
            <source>needs {needed} of memory</source>
            <translation>braucht {needed} Speicher</translation>
        </message>
        <message>
            <source>{free} of memory free</source>
            <translation>{free} Speicher frei</translation>
        </message>
    </context>
    <context>
        <name>LibraryDialog</name>
        <message>
            <source>Models</source>
            <translation>Modelle</translation>
        </message>
        <message>
            <source>Filter by name, quantisation, state…</source>
            <translation>Nach Name, Quantisierung, Zustand filtern…</translation>
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
            <source>Turn the order round</source>
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
            <source>How this model is loaded: context, threads, GPU layers, cache</source>
            <translation>Wie dieses Modell geladen wird: Kontext, Threads, GPU-Schichten, Cache</translation>
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
            <source>Give its memory back</source>
            <translation>Seinen Speicher freigeben</translation>
        </message>
        <message>
            <source>Load what is chosen now, not with the next message</source>
            <translation>Was gewählt ist, jetzt laden und nicht erst mit der nächsten Nachricht</translation>
        </message>
        <message>
            <source>No models yet. Add a folder with GGUF models, or drop one onto the window.</source>
            <translation>Noch keine Modelle. Fügen Sie einen Ordner mit GGUF-Modellen hinzu oder legen Sie ein Modell auf dem Fenster ab.</translation>
        </message>
        <message>
            <source>No model has all of these words.</source>
            <translation>Kein Modell hat alle diese Wörter.</translation>
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
            <source>Open this link in your browser?</source>
            <translation>Diesen Link im Browser öffnen?</translation>
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
    </context>
    <context>
        <name>LivePlot</name>
        <message>
            <source>Scroll: {plot}</source>
            <translation>Blättern: {plot}</translation>
        </message>
    </context>
    <context>
        <name>LoadNotice</name>
        <message>
            <source>Load anyway</source>
            <translation>Trotzdem laden</translation>
        </message>
        <message>
            <source>Do not load it</source>
            <translation>Nicht laden</translation>
        </message>
    </context>
    <context>
        <name>Lookahead</name>
        <message>
            <source>auto: by measurement</source>
            <translation>auto: nach Messung</translation>
        </message>
        <message>
            <source>K = {k}, expected {speedup}×</source>
            <translation>K = {k}, erwartet {speedup}×</translation>
        </message>
        <message>
            <source>K = {k}, trying whether it pays</source>
            <translation>K = {k}, prüft, ob es lohnt</translation>
        </message>
        <message>
            <source>plain: this draft doesn't pay here</source>
            <translation>einfach: Entwurf lohnt hier nicht</translation>
        </message>
        <message>
            <source>K = {k} (fixed)</source>
            <translation>K = {k} (fest)</translation>
        </message>
        <message>
            <source>plain: the lookahead is 0</source>
            <translation>einfach: Die Vorausschau ist 0</translation>
        </message>
        <message>
            <source>plain: no draft is chosen</source>
            <translation>einfach: kein Entwurf gewählt</translation>
        </message>
        <message>
            <source>plain: the text repeats too little</source>
            <translation>einfach: zu wenig Wiederholung</translation>
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
            <source>What the two models do</source>
            <translation>Was die zwei Modelle tun</translation>
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
            <source>New chat</source>
            <translation>Neuer Chat</translation>
        </message>
        <message>
            <source>Go to the prompt</source>
            <translation>Zur Eingabe</translation>
        </message>
        <message>
            <source>Go to the conversation</source>
            <translation>Zur Unterhaltung</translation>
        </message>
        <message>
            <source>Cancel what is going on</source>
            <translation>Abbrechen, was gerade läuft</translation>
        </message>
        <message>
            <source>Search the conversations</source>
            <translation>Unterhaltungen durchsuchen</translation>
        </message>
        <message>
            <source>Next conversation</source>
            <translation>Nächste Unterhaltung</translation>
        </message>
        <message>
            <source>Previous conversation</source>
            <translation>Vorige Unterhaltung</translation>
        </message>
        <message>
            <source>Rename this conversation</source>
            <translation>Diese Unterhaltung umbenennen</translation>
        </message>
        <message>
            <source>Delete this conversation</source>
            <translation>Diese Unterhaltung löschen</translation>
        </message>
        <message>
            <source>Undo deleting a conversation</source>
            <translation>Löschen einer Unterhaltung rückgängig machen</translation>
        </message>
        <message>
            <source>Export as Markdown…</source>
            <translation>Als Markdown exportieren…</translation>
        </message>
        <message>
            <source>Export as JSON…</source>
            <translation>Als JSON exportieren…</translation>
        </message>
        <message>
            <source>Import a conversation…</source>
            <translation>Unterhaltung importieren…</translation>
        </message>
        <message>
            <source>Choose a target…</source>
            <translation>Zielmodell wählen…</translation>
        </message>
        <message>
            <source>Choose a draft…</source>
            <translation>Entwurf wählen…</translation>
        </message>
        <message>
            <source>Choose the lookahead…</source>
            <translation>Vorausschau wählen…</translation>
        </message>
        <message>
            <source>Look for models again</source>
            <translation>Noch einmal nach Modellen suchen</translation>
        </message>
        <message>
            <source>Compare plain and speculative…</source>
            <translation>Einfach und spekulativ vergleichen…</translation>
        </message>
        <message>
            <source>Lookahead sweep…</source>
            <translation>Vorausschau durchprobieren…</translation>
        </message>
        <message>
            <source>Show the chats</source>
            <translation>Die Chats zeigen</translation>
        </message>
        <message>
            <source>Show the Speculation panel</source>
            <translation>Die Seite „Spekulation“ zeigen</translation>
        </message>
        <message>
            <source>Colour tokens</source>
            <translation>Tokens einfärben</translation>
        </message>
        <message>
            <source>Theme: as the system</source>
            <translation>Erscheinungsbild: wie das System</translation>
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
            <source>Larger letters</source>
            <translation>Größere Schrift</translation>
        </message>
        <message>
            <source>Smaller letters</source>
            <translation>Kleinere Schrift</translation>
        </message>
        <message>
            <source>Letters of the usual size</source>
            <translation>Schrift in üblicher Größe</translation>
        </message>
        <message>
            <source>Attach text files…</source>
            <translation>Textdateien anhängen…</translation>
        </message>
        <message>
            <source>Open the log folder</source>
            <translation>Ordner des Protokolls öffnen</translation>
        </message>
        <message>
            <source>The log is in {folder}.</source>
            <translation>Das Protokoll liegt in {folder}.</translation>
        </message>
        <message>
            <source>There is no log yet in {folder}.</source>
            <translation>In {folder} gibt es noch kein Protokoll.</translation>
        </message>
        <message>
            <source>Settings…</source>
            <translation>Einstellungen…</translation>
        </message>
        <message>
            <source>Sampling and system prompt of this conversation…</source>
            <translation>Sampling und Systemanweisung dieser Unterhaltung…</translation>
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
            <source>Everything is saved again.</source>
            <translation>Alles ist wieder gespeichert.</translation>
        </message>
        <message>
            <source>Models…</source>
            <translation>Modelle…</translation>
        </message>
        <message>
            <source>Add a models folder…</source>
            <translation>Modellordner hinzufügen…</translation>
        </message>
        <message>
            <source>Options of the target…</source>
            <translation>Optionen des Zielmodells…</translation>
        </message>
        <message>
            <source>Load what is chosen</source>
            <translation>Laden, was gewählt ist</translation>
        </message>
        <message>
            <source>Unload the models</source>
            <translation>Modelle entladen</translation>
        </message>
        <message>
            <source>{name} is no file and no folder that can be read.</source>
            <translation>{name} ist weder eine Datei noch ein Ordner, der gelesen werden kann.</translation>
        </message>
        <message>
            <source>{model} is the target now. It is loaded with the next message.</source>
            <translation>{model} ist jetzt das Zielmodell. Es wird mit der nächsten Nachricht geladen.</translation>
        </message>
        <message>
            <source>{model} is the target now; the other models were left. It is loaded with the next message.</source>
            <translation>{model} ist jetzt das Zielmodell; die anderen Modelle blieben unberücksichtigt. Es wird mit der nächsten Nachricht geladen.</translation>
        </message>
        <message>
            <source>Only files and folders on this computer can be dropped here.</source>
            <translation>Hier können nur Dateien und Ordner dieses Computers abgelegt werden.</translation>
        </message>
    </context>
    <context>
        <name>MarkdownText</name>
        <message>
            <source>Reply</source>
            <translation>Antwort</translation>
        </message>
        <message>
            <source>The rest of this reply is too long to be shown. Copying the reply gives all of it.</source>
            <translation>Der Rest dieser Antwort ist zu lang für die Anzeige. Wer die Antwort kopiert, erhält alles.</translation>
        </message>
    </context>
    <context>
        <name>MessageActions</name>
        <message>
            <source>Edit and send again</source>
            <translation>Bearbeiten und noch einmal senden</translation>
        </message>
        <message>
            <source>Copy your message</source>
            <translation>Ihre Nachricht kopieren</translation>
        </message>
        <message>
            <source>Delete this message and its reply</source>
            <translation>Diese Nachricht und ihre Antwort löschen</translation>
        </message>
        <message>
            <source>The version of your message before</source>
            <translation>Die Version Ihrer Nachricht davor</translation>
        </message>
        <message>
            <source>The next version of your message</source>
            <translation>Die nächste Version Ihrer Nachricht</translation>
        </message>
        <message>
            <source>Write another reply</source>
            <translation>Eine andere Antwort schreiben</translation>
        </message>
        <message>
            <source>Continue this reply</source>
            <translation>Diese Antwort fortsetzen</translation>
        </message>
        <message>
            <source>Copy the reply</source>
            <translation>Die Antwort kopieren</translation>
        </message>
        <message>
            <source>The reply before this one</source>
            <translation>Die Antwort davor</translation>
        </message>
        <message>
            <source>The next reply</source>
            <translation>Die nächste Antwort</translation>
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
            <translation>Entwurf</translation>
        </message>
        <message>
            <source>Lookahead: tokens proposed per round. Auto measures what pays; 0 is plain decoding.</source>
            <translation>Vorausschau: vorgeschlagene Tokens je Runde. Auto misst, was lohnt; 0 ist einfaches Dekodieren.</translation>
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
            <source>Each round as many as promise the most tokens per second</source>
            <translation>In jeder Runde so viele, wie die meisten Tokens pro Sekunde versprechen</translation>
        </message>
        <message>
            <source>Show or hide the chats</source>
            <translation>Die Chats zeigen oder verbergen</translation>
        </message>
        <message>
            <source>Show or hide the Speculation panel</source>
            <translation>Die Seite „Spekulation“ zeigen oder verbergen</translation>
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
            <source>Models and their folders</source>
            <translation>Modelle und ihre Ordner</translation>
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
            <source>It is loaded with the next message.</source>
            <translation>Es wird mit der nächsten Nachricht geladen.</translation>
        </message>
    </context>
    <context>
        <name>ModelDesk</name>
        <message>
            <source>No target is chosen. Choose one above, or a folder with GGUF models.</source>
            <translation>Es ist kein Zielmodell gewählt. Wählen Sie oben eines oder einen Ordner mit GGUF-Modellen.</translation>
        </message>
    </context>
    <context>
        <name>ModelOptionsDialog</name>
        <message>
            <source>Options of {model}</source>
            <translation>Optionen von {model}</translation>
        </message>
        <message>
            <source>Context</source>
            <translation>Kontext</translation>
        </message>
        <message>
            <source>Cache type</source>
            <translation>Cache-Format</translation>
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
            <source>automatic</source>
            <translation>automatisch</translation>
        </message>
        <message>
            <source>16 bits (f16)</source>
            <translation>16 Bit (f16)</translation>
        </message>
        <message>
            <source>8 bits (q8_0)</source>
            <translation>8 Bit (q8_0)</translation>
        </message>
        <message>
            <source>4 bits (q4_0)</source>
            <translation>4 Bit (q4_0)</translation>
        </message>
        <message>
            <source>Tokens that it keeps in mind. Automatic: {usual:,}.</source>
            <translation>Tokens, die es im Blick behält. Automatisch: {usual:,}.</translation>
        </message>
        <message>
            <source>Tokens that it keeps in mind, at most {most:,}. Automatic: {usual:,}.</source>
            <translation>Tokens, die es im Blick behält, höchstens {most:,}. Automatisch: {usual:,}.</translation>
        </message>
        <message>
            <source>How many layers a graphics card computes; -1 is all. Automatic: all.</source>
            <translation>Wie viele Schichten eine Grafikkarte rechnet; -1 sind alle. Automatisch: alle.</translation>
        </message>
        <message>
            <source>Processor threads that compute. Automatic: found out by measuring.</source>
            <translation>Threads des Prozessors, die rechnen. Automatisch: durch Messen ermittelt.</translation>
        </message>
        <message>
            <source>Only of GGUF models.</source>
            <translation>Nur bei GGUF-Modellen.</translation>
        </message>
        <message>
            <source>The llama.cpp that is installed uses no graphics card.</source>
            <translation>Das installierte llama.cpp nutzt keine Grafikkarte.</translation>
        </message>
        <message>
            <source>The number format of the cache: fewer bits take less memory and round more.</source>
            <translation>Das Zahlenformat des Caches: Weniger Bits brauchen weniger Speicher und runden stärker.</translation>
        </message>
        <message>
            <source>The cache of this model can have no other format.</source>
            <translation>Der Cache dieses Modells kann kein anderes Format haben.</translation>
        </message>
        <message>
            <source>Reset</source>
            <translation>Zurücksetzen</translation>
        </message>
        <message>
            <source>All automatic, as at first</source>
            <translation>Alles automatisch, wie am Anfang</translation>
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
            <source>It was trained for {most:,} tokens, and cannot use more.</source>
            <translation>Es wurde für {most:,} Tokens trainiert und kann nicht mehr nutzen.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory, and {free} are free.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher, und {free} sind frei.</translation>
        </message>
    </context>
    <context>
        <name>Models</name>
        <message>
            <source>automatic</source>
            <translation>automatisch</translation>
        </message>
        <message>
            <source>automatic · {draft}</source>
            <translation>automatisch · {draft}</translation>
        </message>
        <message>
            <source>The best draft that is there for the target</source>
            <translation>Der beste vorhandene Entwurf für das Zielmodell</translation>
        </message>
        <message>
            <source>No draft model: proposals come from the text so far</source>
            <translation>Kein Entwurfsmodell: Vorschläge kommen aus dem bisherigen Text</translation>
        </message>
        <message>
            <source>n-gram</source>
            <translation>N-Gramm</translation>
        </message>
        <message>
            <source>none</source>
            <translation>keiner</translation>
        </message>
        <message>
            <source>Plain decoding: no draft</source>
            <translation>Einfaches Dekodieren: kein Entwurf</translation>
        </message>
        <message>
            <source>{model} · slower</source>
            <translation>{model} · langsamer</translation>
        </message>
        <message>
            <source>Its folder is not there at present.</source>
            <translation>Sein Ordner ist zurzeit nicht da.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory; beside the target {free} are free.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher; neben dem Zielmodell sind {free} frei.</translation>
        </message>
        <message>
            <source>It needs about {needed} of memory, and {free} are free.</source>
            <translation>Es braucht etwa {needed} Arbeitsspeicher, und {free} sind frei.</translation>
        </message>
        <message>
            <source>{target} and {draft} need about {needed} of memory, and {free} are free. Loading them may slow this computer down, or fail.</source>
            <translation>{target} und {draft} brauchen etwa {needed} Arbeitsspeicher, und {free} sind frei. Sie zu laden kann diesen Computer verlangsamen oder fehlschlagen.</translation>
        </message>
        <message>
            <source>{target} needs about {needed} of memory, and {free} are free. Loading it may slow this computer down, or fail.</source>
            <translation>{target} braucht etwa {needed} Arbeitsspeicher, und {free} sind frei. Es zu laden kann diesen Computer verlangsamen oder fehlschlagen.</translation>
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
            <source>The reply is written</source>
            <translation>Die Antwort ist fertig</translation>
        </message>
        <message>
            <source>The reply could not be written</source>
            <translation>Die Antwort konnte nicht geschrieben werden</translation>
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
            <source>As a picture (PNG)…</source>
            <translation>Als Bild (PNG)…</translation>
        </message>
        <message>
            <source>As a table (CSV)…</source>
            <translation>Als Tabelle (CSV)…</translation>
        </message>
        <message>
            <source>Go on drawing</source>
            <translation>Weiter zeichnen</translation>
        </message>
        <message>
            <source>Save the plots as a picture</source>
            <translation>Diagramme als Bild speichern</translation>
        </message>
        <message>
            <source>Pictures (*.png)</source>
            <translation>Bilder (*.png)</translation>
        </message>
        <message>
            <source>Save the figures as a table</source>
            <translation>Zahlen als Tabelle speichern</translation>
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
            <translation>Position im Entwurf</translation>
        </message>
        <message>
            <source>Accepted of the proposed tokens</source>
            <translation>Angenommene der vorgeschlagenen Tokens</translation>
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
            <source>New chat</source>
            <translation>Neuer Chat</translation>
        </message>
        <message>
            <source>Details…</source>
            <translation>Einzelheiten…</translation>
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
        <name>PromptBox</name>
        <message>
            <source>Ask something…</source>
            <translation>Fragen Sie etwas…</translation>
        </message>
        <message>
            <source>Prompt</source>
            <translation>Eingabe</translation>
        </message>
        <message>
            <source>Enter sends, Shift+Enter breaks the line</source>
            <translation>Eingabe sendet, Umschalt+Eingabe bricht die Zeile um</translation>
        </message>
        <message>
            <source>Attach text files</source>
            <translation>Textdateien anhängen</translation>
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
        <name>Proof</name>
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
            <translation>Entwurf {name}</translation>
        </message>
        <message>
            <source>no draft</source>
            <translation>kein Entwurf</translation>
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
            <source>Speculative, auto</source>
            <translation>Spekulativ, auto</translation>
        </message>
        <message>
            <source>Speculative, K = {k}</source>
            <translation>Spekulativ, K = {k}</translation>
        </message>
        <message>
            <source>Waiting for what is running to end</source>
            <translation>Wartet auf das Ende dessen, was läuft</translation>
        </message>
        <message>
            <source>The main window asks whether the models shall be loaded</source>
            <translation>Das Hauptfenster fragt, ob die Modelle geladen werden sollen</translation>
        </message>
        <message>
            <source>Loading the models</source>
            <translation>Die Modelle werden geladen</translation>
        </message>
        <message>
            <source>Measuring this pair, once</source>
            <translation>Dieses Paar wird einmalig vermessen</translation>
        </message>
        <message>
            <source>Warming up</source>
            <translation>Wärmt sich auf</translation>
        </message>
        <message>
            <source>Measuring</source>
            <translation>Misst</translation>
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
            <source>Cancelled before anything was measured.</source>
            <translation>Abgebrochen, bevor etwas gemessen wurde.</translation>
        </message>
        <message>
            <source>{turns} turns of up to {tokens} tokens, a prompt of {prompt} tokens</source>
            <translation>{turns} Durchgänge mit bis zu {tokens} Tokens, eine Eingabe von {prompt} Tokens</translation>
        </message>
        <message>
            <source>one turn of up to {tokens} tokens, a prompt of {prompt} tokens</source>
            <translation>ein Durchgang mit bis zu {tokens} Tokens, eine Eingabe von {prompt} Tokens</translation>
        </message>
        <message>
            <source>Cancelled: the figures so far, of {size}.</source>
            <translation>Abgebrochen: die bisherigen Zahlen, aus: {size}.</translation>
        </message>
        <message>
            <source>Medians of {size}.</source>
            <translation>Mediane, aus: {size}.</translation>
        </message>
        <message>
            <source>middle half {low} to {high}</source>
            <translation>mittlere Hälfte {low} bis {high}</translation>
        </message>
        <message>
            <source>speedup</source>
            <translation>Beschleunigung</translation>
        </message>
        <message>
            <source>faster than plain decoding</source>
            <translation>schneller als einfaches Dekodieren</translation>
        </message>
        <message>
            <source>slower than plain decoding</source>
            <translation>langsamer als einfaches Dekodieren</translation>
        </message>
        <message>
            <source>not told apart from plain decoding</source>
            <translation>von einfachem Dekodieren nicht zu unterscheiden</translation>
        </message>
        <message>
            <source>too few turns to tell</source>
            <translation>zu wenige Durchgänge für ein Urteil</translation>
        </message>
        <message>
            <source>{length} tokens a round</source>
            <translation>{length} Tokens je Runde</translation>
        </message>
        <message>
            <source>K = {k} on average</source>
            <translation>im Mittel K = {k}</translation>
        </message>
        <message>
            <source>✓ identical, {alike} of {tokens} tokens</source>
            <translation>✓ identisch, {alike} von {tokens} Tokens</translation>
        </message>
        <message>
            <source>✓ the same up to a tie after {alike} of {tokens} tokens: the two best logits are {gap} apart</source>
            <translation>✓ gleich bis zu einem Gleichstand nach {alike} von {tokens} Tokens: Die zwei besten Logits liegen {gap} auseinander</translation>
        </message>
        <message>
            <source>✗ DIFFERENT after {alike} of {tokens} tokens, which must not be. Please report it.</source>
            <translation>✗ VERSCHIEDEN nach {alike} von {tokens} Tokens, was nicht sein darf. Bitte melden Sie es.</translation>
        </message>
        <message>
            <source>They part after {alike} of {tokens} tokens; it was cancelled before that was examined.</source>
            <translation>Sie trennen sich nach {alike} von {tokens} Tokens; es wurde abgebrochen, bevor das untersucht war.</translation>
        </message>
        <message>
            <source>✓ drawn alike</source>
            <translation>✓ gleich gezogen</translation>
        </message>
        <message>
            <source>Tokens are drawn at random here, so two replies differ, as two plain ones do. Each is drawn from the target's own distribution either way: a proposed one is kept with the probability min(1, target / draft), and is otherwise drawn anew from what the target has left over.</source>
            <translation>Hier werden Tokens zufällig gezogen, daher unterscheiden sich zwei Antworten, wie auch zwei einfache es tun. Beide Male wird aus der Verteilung des Zielmodells selbst gezogen: Ein vorgeschlagenes Token wird mit der Wahrscheinlichkeit min(1, Ziel / Entwurf) behalten und sonst aus dem neu gezogen, was dem Zielmodell übrig bleibt.</translation>
        </message>
        <message>
            <source>A batch of another size rounds the last bits otherwise, so where two tokens are as good as equal either may be written. Both outputs are the target's own.</source>
            <translation>Ein Stapel anderer Größe rundet die letzten Bits anders; wo zwei Tokens so gut wie gleichauf liegen, kann daher jedes von beiden stehen. Beide Ausgaben sind die des Zielmodells selbst.</translation>
        </message>
        <message>
            <source>Other programs took {share} of the processors meanwhile.</source>
            <translation>Andere Programme nahmen unterdessen {share} der Prozessoren in Anspruch.</translation>
        </message>
        <message>
            <source>Plain decoding itself varied by {share} between turns.</source>
            <translation>Schon das einfache Dekodieren schwankte zwischen den Durchgängen um {share}.</translation>
        </message>
        <message>
            <source>Fewer than three turns: no more than a first look.</source>
            <translation>Weniger als drei Durchgänge: nicht mehr als ein erster Blick.</translation>
        </message>
        <message>
            <source>Use K = {k}</source>
            <translation>K = {k} verwenden</translation>
        </message>
        <message>
            <source>K = 0, plain decoding</source>
            <translation>K = 0, einfaches Dekodieren</translation>
        </message>
        <message>
            <source>The fastest: {name}</source>
            <translation>Am schnellsten: {name}</translation>
        </message>
        <message>
            <source>{name} has the highest median speedup; its lead on {others} is within the spread</source>
            <translation>{name} hat die höchste mittlere Beschleunigung; der Vorsprung vor {others} liegt innerhalb der Streuung</translation>
        </message>
    </context>
    <context>
        <name>ProofDialog</name>
        <message>
            <source>Prompt</source>
            <translation>Eingabe</translation>
        </message>
        <message>
            <source>The prompt to be answered</source>
            <translation>Die Eingabe, die beantwortet wird</translation>
        </message>
        <message>
            <source>Greedy</source>
            <translation>Greedy</translation>
        </message>
        <message>
            <source>Drawn, temperature {t}</source>
            <translation>Gezogen, Temperatur {t}</translation>
        </message>
        <message>
            <source>Turns: how often each way answers</source>
            <translation>Durchgänge: wie oft jeder Weg antwortet</translation>
        </message>
        <message>
            <source>New tokens of a reply at most</source>
            <translation>Höchstens so viele neue Tokens je Antwort</translation>
        </message>
        <message>
            <source>How tokens are chosen</source>
            <translation>Wie Tokens gewählt werden</translation>
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
            <source>Figures, pair, versions and machine, to be pasted elsewhere</source>
            <translation>Zahlen, Paar, Versionen und Rechner, zum Einfügen anderswo</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <source>Turns</source>
            <translation>Durchgänge</translation>
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
        <name>QuestionBox</name>
        <message>
            <source>Your message</source>
            <translation>Ihre Nachricht</translation>
        </message>
    </context>
    <context>
        <name>QuestionEditor</name>
        <message>
            <source>Edit your message</source>
            <translation>Ihre Nachricht bearbeiten</translation>
        </message>
        <message>
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <source>Leave it as it was (Esc)</source>
            <translation>Lassen, wie sie war (Esc)</translation>
        </message>
        <message>
            <source>Send</source>
            <translation>Senden</translation>
        </message>
        <message>
            <source>Ask this instead (Enter)</source>
            <translation>Stattdessen dies fragen (Eingabe)</translation>
        </message>
    </context>
    <context>
        <name>QuotedFile</name>
        <message>
            <source>Attached file {name}</source>
            <translation>Angehängte Datei {name}</translation>
        </message>
        <message>
            <source>folded</source>
            <translation>eingeklappt</translation>
        </message>
        <message>
            <source>unfolded</source>
            <translation>ausgeklappt</translation>
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
        <name>SearchField</name>
        <message>
            <source>Search</source>
            <translation>Suchen</translation>
        </message>
        <message>
            <source>Search the conversations</source>
            <translation>Unterhaltungen durchsuchen</translation>
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
        <name>Settings</name>
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
            <source>The settings file was damaged: the usual settings are used. The old file is kept as {aside}.</source>
            <translation>Die Datei der Einstellungen war beschädigt: Es gelten die üblichen. Die alte Datei ist als {aside} aufbewahrt.</translation>
        </message>
        <message>
            <source>The settings cannot be read ({reason}): the usual ones are used, and nothing is saved in this run. Check the permissions of {path}.</source>
            <translation>Die Einstellungen sind nicht lesbar ({reason}): Es gelten die üblichen, und bis zum nächsten Start wird nichts gespeichert. Prüfen Sie die Rechte von {path}.</translation>
        </message>
        <message>
            <source>The settings cannot be saved ({reason}). Check the permissions and the free space of {path}.</source>
            <translation>Die Einstellungen können nicht gespeichert werden ({reason}). Prüfen Sie die Rechte und den freien Platz von {path}.</translation>
        </message>
        <message>
            <source>The settings file {path} was damaged: the usual settings are used.</source>
            <translation>Die Datei der Einstellungen {path} war beschädigt: Es gelten die üblichen.</translation>
        </message>
        <message>
            <source>no reason was given</source>
            <translation>ohne Angabe eines Grundes</translation>
        </message>
        <message>
            <source>Temperature</source>
            <translation>Temperatur</translation>
        </message>
        <message>
            <source>Top-k</source>
            <translation>Top-k</translation>
        </message>
        <message>
            <source>Top-p</source>
            <translation>Top-p</translation>
        </message>
        <message>
            <source>Min-p</source>
            <translation>Min-p</translation>
        </message>
        <message>
            <source>Repeat penalty</source>
            <translation>Wiederholungsabzug</translation>
        </message>
        <message>
            <source>Presence penalty</source>
            <translation>Anwesenheitsabzug</translation>
        </message>
        <message>
            <source>Frequency penalty</source>
            <translation>Häufigkeitsabzug</translation>
        </message>
        <message>
            <source>Penalty window</source>
            <translation>Fenster der Abzüge</translation>
        </message>
        <message>
            <source>Seed</source>
            <translation>Startwert</translation>
        </message>
        <message>
            <source>Max tokens</source>
            <translation>Höchstzahl Tokens</translation>
        </message>
        <message>
            <source>Stop strings</source>
            <translation>Stopptexte</translation>
        </message>
        <message>
            <source>System prompt</source>
            <translation>Systemanweisung</translation>
        </message>
        <message>
            <source>Text</source>
            <translation>Text</translation>
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
            <source>0: greedy, always the most likely token</source>
            <translation>0: greedy, immer das wahrscheinlichste Token</translation>
        </message>
        <message>
            <source>tokens to draw from at most · 0: off</source>
            <translation>aus höchstens so vielen Tokens wird gezogen · 0: aus</translation>
        </message>
        <message>
            <source>share of the probability to draw from · 1: off</source>
            <translation>Anteil der Wahrscheinlichkeit, aus dem gezogen wird · 1: aus</translation>
        </message>
        <message>
            <source>least probability, of the best token's · 0: off</source>
            <translation>kleinste Wahrscheinlichkeit, gemessen am besten Token · 0: aus</translation>
        </message>
        <message>
            <source>factor on tokens that were there already · 1: off</source>
            <translation>Faktor auf Tokens, die schon da waren · 1: aus</translation>
        </message>
        <message>
            <source>once for each token that was there · 0: off</source>
            <translation>einmal für jedes Token, das da war · 0: aus</translation>
        </message>
        <message>
            <source>for each time that it was there · 0: off</source>
            <translation>für jedes Mal, das es da war · 0: aus</translation>
        </message>
        <message>
            <source>last tokens that the penalties look at · 0: all</source>
            <translation>so viele letzte Tokens sehen die Abzüge · 0: alle</translation>
        </message>
        <message>
            <source>the same seed, the same reply · empty: another each time</source>
            <translation>gleicher Startwert, gleiche Antwort · leer: jedes Mal eine andere</translation>
        </message>
        <message>
            <source>new tokens · empty: until the context is full</source>
            <translation>neue Tokens · leer: bis der Kontext voll ist</translation>
        </message>
        <message>
            <source>Texts that end a reply, one on each line. Write \n for a line break, \t for a tab.</source>
            <translation>Texte, die eine Antwort beenden, einer je Zeile. Schreiben Sie \n für einen Zeilenumbruch, \t für einen Tabulator.</translation>
        </message>
        <message>
            <source>What the model is told before everything else</source>
            <translation>Was dem Modell vor allem anderen gesagt wird</translation>
        </message>
        <message>
            <source>Write a number from 0 to 100.</source>
            <translation>Schreiben Sie eine Zahl von 0 bis 100.</translation>
        </message>
        <message>
            <source>Write 0 or a whole number above 0.</source>
            <translation>Schreiben Sie 0 oder eine ganze Zahl über 0.</translation>
        </message>
        <message>
            <source>Write a number above 0, at most 1.</source>
            <translation>Schreiben Sie eine Zahl über 0, höchstens 1.</translation>
        </message>
        <message>
            <source>Write a number from 0 to 1.</source>
            <translation>Schreiben Sie eine Zahl von 0 bis 1.</translation>
        </message>
        <message>
            <source>Write a number above 0, at most 100.</source>
            <translation>Schreiben Sie eine Zahl über 0, höchstens 100.</translation>
        </message>
        <message>
            <source>Write a number from -100 to 100.</source>
            <translation>Schreiben Sie eine Zahl von -100 bis 100.</translation>
        </message>
        <message>
            <source>Write a whole number from 0 to 2⁶⁴ − 1, or nothing.</source>
            <translation>Schreiben Sie eine ganze Zahl von 0 bis 2⁶⁴ − 1 oder nichts.</translation>
        </message>
        <message>
            <source>Write a whole number above 0, or nothing.</source>
            <translation>Schreiben Sie eine ganze Zahl über 0 oder nichts.</translation>
        </message>
        <message>
            <source>At most {count} stop strings, of {length} characters each.</source>
            <translation>Höchstens {count} Stopptexte mit je {length} Zeichen.</translation>
        </message>
        <message>
            <source>At most {length} characters.</source>
            <translation>Höchstens {length} Zeichen.</translation>
        </message>
        <message>
            <source>Greedy, as Outrider does it unless you choose otherwise: each token is the most likely one. Top-k, top-p, min-p and the seed change nothing then.</source>
            <translation>Greedy, wie Outrider es tut, wenn Sie nichts anderes wählen: Jedes Token ist das wahrscheinlichste. Top-k, Top-p, Min-p und der Startwert ändern dann nichts.</translation>
        </message>
        <message>
            <source>Drawn, and the same again for the same question with the same models: with a seed a lookahead of auto proposes a fixed number of tokens, and an overlap of auto is off.</source>
            <translation>Gezogen, und für dieselbe Frage mit denselben Modellen wieder genauso: Mit einem Startwert schlägt die Vorausschau auto eine feste Zahl von Tokens vor, und die Überlappung auto ist aus.</translation>
        </message>
        <message>
            <source>Drawn: each reply is another one, of exactly the target's distribution, with a draft or without.</source>
            <translation>Gezogen: Jede Antwort ist eine andere, genau aus der Verteilung des Zielmodells, mit Entwurf oder ohne.</translation>
        </message>
        <message>
            <source>Greedy</source>
            <translation>Greedy</translation>
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
            <source>Write a name.</source>
            <translation>Schreiben Sie einen Namen.</translation>
        </message>
        <message>
            <source>There is one of this name.</source>
            <translation>Diesen Namen gibt es schon.</translation>
        </message>
        <message>
            <source>There are {count} already. Delete one first.</source>
            <translation>Es gibt schon {count}. Löschen Sie zuerst etwas.</translation>
        </message>
        <message>
            <source>it is too large</source>
            <translation>sie ist zu groß</translation>
        </message>
        <message>
            <source>it is no JSON, or damaged</source>
            <translation>sie ist kein JSON oder beschädigt</translation>
        </message>
        <message>
            <source>it holds something else</source>
            <translation>sie enthält etwas anderes</translation>
        </message>
        <message>
            <source>a newer version of Outrider wrote it; import it there</source>
            <translation>eine neuere Version von Outrider hat sie geschrieben; importieren Sie sie dort</translation>
        </message>
        <message>
            <source>what it lists cannot be read</source>
            <translation>was sie auflistet, ist nicht lesbar</translation>
        </message>
        <message>
            <source>there would be more than {count}</source>
            <translation>es wären mehr als {count}</translation>
        </message>
        <message>
            <source>entry {place} has no name that can be used</source>
            <translation>Eintrag {place} hat keinen brauchbaren Namen</translation>
        </message>
        <message>
            <source>the name “{field}” is there twice</source>
            <translation>den Namen „{field}“ gibt es zweimal</translation>
        </message>
        <message>
            <source>in entry {place} “{field}” makes no sense</source>
            <translation>in Eintrag {place} ergibt „{field}“ keinen Sinn</translation>
        </message>
        <message>
            <source>there is nothing in it</source>
            <translation>es steht nichts darin</translation>
        </message>
        <message>
            <source>Cannot import {name}: {reason}. Nothing was changed.</source>
            <translation>{name} kann nicht importiert werden: {reason}. Nichts wurde geändert.</translation>
        </message>
        <message>
            <source>Everything in it was here already.</source>
            <translation>Alles darin war schon da.</translation>
        </message>
        <message>
            <source>Imported: {count}.</source>
            <translation>Importiert: {count}.</translation>
        </message>
        <message>
            <source>{said} Renamed, as their names were taken: {count}.</source>
            <translation>{said} Umbenannt, da die Namen vergeben waren: {count}.</translation>
        </message>
        <message>
            <source>Automatic</source>
            <translation>Automatisch</translation>
        </message>
        <message>
            <source>The draft that is chosen in the window; with the lookahead auto also the text so far, whichever promises more.</source>
            <translation>Der im Fenster gewählte Entwurf; mit der Vorausschau auto auch der bisherige Text, je nachdem, was mehr verspricht.</translation>
        </message>
        <message>
            <source>Draft model</source>
            <translation>Entwurfsmodell</translation>
        </message>
        <message>
            <source>Only the draft model proposes, where one is chosen.</source>
            <translation>Nur das Entwurfsmodell schlägt vor, wo eines gewählt ist.</translation>
        </message>
        <message>
            <source>N-gram</source>
            <translation>N-Gramm</translation>
        </message>
        <message>
            <source>What stands in the text already is proposed when it begins to repeat. Needs no draft.</source>
            <translation>Was schon im Text steht, wird vorgeschlagen, wenn es sich zu wiederholen beginnt. Braucht keinen Entwurf.</translation>
        </message>
        <message>
            <source>Plain</source>
            <translation>Einfach</translation>
        </message>
        <message>
            <source>Nothing is proposed: the target writes token by token.</source>
            <translation>Nichts wird vorgeschlagen: Das Zielmodell schreibt Token für Token.</translation>
        </message>
        <message>
            <source>Rejection sampling</source>
            <translation>Verwerfungsmethode</translation>
        </message>
        <message>
            <source>A proposed token is kept with the probability target / draft, at most 1. Accepts most.</source>
            <translation>Ein vorgeschlagenes Token wird mit der Wahrscheinlichkeit Ziel / Entwurf behalten, höchstens 1. Nimmt am meisten an.</translation>
        </message>
        <message>
            <source>Exact match</source>
            <translation>Genaue Übereinstimmung</translation>
        </message>
        <message>
            <source>A proposed token is kept where the target draws the same. Accepts less; with a seed a reply repeats whatever the lookahead.</source>
            <translation>Ein vorgeschlagenes Token wird behalten, wo das Zielmodell dasselbe zieht. Nimmt weniger an; mit einem Startwert wiederholt sich eine Antwort bei jeder Vorausschau.</translation>
        </message>
        <message>
            <source>On where draft and target do not compute on the same cores.</source>
            <translation>An, wo Entwurf und Zielmodell nicht auf denselben Kernen rechnen.</translation>
        </message>
        <message>
            <source>On</source>
            <translation>An</translation>
        </message>
        <message>
            <source>The draft goes on proposing while the target verifies.</source>
            <translation>Der Entwurf schlägt weiter vor, während das Zielmodell prüft.</translation>
        </message>
        <message>
            <source>Off</source>
            <translation>Aus</translation>
        </message>
        <message>
            <source>The draft waits for the target.</source>
            <translation>Der Entwurf wartet auf das Zielmodell.</translation>
        </message>
    </context>
    <context>
        <name>SettingsDialog</name>
        <message>
            <source>Settings</source>
            <translation>Einstellungen</translation>
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
            <source>Reset to defaults</source>
            <translation>Auf Standard zurücksetzen</translation>
        </message>
        <message>
            <source>This page only; what you saved under a name stays</source>
            <translation>Nur diese Seite; was Sie unter einem Namen gespeichert haben, bleibt</translation>
        </message>
        <message>
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
    </context>
    <context>
        <name>ShelfBar</name>
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
            <source>In the prompt</source>
            <translation>In der Eingabe</translation>
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
            <source>Bring the last prompt back</source>
            <translation>Die letzte Eingabe zurückholen</translation>
        </message>
        <message>
            <source>In the conversation</source>
            <translation>In der Unterhaltung</translation>
        </message>
        <message>
            <source>Next or previous message</source>
            <translation>Nachricht wechseln</translation>
        </message>
        <message>
            <source>Scroll</source>
            <translation>Blättern</translation>
        </message>
        <message>
            <source>To the beginning or the end</source>
            <translation>Anfang oder Ende</translation>
        </message>
        <message>
            <source>Next or previous token, while tokens are coloured</source>
            <translation>Token wechseln, wenn eingefärbt</translation>
        </message>
        <message>
            <source>In the list of conversations</source>
            <translation>In der Liste der Unterhaltungen</translation>
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
            <source>Undo deleting</source>
            <translation>Löschen rückgängig machen</translation>
        </message>
    </context>
    <context>
        <name>SpeculationPage</name>
        <message>
            <source>Whatever you choose here, replies are what the target would have written alone: nothing here is lossy. Only how long they take changes. Target, draft and lookahead are chosen in the window; the drafts n-gram and none, chosen there, go before the method.</source>
            <translation>Was Sie hier auch wählen: Antworten sind, was das Zielmodell allein geschrieben hätte; nichts hier ist verlustbehaftet. Nur die Dauer ändert sich. Zielmodell, Entwurf und Vorausschau werden im Fenster gewählt; die Entwürfe „N-Gramm“ und „keiner“, dort gewählt, gehen dem Verfahren vor.</translation>
        </message>
    </context>
    <context>
        <name>SpeculationPanel</name>
        <message>
            <source>Speculation</source>
            <translation>Spekulation</translation>
        </message>
        <message>
            <source>Acceptance rate</source>
            <translation>Annahmequote</translation>
        </message>
        <message>
            <source>Tokens per second</source>
            <translation>Tokens pro Sekunde</translation>
        </message>
        <message>
            <source>Acceptance by position</source>
            <translation>Annahme nach Position</translation>
        </message>
        <message>
            <source>Time after the prompt</source>
            <translation>Zeit nach der Eingabe</translation>
        </message>
        <message>
            <source>The lookahead K is the number of tokens proposed per round; auto chooses it in each round for the most tokens per second, by what rounds cost on this machine and how many proposals are accepted.</source>
            <translation>Die Vorausschau K ist die Zahl der vorgeschlagenen Tokens je Runde; auto wählt sie in jeder Runde für die meisten Tokens pro Sekunde, danach, was Runden auf diesem Rechner kosten und wie viele Vorschläge angenommen werden.</translation>
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
            <source>Answers the prompt with each lookahead from 0 to {most} and with auto, in turns; needs a draft. A question sent meanwhile waits.</source>
            <translation>Beantwortet die Eingabe abwechselnd mit jeder Vorausschau von 0 bis {most} und mit auto; braucht einen Entwurf. Eine Frage, die Sie inzwischen senden, wartet.</translation>
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
        <name>ThoughtView</name>
        <message>
            <source>Thinking…</source>
            <translation>Denkt nach…</translation>
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
            <source>folded</source>
            <translation>eingeklappt</translation>
        </message>
        <message>
            <source>unfolded</source>
            <translation>ausgeklappt</translation>
        </message>
    </context>
    <context>
        <name>TimeBar</name>
        <message>
            <source>Draft: waiting for proposals. Target: its forward passes. Rest: choosing tokens, text, the window.</source>
            <translation>Entwurf: Warten auf Vorschläge. Zielmodell: seine Durchläufe. Rest: Tokens wählen, Text, das Fenster.</translation>
        </message>
        <message>
            <source>Time</source>
            <translation>Zeit</translation>
        </message>
        <message>
            <source>Draft</source>
            <translation>Entwurf</translation>
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
            <source>The target's best</source>
            <translation>Die besten des Zielmodells</translation>
        </message>
        <message>
            <source>Target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <source>Draft</source>
            <translation>Entwurf</translation>
        </message>
    </context>
    <context>
        <name>TokenReply</name>
        <message>
            <source>No record of this reply's tokens.</source>
            <translation>Von den Tokens dieser Antwort ist nichts aufgezeichnet.</translation>
        </message>
    </context>
    <context>
        <name>TokenText</name>
        <message>
            <source>Reply, token by token</source>
            <translation>Antwort, Token für Token</translation>
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
            <translation>angenommen vom Entwurf</translation>
        </message>
        <message>
            <source>correction by the target</source>
            <translation>Korrektur des Zielmodells</translation>
        </message>
        <message>
            <source>bonus of the target</source>
            <translation>Bonus des Zielmodells</translation>
        </message>
        <message>
            <source>plain: nothing was proposed</source>
            <translation>einfach: nichts wurde vorgeschlagen</translation>
        </message>
        <message>
            <source>round {number}</source>
            <translation>Runde {number}</translation>
        </message>
        <message>
            <source>target {probability}</source>
            <translation>Zielmodell {probability}</translation>
        </message>
        <message>
            <source>draft {probability}</source>
            <translation>Entwurf {probability}</translation>
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
    </context>
    <context>
        <name>TranscriptView</name>
        <message>
            <source>Conversation</source>
            <translation>Unterhaltung</translation>
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
            <translation>Entwurf</translation>
        </message>
        <message>
            <source>target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <source>The draft guesses five words, the target keeps four and corrects the last.</source>
            <translation>Der Entwurf rät fünf Wörter, das Zielmodell behält vier und verbessert das letzte.</translation>
        </message>
    </context>
    <context>
        <name>WelcomeView</name>
        <message>
            <source>A small draft model rides ahead, the target confirms. Watch it happen at the side.</source>
            <translation>Ein kleines Entwurfsmodell reitet voraus, das Zielmodell bestätigt. Sehen Sie an der Seite zu.</translation>
        </message>
        <message>
            <source>What shall we talk about?</source>
            <translation>Worüber wollen wir sprechen?</translation>
        </message>
    </context>
    <context>
        <name>engine</name>
        <message>
            <source>{name}, a part of Outrider, is missing or damaged. Install Outrider again.</source>
            <translation>{name}, ein Teil von Outrider, fehlt oder ist beschädigt. Installieren Sie Outrider neu.</translation>
        </message>
        <message>
            <source>Cannot import {name}: {reason}. Nothing was changed.</source>
            <translation>{name} kann nicht importiert werden: {reason}. Nichts wurde geändert.</translation>
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
            <source>it is no text in UTF-8</source>
            <translation>sie ist kein Text in UTF-8</translation>
        </message>
        <message>
            <source>it is no JSON, or damaged</source>
            <translation>sie ist kein JSON oder beschädigt</translation>
        </message>
        <message>
            <source>a name stands twice in one object</source>
            <translation>ein Name steht zweimal in einem Objekt</translation>
        </message>
        <message>
            <source>{constant} is no number</source>
            <translation>{constant} ist keine Zahl</translation>
        </message>
        <message>
            <source>it is no conversation of Outrider</source>
            <translation>sie ist keine Unterhaltung von Outrider</translation>
        </message>
        <message>
            <source>a newer version of Outrider wrote it; import it there</source>
            <translation>eine neuere Version von Outrider hat sie geschrieben; importieren Sie sie dort</translation>
        </message>
        <message>
            <source>its version is unknown</source>
            <translation>ihre Version ist unbekannt</translation>
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
            <source>message {place} does not fit below the one that it names</source>
            <translation>Nachricht {place} passt nicht unter die, die sie nennt</translation>
        </message>
        <message>
            <source>it is no object</source>
            <translation>sie ist kein Objekt</translation>
        </message>
        <message>
            <source>its id is missing, or there twice</source>
            <translation>ihre Kennung fehlt oder ist doppelt</translation>
        </message>
        <message>
            <source>its parent is not among the messages before it</source>
            <translation>ihre Vorgängerin ist nicht unter den Nachrichten davor</translation>
        </message>
        <message>
            <source>its role is unknown</source>
            <translation>ihre Rolle ist unbekannt</translation>
        </message>
        <message>
            <source>its status is unknown</source>
            <translation>ihr Zustand ist unbekannt</translation>
        </message>
        <message>
            <source>a question has no trace</source>
            <translation>eine Frage hat keine Aufzeichnung</translation>
        </message>
        <message>
            <source>the branch that was shown is not there</source>
            <translation>der gezeigte Zweig ist nicht da</translation>
        </message>
        <message>
            <source>“{name}” is no time</source>
            <translation>„{name}“ ist keine Zeit</translation>
        </message>
        <message>
            <source>“{name}” is neither true nor false</source>
            <translation>„{name}“ ist weder wahr noch falsch</translation>
        </message>
        <message>
            <source>“{name}” is no text</source>
            <translation>„{name}“ ist kein Text</translation>
        </message>
        <message>
            <source>“{name}” is no object</source>
            <translation>„{name}“ ist kein Objekt</translation>
        </message>
        <message>
            <source>a number in “{name}” is too large</source>
            <translation>eine Zahl in „{name}“ ist zu groß</translation>
        </message>
        <message>
            <source>a text in “{name}” is none</source>
            <translation>ein Text in „{name}“ ist keiner</translation>
        </message>
        <message>
            <source>“{name}” is nested too deeply</source>
            <translation>„{name}“ ist zu tief verschachtelt</translation>
        </message>
        <message>
            <source>its trace is damaged</source>
            <translation>ihre Aufzeichnung ist beschädigt</translation>
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
            <source>{count} bytes</source>
            <translation>{count} Bytes</translation>
        </message>
        <message>
            <source>The conversations in {path} were written by a newer version of Outrider (format {version}, and this one knows {known}). Nothing was changed. Start the newer version to read them.</source>
            <translation>Die Unterhaltungen in {path} hat eine neuere Version von Outrider geschrieben (Format {version}; diese kennt {known}). Nichts wurde geändert. Starten Sie die neuere Version, um sie zu lesen.</translation>
        </message>
        <message>
            <source>The conversations in {path} cannot be read: {reason}. Put a copy of it from a backup there, or move it away to begin with an empty list.</source>
            <translation>Die Unterhaltungen in {path} sind nicht lesbar: {reason}. Legen Sie eine Sicherungskopie dorthin oder verschieben Sie die Datei, um mit einer leeren Liste zu beginnen.</translation>
        </message>
        <message>
            <source>Cannot open the conversations in {path}: {reason}. Make the folder and the file writable.</source>
            <translation>Die Unterhaltungen in {path} können nicht geöffnet werden: {reason}. Machen Sie Ordner und Datei beschreibbar.</translation>
        </message>
        <message>
            <source>Cannot open the conversations in {path}: there is no space left. Free some space and start Outrider again.</source>
            <translation>Die Unterhaltungen in {path} können nicht geöffnet werden: Es ist kein Platz mehr. Schaffen Sie Platz und starten Sie Outrider noch einmal.</translation>
        </message>
        <message>
            <source>Another program is using the conversations in {path}. Close the other Outrider and start again.</source>
            <translation>Ein anderes Programm benutzt die Unterhaltungen in {path}. Schließen Sie das andere Outrider und starten Sie noch einmal.</translation>
        </message>
        <message>
            <source>There is no space left in {parent}: what is new is not saved yet. Free some space; it is then saved by itself, as long as Outrider is open.</source>
            <translation>In {parent} ist kein Platz mehr: Was neu ist, ist noch nicht gespeichert. Schaffen Sie Platz; dann wird es von selbst gespeichert, solange Outrider offen ist.</translation>
        </message>
        <message>
            <source>What is new cannot be saved in {parent}: {reason}. It is tried again every few seconds, as long as Outrider is open.</source>
            <translation>Was neu ist, kann in {parent} nicht gespeichert werden: {reason}. Es wird alle paar Sekunden wieder versucht, solange Outrider offen ist.</translation>
        </message>
        <message>
            <source>A change could not be saved: {reason}.</source>
            <translation>Eine Änderung konnte nicht gespeichert werden: {reason}.</translation>
        </message>
        <message>
            <source>the file is damaged ({reason})</source>
            <translation>die Datei ist beschädigt ({reason})</translation>
        </message>
        <message>
            <source>it belongs to another program</source>
            <translation>sie gehört zu einem anderen Programm</translation>
        </message>
        <message>
            <source>it is no file of conversations</source>
            <translation>sie ist keine Datei mit Unterhaltungen</translation>
        </message>
        <message>
            <source>a probability is not a finite number</source>
            <translation>eine Wahrscheinlichkeit ist keine endliche Zahl</translation>
        </message>
        <message>
            <source>it cannot be read ({error}).</source>
            <translation>sie kann nicht gelesen werden ({error}).</translation>
        </message>
        <message>
            <source>{n_outputs} rows were asked of {count} tokens</source>
            <translation>{n_outputs} Zeilen wurden von {count} Tokens verlangt</translation>
        </message>
        <message>
            <source>its state could not be saved</source>
            <translation>sein Zustand konnte nicht gesichert werden</translation>
        </message>
        <message>
            <source>it was closed</source>
            <translation>es wurde geschlossen</translation>
        </message>
        <message>
            <source>llama.cpp gave no logits</source>
            <translation>llama.cpp gab keine Logits</translation>
        </message>
        <message>
            <source>Loading the model</source>
            <translation>Das Laden des Modells</translation>
        </message>
        <message>
            <source>llama.cpp cannot read it</source>
            <translation>llama.cpp kann sie nicht lesen</translation>
        </message>
        <message>
            <source>it does not write text token by token. Choose a chat or text model.</source>
            <translation>es schreibt Text nicht Token für Token. Wählen Sie ein Chat- oder Textmodell.</translation>
        </message>
        <message>
            <source>llama.cpp cannot make a context for it, memory may be short</source>
            <translation>llama.cpp kann dafür keinen Kontext anlegen, vielleicht reicht der Speicher nicht</translation>
        </message>
        <message>
            <source>Running GGUF models</source>
            <translation>Das Ausführen von GGUF-Modellen</translation>
        </message>
        <message>
            <source>{folder} holds nothing that runs here. Install Outrider again.</source>
            <translation>in {folder} ist nichts, was hier läuft. Installieren Sie Outrider neu.</translation>
        </message>
        <message>
            <source>its tokenizer gave no answer</source>
            <translation>sein Tokenizer gab keine Antwort</translation>
        </message>
        <message>
            <source>The prompt has {characters:,} characters; {longest_text:,} can be read. Shorten it.</source>
            <translation>Die Eingabe hat {characters:,} Zeichen; {longest_text:,} können gelesen werden. Kürzen Sie sie.</translation>
        </message>
        <message>
            <source>{n_outputs} rows were asked of {tokens} tokens</source>
            <translation>{n_outputs} Zeilen wurden von {tokens} Tokens verlangt</translation>
        </message>
        <message>
            <source>the memory of {device} is full</source>
            <translation>der Speicher von {device} ist voll</translation>
        </message>
        <message>
            <source>its weights are damaged: what it computes are not numbers.</source>
            <translation>seine Gewichte sind beschädigt: Was es rechnet, sind keine Zahlen.</translation>
        </message>
        <message>
            <source>it looks at what follows: it measures texts and writes none.</source>
            <translation>es blickt auf das Folgende: Es misst Texte und schreibt keine.</translation>
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
            <source>its config.json does not name the kind of model (model_type).</source>
            <translation>seine config.json nennt die Art des Modells (model_type) nicht.</translation>
        </message>
        <message>
            <source>the kind {kind!r} comes with program code of its own, which is never run</source>
            <translation>die Art {kind!r} bringt eigenen Programmcode mit, der nie ausgeführt wird</translation>
        </message>
        <message>
            <source>the kind {kind!r} is unknown to the installed transformers {version}</source>
            <translation>die Art {kind!r} ist dem installierten transformers {version} unbekannt</translation>
        </message>
        <message>
            <source>{reason}. Choose another model, or convert it to GGUF.</source>
            <translation>{reason}. Wählen Sie ein anderes Modell oder wandeln Sie es in GGUF um.</translation>
        </message>
        <message>
            <source>its config.json cannot be used ({first_line}).</source>
            <translation>seine config.json ist nicht brauchbar ({first_line}).</translation>
        </message>
        <message>
            <source>it is a translator between two texts (encoder and decoder).</source>
            <translation>es übersetzt zwischen zwei Texten (Encoder und Decoder).</translation>
        </message>
        <message>
            <source>{model_type} models do not write text token by token.</source>
            <translation>Modelle der Art {model_type} schreiben Text nicht Token für Token.</translation>
        </message>
        <message>
            <source>its files hold a {kind}, which does not write text.</source>
            <translation>seine Dateien enthalten ein {kind}, das keinen Text schreibt.</translation>
        </message>
        <message>
            <source>its config.json claims {value} for {name!r}, which its files do not have.</source>
            <translation>seine config.json behauptet {value} für {name!r}, was seine Dateien nicht haben.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the shape {shape} and config.json asks for {asked}.</source>
            <translation>der Tensor {name!r} hat die Form {shape}, und config.json verlangt {asked}.</translation>
        </message>
        <message>
            <source>its config.json describes {elements:,} weights and its files hold {parameters:,}: a part of it is missing.</source>
            <translation>seine config.json beschreibt {elements:,} Gewichte, und seine Dateien enthalten {parameters:,}: Ein Teil davon fehlt.</translation>
        </message>
        <message>
            <source>its files have the layer of {name!r}, which config.json does not have.</source>
            <translation>seine Dateien haben die Schicht von {name!r}, die config.json nicht hat.</translation>
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
            <source>it cannot be put on {device} ({first_line}).</source>
            <translation>es kann nicht auf {device} gebracht werden ({first_line}).</translation>
        </message>
        <message>
            <source>The device {name}</source>
            <translation>Das Gerät {name}</translation>
        </message>
        <message>
            <source>here there is {known}. Choose one of these, or auto.</source>
            <translation>hier gibt es {known}. Wählen Sie eines davon oder auto.</translation>
        </message>
        <message>
            <source>it needs what is not installed ({first_line}).</source>
            <translation>es braucht, was nicht installiert ist ({first_line}).</translation>
        </message>
        <message>
            <source>memory ran out while it was read. Close other programs.</source>
            <translation>der Arbeitsspeicher ging aus, während es gelesen wurde. Schließen Sie andere Programme.</translation>
        </message>
        <message>
            <source>transformers cannot load it ({first_line}).</source>
            <translation>transformers kann es nicht laden ({first_line}).</translation>
        </message>
        <message>
            <source>its folder has none</source>
            <translation>in seinem Ordner ist keiner</translation>
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
            <translation>{kind} gehört nicht zu den schnellen Tokenizern von Hugging Face</translation>
        </message>
        <message>
            <source>{reason}. Give the prompt as token ids (--tokens), or add a tokenizer.json to its folder.</source>
            <translation>{reason}. Geben Sie die Frage als Token-Nummern an (--tokens), oder legen Sie eine tokenizer.json in seinen Ordner.</translation>
        </message>
        <message>
            <source>This model's tokenizer</source>
            <translation>Der Tokenizer dieses Modells</translation>
        </message>
        <message>
            <source>{name} cannot answer this prompt: {why}.</source>
            <translation>{name} kann diese Eingabe nicht beantworten: {why}.</translation>
        </message>
        <message>
            <source>{name} can answer none of the prompts. The first: {why}</source>
            <translation>{name} kann keine der Eingaben beantworten. Die erste: {why}</translation>
        </message>
        <message>
            <source>The measurement</source>
            <translation>Die Messung</translation>
        </message>
        <message>
            <source>it should have come with the program. Install Outrider again.</source>
            <translation>sie hätte mit dem Programm kommen sollen. Installieren Sie Outrider neu.</translation>
        </message>
        <message>
            <source>it does not come to an end</source>
            <translation>sie kommt zu keinem Ende</translation>
        </message>
        <message>
            <source>Messages need the chat template; leave out raw.</source>
            <translation>Nachrichten brauchen die Chatvorlage; lassen Sie raw weg.</translation>
        </message>
        <message>
            <source>{name} cannot be used: {problem}</source>
            <translation>{name} kann nicht verwendet werden: {problem}</translation>
        </message>
        <message>
            <source>it does not write text.</source>
            <translation>es schreibt keinen Text.</translation>
        </message>
        <message>
            <source>{name} has no vocabulary of its own.</source>
            <translation>{name} hat kein eigenes Vokabular.</translation>
        </message>
        <message>
            <source>The tokens of the target stand for no text, so nothing can be translated.</source>
            <translation>Die Tokens des Zielmodells stehen für keinen Text, daher lässt sich nichts übersetzen.</translation>
        </message>
        <message>
            <source>The tokens of the draft stand for no text, so nothing can be translated.</source>
            <translation>Die Tokens des Entwurfs stehen für keinen Text, daher lässt sich nichts übersetzen.</translation>
        </message>
        <message>
            <source>Same vocabulary{though}.</source>
            <translation>Gleiches Vokabular{though}.</translation>
        </message>
        <message>
            <source>They have different tokenizers ({target} and {draft}): {difference}, so drafts go through text, which is slower.</source>
            <translation>Sie haben verschiedene Tokenizer ({target} und {draft}): {difference}; daher gehen Entwürfe über Text, was langsamer ist.</translation>
        </message>
        <message>
            <source>they are of different kinds</source>
            <translation>sie sind von verschiedener Art</translation>
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
            <source>the target has {surplus:,} tokens more</source>
            <translation>das Zielmodell hat {surplus:,} Tokens mehr</translation>
        </message>
        <message>
            <source>the draft has {surplus:,} tokens more</source>
            <translation>der Entwurf hat {surplus:,} Tokens mehr</translation>
        </message>
        <message>
            <source>they have too few tokens in common</source>
            <translation>sie haben zu wenige Tokens gemeinsam</translation>
        </message>
        <message>
            <source>, though the draft is used to begin token {used} and is given none</source>
            <translation>, doch der Entwurf ist das Anfangstoken {used} gewohnt und erhält keines</translation>
        </message>
        <message>
            <source>, though the draft is used to begin token {used} and is given token {given}</source>
            <translation>, doch der Entwurf ist das Anfangstoken {used} gewohnt und erhält Token {given}</translation>
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
            <translation>Der Entwurf ist das Zielmodell selbst: keine Beschleunigung.</translation>
        </message>
        <message>
            <source>The draft is not smaller than the target: no speedup.</source>
            <translation>Der Entwurf ist nicht kleiner als das Zielmodell: keine Beschleunigung.</translation>
        </message>
        <message>
            <source>The draft is hardly smaller than the target: little or no speedup.</source>
            <translation>Der Entwurf ist kaum kleiner als das Zielmodell: wenig oder keine Beschleunigung.</translation>
        </message>
        <message>
            <source>a speedup can be expected</source>
            <translation>eine Beschleunigung ist zu erwarten</translation>
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
            <source>it may be too small to be right often</source>
            <translation>er ist vielleicht zu klein, um oft richtig zu liegen</translation>
        </message>
        <message>
            <source>The target is {times} times as large as the draft: {promise}.</source>
            <translation>Das Zielmodell ist {times}-mal so groß wie der Entwurf: {promise}.</translation>
        </message>
        <message>
            <source>A message's role must be system, user or assistant, not {role!r}.</source>
            <translation>Die Rolle einer Nachricht muss system, user oder assistant sein, nicht {role!r}.</translation>
        </message>
        <message>
            <source>A message's content must be text, not {name}.</source>
            <translation>Der Inhalt einer Nachricht muss Text sein, nicht {name}.</translation>
        </message>
        <message>
            <source>A message must be an object with "role" and "content".</source>
            <translation>Eine Nachricht muss ein Objekt mit "role" und "content" sein.</translation>
        </message>
        <message>
            <source>a number from 0 to 100</source>
            <translation>eine Zahl von 0 bis 100</translation>
        </message>
        <message>
            <source>0 (off) or a whole number above 0</source>
            <translation>0 (aus) oder eine ganze Zahl über 0</translation>
        </message>
        <message>
            <source>a number above 0, at most 1</source>
            <translation>eine Zahl über 0, höchstens 1</translation>
        </message>
        <message>
            <source>a number from 0 to 1</source>
            <translation>eine Zahl von 0 bis 1</translation>
        </message>
        <message>
            <source>a number above 0, at most 100</source>
            <translation>eine Zahl über 0, höchstens 100</translation>
        </message>
        <message>
            <source>a number from -100 to 100</source>
            <translation>eine Zahl von -100 bis 100</translation>
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
            <source>The cache type must be one of {cache_types}, not {cache_type!r}.</source>
            <translation>Das Cache-Format muss eines von {cache_types} sein, nicht {cache_type!r}.</translation>
        </message>
        <message>
            <source>max_tokens must be a whole number above 0, not {max_tokens!r}.</source>
            <translation>max_tokens muss eine ganze Zahl über 0 sein, nicht {max_tokens!r}.</translation>
        </message>
        <message>
            <source>The prompt is empty. Write something first.</source>
            <translation>Die Eingabe ist leer. Schreiben Sie zuerst etwas.</translation>
        </message>
        <message>
            <source>A stop string must be text that is not empty.</source>
            <translation>Ein Stopptext muss Text sein, der nicht leer ist.</translation>
        </message>
        <message>
            <source>top must be a whole number from 0 to {max_top}, not {top!r}.</source>
            <translation>top muss eine ganze Zahl von 0 bis {max_top} sein, nicht {top!r}.</translation>
        </message>
        <message>
            <source>A prompt must be text, a list of messages or a list of token ids.</source>
            <translation>Eine Eingabe muss Text, eine Liste von Nachrichten oder eine Liste von Token-Nummern sein.</translation>
        </message>
        <message>
            <source>Sources must be different ones of {sources}, not {value!r}.</source>
            <translation>Die Quellen müssen verschiedene aus {sources} sein, nicht {value!r}.</translation>
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
            <source>the reply ended without a result</source>
            <translation>die Antwort endete ohne Ergebnis</translation>
        </message>
        <message>
            <source>This decoder is writing a reply already. Wait for it, or cancel it.</source>
            <translation>Dieser Decoder schreibt schon eine Antwort. Warten Sie darauf oder brechen Sie sie ab.</translation>
        </message>
        <message>
            <source>This decoder is writing a reply. Wait for it, or cancel it.</source>
            <translation>Dieser Decoder schreibt eine Antwort. Warten Sie darauf oder brechen Sie sie ab.</translation>
        </message>
        <message>
            <source>No {what} model is loaded. Load one first (attach_{what}, or load(…)).</source>
            <translation>Es ist kein Modell ({what}) geladen. Laden Sie zuerst eines (attach_{what} oder load(…)).</translation>
        </message>
        <message>
            <source>Cannot load {name}: {reason}</source>
            <translation>{name} kann nicht geladen werden: {reason}</translation>
        </message>
        <message>
            <source>it needs about {needed:.1f} GiB of memory and {available:.1f} GiB are free. Choose a smaller model or quantisation, a shorter context, or close other programs.</source>
            <translation>es braucht etwa {needed:.1f} GiB Arbeitsspeicher, und {available:.1f} GiB sind frei. Wählen Sie ein kleineres Modell, eine kleinere Quantisierung oder einen kürzeren Kontext, oder schließen Sie andere Programme.</translation>
        </message>
        <message>
            <source>Cannot read the folder {path}: {reason}. Choose another folder.</source>
            <translation>Der Ordner {path} kann nicht gelesen werden: {reason}. Wählen Sie einen anderen.</translation>
        </message>
        <message>
            <source>{draft} cannot draft for {target}: {reason}</source>
            <translation>{draft} kann nicht für {target} entwerfen: {reason}</translation>
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
            <source>The prompt has {needed} tokens and the context holds {available}. Shorten it, start a new chat, or load the model with a longer context.</source>
            <translation>Die Eingabe hat {needed} Tokens, und der Kontext fasst {available}. Kürzen Sie sie, beginnen Sie einen neuen Chat oder laden Sie das Modell mit einem längeren Kontext.</translation>
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
            <translation>Das Vokabular dieses Modells hat kein Token für {character!r} ({name}). Lassen Sie es in der Eingabe weg oder wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <source>The model's chat template failed: {reason}. Send plain text (--raw) or choose another model.</source>
            <translation>Die Chatvorlage des Modells versagt: {reason}. Senden Sie einfachen Text (--raw) oder wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <source> at position {position}</source>
            <translation> an Position {position}</translation>
        </message>
        <message>
            <source>The model gave no usable distribution{where}: {reason}. The file may be damaged.</source>
            <translation>Das Modell gab{where} keine brauchbare Verteilung: {reason}. Vielleicht ist die Datei beschädigt.</translation>
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
            <source>The request</source>
            <translation>Die Anfrage</translation>
        </message>
        <message>
            <source>{what} was cancelled.</source>
            <translation>{what} wurde abgebrochen.</translation>
        </message>
        <message>
            <source>This build of Outrider comes without PyTorch and transformers. Install the full flavour of Outrider.</source>
            <translation>Diese Ausgabe von Outrider kommt ohne PyTorch und transformers. Installieren Sie die vollständige Ausgabe von Outrider.</translation>
        </message>
        <message>
            <source>PyTorch and transformers are not installed. Install them with: pip install "outrider[torch]"</source>
            <translation>PyTorch und transformers sind nicht installiert. Installieren Sie sie mit: pip install "outrider[torch]"</translation>
        </message>
        <message>
            <source>This folder has more than {count:,} files: those behind them are not listed.</source>
            <translation>Dieser Ordner hat mehr als {count:,} Dateien: Die weiteren sind nicht aufgeführt.</translation>
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
            <source>there is no such folder</source>
            <translation>diesen Ordner gibt es nicht</translation>
        </message>
        <message>
            <source>it is not a folder</source>
            <translation>das ist kein Ordner</translation>
        </message>
        <message>
            <source>this program may not read it</source>
            <translation>dieses Programm darf ihn nicht lesen</translation>
        </message>
        <message>
            <source>This folder cannot be read: {reason}.</source>
            <translation>Dieser Ordner kann nicht gelesen werden: {reason}.</translation>
        </message>
        <message>
            <source>This folder is nested too deep to be searched.</source>
            <translation>Dieser Ordner liegt zu tief, um durchsucht zu werden.</translation>
        </message>
        <message>
            <source>its header does not name the kind of model.</source>
            <translation>ihr Kopf nennt die Art des Modells nicht.</translation>
        </message>
        <message>
            <source>it has no tensors: it is a vocabulary without a model.</source>
            <translation>sie hat keine Tensoren: Sie ist ein Vokabular ohne Modell.</translation>
        </message>
        <message>
            <source>it is part {part} of {parts}, and not named so, so the others are not found. Give all parts the names that they had.</source>
            <translation>sie ist Teil {part} von {parts} und heißt nicht so, daher werden die anderen nicht gefunden. Geben Sie allen Teilen ihre früheren Namen zurück.</translation>
        </message>
        <message>
            <source>its parts do not belong together. Download or copy all of them again.</source>
            <translation>ihre Teile gehören nicht zusammen. Laden oder kopieren Sie alle noch einmal.</translation>
        </message>
        <message>
            <source>its header lacks {name!r}.</source>
            <translation>ihrem Kopf fehlt {name!r}.</translation>
        </message>
        <message>
            <source>the header entry {name!r} is not a number as it should be.</source>
            <translation>der Kopfeintrag {name!r} ist keine Zahl, wie er es sein sollte.</translation>
        </message>
        <message>
            <source>the header entry {name!r} is {content}, which cannot be.</source>
            <translation>der Kopfeintrag {name!r} ist {content}, was nicht sein kann.</translation>
        </message>
        <message>
            <source>the header entry {name!r} is not a list of numbers.</source>
            <translation>der Kopfeintrag {name!r} ist keine Liste von Zahlen.</translation>
        </message>
        <message>
            <source>the header entry {name!r} does not have one number a layer.</source>
            <translation>der Kopfeintrag {name!r} hat nicht je Schicht eine Zahl.</translation>
        </message>
        <message>
            <source>the header entry {name!r} has numbers that cannot be.</source>
            <translation>der Kopfeintrag {name!r} hat Zahlen, die nicht sein können.</translation>
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
            <source>its width of {width} is no multiple of its head size {head}.</source>
            <translation>ihre Breite von {width} ist kein Vielfaches ihrer Head-Größe {head}.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is not a number.</source>
            <translation>der Kopfeintrag {key!r} ist keine Zahl.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is {content:g}.</source>
            <translation>der Kopfeintrag {key!r} ist {content:g}.</translation>
        </message>
        <message>
            <source>its {ours} heads cannot share {theirs} keys.</source>
            <translation>ihre {ours} Heads können sich nicht {theirs} Schlüssel teilen.</translation>
        </message>
        <message>
            <source>its {first} heads cannot share a width of {width}.</source>
            <translation>ihre {first} Heads können sich keine Breite von {width} teilen.</translation>
        </message>
        <message>
            <source>its heads are {width} wide, but {rotated} would be rotated.</source>
            <translation>ihre Heads sind {width} breit, aber {rotated} würden gedreht.</translation>
        </message>
        <message>
            <source>its rope scaling {content!r} is unknown.</source>
            <translation>ihre RoPE-Skalierung {content!r} ist unbekannt.</translation>
        </message>
        <message>
            <source>its rope base {content!r} cannot be.</source>
            <translation>ihre RoPE-Basis {content!r} kann nicht sein.</translation>
        </message>
        <message>
            <source>its rope scaling factor {content!r} cannot be.</source>
            <translation>ihr RoPE-Skalierungsfaktor {content!r} kann nicht sein.</translation>
        </message>
        <message>
            <source>it would use {used} of {count} experts.</source>
            <translation>sie würde {used} von {count} Experten verwenden.</translation>
        </message>
        <message>
            <source>its {count} experts cannot be in {groups} groups.</source>
            <translation>ihre {count} Experten können nicht in {groups} Gruppen sein.</translation>
        </message>
        <message>
            <source>it would use {used_groups} of {groups} groups of experts.</source>
            <translation>sie würde {used_groups} von {groups} Gruppen von Experten verwenden.</translation>
        </message>
        <message>
            <source>its header lacks the kind of its tokenizer.</source>
            <translation>ihrem Kopf fehlt die Art ihres Tokenizers.</translation>
        </message>
        <message>
            <source>it has no vocabulary. Convert the model again.</source>
            <translation>sie hat kein Vokabular. Wandeln Sie das Modell noch einmal um.</translation>
        </message>
        <message>
            <source>it is an embedding model: it measures texts and does not write any.</source>
            <translation>es ist ein Embedding-Modell: Es misst Texte und schreibt keine.</translation>
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
            <source>the header entry {key!r} does not fit the {count} tokens.</source>
            <translation>der Kopfeintrag {key!r} passt nicht zu den {count} Tokens.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is damaged.</source>
            <translation>der Kopfeintrag {key!r} ist beschädigt.</translation>
        </message>
        <message>
            <source>its vocabulary lacks the merges that its tokenizer needs.</source>
            <translation>ihrem Vokabular fehlen die Verschmelzungen, die ihr Tokenizer braucht.</translation>
        </message>
        <message>
            <source>the header entry {key!r} is not a list of texts.</source>
            <translation>der Kopfeintrag {key!r} ist keine Liste von Texten.</translation>
        </message>
        <message>
            <source>the merges of its vocabulary are not valid text.</source>
            <translation>die Verschmelzungen ihres Vokabulars sind kein gültiger Text.</translation>
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
            <source>{key!r} is {content}, but there are {count} tokens.</source>
            <translation>{key!r} ist {content}, aber es gibt {count} Tokens.</translation>
        </message>
        <message>
            <source>the tensor {name!r} is stored as {stored}, which cannot be.</source>
            <translation>der Tensor {name!r} ist als {stored} gespeichert, was nicht sein kann.</translation>
        </message>
        <message>
            <source>it lacks the tensor 'token_embd.weight'.</source>
            <translation>ihr fehlt der Tensor 'token_embd.weight'.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the shape {shape}, not {told} as the header says.</source>
            <translation>der Tensor {name!r} hat die Form {shape} und nicht {told}, wie der Kopf sagt.</translation>
        </message>
        <message>
            <source>the tensor 'output_norm.weight' is not {width} long.</source>
            <translation>der Tensor 'output_norm.weight' ist nicht {width} lang.</translation>
        </message>
        <message>
            <source>it ends in the middle of its header, as if it had been cut off. Download or copy it again.</source>
            <translation>sie endet mitten in ihrem Kopf, als wäre sie abgeschnitten. Laden oder kopieren Sie sie noch einmal.</translation>
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
            <source>this program may not read it. Change its permissions.</source>
            <translation>dieses Programm darf sie nicht lesen. Ändern Sie ihre Rechte.</translation>
        </message>
        <message>
            <source>it cannot be read ({reason}).</source>
            <translation>sie kann nicht gelesen werden ({reason}).</translation>
        </message>
        <message>
            <source>its header claims {tensor_count} tensors and {value_count} entries.</source>
            <translation>ihr Kopf behauptet {tensor_count} Tensoren und {value_count} Einträge.</translation>
        </message>
        <message>
            <source>the header entry {key!r} occurs twice.</source>
            <translation>den Kopfeintrag {key!r} gibt es zweimal.</translation>
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
            <source>its header claims version {version} of the GGUF format, which is unknown here.</source>
            <translation>ihr Kopf behauptet Version {version} des GGUF-Formats, die hier unbekannt ist.</translation>
        </message>
        <message>
            <source>its header is larger than any model's.</source>
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
            <source>the header entry {key!r} claims {count} texts.</source>
            <translation>der Kopfeintrag {key!r} behauptet {count} Texte.</translation>
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
            <source>the tensor {name!r} claims {dimensions} dimensions.</source>
            <translation>der Tensor {name!r} behauptet {dimensions} Dimensionen.</translation>
        </message>
        <message>
            <source>the tensor {name!r} has the unknown type {kind}.</source>
            <translation>der Tensor {name!r} hat den unbekannten Typ {kind}.</translation>
        </message>
        <message>
            <source>the tensor {name!r} claims the shape {shape}.</source>
            <translation>der Tensor {name!r} behauptet die Form {shape}.</translation>
        </message>
        <message>
            <source>the rows of the tensor {name!r} are no whole blocks of {layout}.</source>
            <translation>die Zeilen des Tensors {name!r} sind keine ganzen Blöcke von {layout}.</translation>
        </message>
        <message>
            <source>its alignment is not a number.</source>
            <translation>ihre Ausrichtung ist keine Zahl.</translation>
        </message>
        <message>
            <source>its alignment is {alignment}, which is no power of two.</source>
            <translation>ihre Ausrichtung ist {alignment}, was keine Zweierpotenz ist.</translation>
        </message>
        <message>
            <source>the tensor {name!r} occurs twice.</source>
            <translation>den Tensor {name!r} gibt es zweimal.</translation>
        </message>
        <message>
            <source>the tensor {name!r} is not where it should be.</source>
            <translation>der Tensor {name!r} ist nicht, wo er sein sollte.</translation>
        </message>
        <message>
            <source>it is cut off: the tensor {name!r} reaches {missing} bytes past its end. Download or copy it again.</source>
            <translation>sie ist abgeschnitten: Der Tensor {name!r} reicht {missing} Bytes über ihr Ende hinaus. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>it writes by diffusion</source>
            <translation>es schreibt durch Diffusion</translation>
        </message>
        <message>
            <source>it makes sound, not text</source>
            <translation>es macht Ton, keinen Text</translation>
        </message>
        <message>
            <source>it is a translator between two texts (encoder and decoder)</source>
            <translation>es übersetzt zwischen zwei Texten (Encoder und Decoder)</translation>
        </message>
        <message>
            <source>It holds {kind} data, not a model.</source>
            <translation>Sie enthält Daten der Art {kind}, kein Modell.</translation>
        </message>
        <message>
            <source>It does not write text token by token: {why}.</source>
            <translation>Es schreibt Text nicht Token für Token: {why}.</translation>
        </message>
        <message>
            <source>A part of it is missing: {missing}.</source>
            <translation>Ein Teil davon fehlt: {missing}.</translation>
        </message>
        <message>
            <source>A way to be measured is a lookahead, 'auto' or 'ngram', not {way!r}.</source>
            <translation>Gemessen wird eine Vorausschau, 'auto' oder 'ngram', nicht {way!r}.</translation>
        </message>
        <message>
            <source>It is the image part of a model (a projector), not a model that writes text.</source>
            <translation>Es ist der Bildteil eines Modells (ein Projektor), kein Modell, das Text schreibt.</translation>
        </message>
        <message>
            <source>It is an embedding model: it measures texts and does not write any.</source>
            <translation>Es ist ein Embedding-Modell: Es misst Texte und schreibt keine.</translation>
        </message>
        <message>
            <source>It is a draft head, which belongs to a target, not a model of its own.</source>
            <translation>Es ist ein Entwurfskopf, der zu einem Zielmodell gehört, kein eigenes Modell.</translation>
        </message>
        <message>
            <source>It is an adapter (LoRA) that goes with a model, not a model.</source>
            <translation>Es ist ein Adapter (LoRA), der zu einem Modell gehört, kein Modell.</translation>
        </message>
        <message>
            <source>Unknown option {option!r}.</source>
            <translation>Unbekannte Option {option!r}.</translation>
        </message>
        <message>
            <source>The prompt has no tokens. Write something first.</source>
            <translation>Die Eingabe hat keine Tokens. Schreiben Sie zuerst etwas.</translation>
        </message>
        <message>
            <source>The method {method}</source>
            <translation>Das Verfahren {method}</translation>
        </message>
        <message>
            <source>it comes with a later version; use draft-model or ngram.</source>
            <translation>es kommt mit einer späteren Version; verwenden Sie draft-model oder ngram.</translation>
        </message>
        <message>
            <source>The method {method} does not go with the sources {sources}. Leave one out.</source>
            <translation>Das Verfahren {method} passt nicht zu den Quellen {sources}. Lassen Sie eines davon weg.</translation>
        </message>
        <message>
            <source>it is not a model.</source>
            <translation>es ist kein Modell.</translation>
        </message>
        <message>
            <source>llama.cpp does not get done with it.</source>
            <translation>llama.cpp wird damit nicht fertig.</translation>
        </message>
        <message>
            <source>the process that tries it failed ({noise}).</source>
            <translation>der Prozess, der sie erprobt, ist gescheitert ({noise}).</translation>
        </message>
        <message>
            <source>llama.cpp cannot run this file ({detail}). Download or convert the model again.</source>
            <translation>llama.cpp kann diese Datei nicht ausführen ({detail}). Laden Sie das Modell noch einmal oder wandeln Sie es noch einmal um.</translation>
        </message>
        <message>
            <source>the process that tries it cannot be started ({reason}).</source>
            <translation>der Prozess, der sie ausprobiert, kann nicht gestartet werden ({reason}).</translation>
        </message>
        <message>
            <source>it cannot be run ({reason}).</source>
            <translation>es kann nicht ausgeführt werden ({reason}).</translation>
        </message>
        <message>
            <source>this version does not know the {kind} {name!r}. Choose another model.</source>
            <translation>diese Version kennt {kind} {name!r} nicht. Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <source>{complaint} Download or convert it again.</source>
            <translation>{complaint} Laden Sie das Modell noch einmal oder wandeln Sie es noch einmal um.</translation>
        </message>
        <message>
            <source>it gives no usable numbers: its weights are damaged.</source>
            <translation>es gibt keine brauchbaren Zahlen: Seine Gewichte sind beschädigt.</translation>
        </message>
        <message>
            <source>there is no config.json that says what kind of model it is.</source>
            <translation>es gibt keine config.json, die sagt, welcher Art das Modell ist.</translation>
        </message>
        <message>
            <source>Loading safetensors models</source>
            <translation>Das Laden von safetensors-Modellen</translation>
        </message>
        <message>
            <source>its probabilities have no mass, or are not finite numbers</source>
            <translation>seine Wahrscheinlichkeiten haben keine Masse oder sind keine endlichen Zahlen</translation>
        </message>
        <message>
            <source>its best logit is not a finite number</source>
            <translation>sein bestes Logit ist keine endliche Zahl</translation>
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
            <source>it is no JSON file of a model.</source>
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
            <source>its weights are pickled ({pickled}), and such files can run code when they are read. Convert them to safetensors, or download a version in safetensors.</source>
            <translation>seine Gewichte sind mit pickle gespeichert ({pickled}), und solche Dateien können beim Lesen Code ausführen. Wandeln Sie sie in safetensors um, oder laden Sie eine Fassung in safetensors herunter.</translation>
        </message>
        <message>
            <source>it is an adapter that goes with a model, not a model.</source>
            <translation>es ist ein Adapter, der zu einem Modell gehört, kein Modell.</translation>
        </message>
        <message>
            <source>its weights are in several files, and {index}, which names them, is missing.</source>
            <translation>seine Gewichte liegen in mehreren Dateien, und {index}, worin sie genannt werden, fehlt.</translation>
        </message>
        <message>
            <source>its weights ({other}) are not named as transformers names them: {single} or {index}.</source>
            <translation>seine Gewichte ({other}) heißen nicht so, wie transformers sie nennt: {single} oder {index}.</translation>
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
            <source>it names {name!r}, which is no safetensors file of the folder.</source>
            <translation>sie nennt {name!r}, was keine safetensors-Datei des Ordners ist.</translation>
        </message>
        <message>
            <source>it names more files and tensors than any model has.</source>
            <translation>sie nennt mehr Dateien und Tensoren, als irgendein Modell hat.</translation>
        </message>
        <message>
            <source>it is not a safetensors file. Download or copy it again.</source>
            <translation>das ist keine safetensors-Datei. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>it is cut off in its header. Download or copy it again.</source>
            <translation>sie ist in ihrem Kopf abgeschnitten. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>its header is damaged. Download or copy it again.</source>
            <translation>ihr Kopf ist beschädigt. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>its header claims {header} tensors.</source>
            <translation>ihr Kopf behauptet {header} Tensoren.</translation>
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
            <source>the tensor {name!r} takes {count} bytes, which cannot be of shape {shape}. Download or copy it again.</source>
            <translation>der Tensor {name!r} belegt {count} Bytes, was bei der Form {shape} nicht sein kann. Laden oder kopieren Sie die Datei noch einmal.</translation>
        </message>
        <message>
            <source>the tensor {name!r} is not where it should be. Download or copy it again.</source>
            <translation>der Tensor {name!r} ist nicht, wo er sein sollte. Laden oder kopieren Sie die Datei noch einmal.</translation>
        </message>
        <message>
            <source>it is cut off: {count} bytes of its tensors are missing. Download or copy it again.</source>
            <translation>sie ist abgeschnitten: {count} Bytes ihrer Tensoren fehlen. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>it has {count} bytes more than its tensors. Download or copy it again.</source>
            <translation>sie hat {count} Bytes mehr als ihre Tensoren. Laden oder kopieren Sie sie noch einmal.</translation>
        </message>
        <message>
            <source>It turns one text into another (encoder and decoder): it does not continue a text.</source>
            <translation>Es macht aus einem Text einen anderen (Encoder und Decoder): Es setzt keinen Text fort.</translation>
        </message>
        <message>
            <source>It is a model for pictures or sound: it does not write text.</source>
            <translation>Es ist ein Modell für Bilder oder Ton: Es schreibt keinen Text.</translation>
        </message>
        <message>
            <source>Its config.json does not name the kind of model, so it is no language model that can be used.</source>
            <translation>Seine config.json nennt die Art des Modells nicht; es ist also kein brauchbares Sprachmodell.</translation>
        </message>
        <message>
            <source>It is a {classes}, which has no output layer that writes text.</source>
            <translation>Es ist ein {classes}, ohne Ausgabeschicht, die Text schreibt.</translation>
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
            <source>was not downloaded to its end</source>
            <translation>wurde nicht zu Ende geladen</translation>
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
            <source>this folder has several models. Choose a file in it: {there}.</source>
            <translation>dieser Ordner hat mehrere Modelle. Wählen Sie eine Datei darin: {there}.</translation>
        </message>
        <message>
            <source>it has no file in {quantisation}. There are: {there}.</source>
            <translation>es hat keine Datei in {quantisation}. Es gibt: {there}.</translation>
        </message>
        <message>
            <source>a file of a model cannot lie outside it.</source>
            <translation>eine Datei eines Modells kann nicht außerhalb liegen.</translation>
        </message>
        <message>
            <source>{repository} in the Hugging Face cache has no {file}. Download it: hf download {repository} {file}</source>
            <translation>{repository} im Hugging-Face-Cache hat kein {file}. Laden Sie es: hf download {repository} {file}</translation>
        </message>
        <message>
            <source>lacks {name}</source>
            <translation>ist ohne {name}</translation>
        </message>
    </context>
</TS>
