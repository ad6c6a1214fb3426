<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
    <context>
        <name>Damage</name>
        <message numerus="yes">
            <source>%Ln more messages</source>
            <translation>
                <numerusform>%Ln more message</numerusform>
                <numerusform>%Ln more messages</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>Documents</name>
        <message numerus="yes">
            <source>%n page(s)</source>
            <translation>
                <numerusform>%n page</numerusform>
                <numerusform>%n pages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n part(s)</source>
            <translation>
                <numerusform>%n part</numerusform>
                <numerusform>%n parts</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>Figures</name>
        <message numerus="yes">
            <source>%Ln tokens</source>
            <translation>
                <numerusform>%Ln token</numerusform>
                <numerusform>%Ln tokens</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%Ln lines</source>
            <translation>
                <numerusform>%Ln line</numerusform>
                <numerusform>%Ln lines</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>without the oldest %Ln messages</source>
            <translation>
                <numerusform>without the oldest message</numerusform>
                <numerusform>without the oldest %Ln messages</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>FolderOffer</name>
        <message numerus="yes">
            <source>%n model(s) can be used here.</source>
            <translation>
                <numerusform>%n model can be used here.</numerusform>
                <numerusform>%n models can be used here.</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>GetModels</name>
        <message numerus="yes">
            <source>last loaded %n day(s) ago</source>
            <translation>
                <numerusform>last loaded %n day ago</numerusform>
                <numerusform>last loaded %n days ago</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>GetModelsDialog</name>
        <message numerus="yes">
            <source>{program} · %n model(s) · {folder}</source>
            <translation>
                <numerusform>{program} · %n model · {folder}</numerusform>
                <numerusform>{program} · %n models · {folder}</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>MainWindow</name>
        <message numerus="yes">
            <source>%n chat(s) imported.</source>
            <translation>
                <numerusform>%n chat imported.</numerusform>
                <numerusform>%n chats imported.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n chat(s) brought up to date.</source>
            <translation>
                <numerusform>%n chat brought up to date.</numerusform>
                <numerusform>%n chats brought up to date.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n chat(s) were here already.</source>
            <translation>
                <numerusform>%n chat was here already.</numerusform>
                <numerusform>%n chats were here already.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n chat(s) could not be read:</source>
            <translation>
                <numerusform>%n chat could not be read:</numerusform>
                <numerusform>%n chats could not be read:</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>Projects</name>
        <message numerus="yes">
            <source>%n file(s) more</source>
            <translation>
                <numerusform>%n file more</numerusform>
                <numerusform>%n files more</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>Replay</name>
        <message numerus="yes">
            <source>{time} ms for %Ln tokens</source>
            <translation>
                <numerusform>{time} ms for %Ln token</numerusform>
                <numerusform>{time} ms for %Ln tokens</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>RewriteDialog</name>
        <message numerus="yes">
            <source>Writing: %n change(s) so far.</source>
            <translation>
                <numerusform>Writing: %n change so far.</numerusform>
                <numerusform>Writing: %n changes so far.</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>ToolCard</name>
        <message numerus="yes">
            <source>%n tool call(s) were made for this question. The next one: {title} · {server}</source>
            <translation>
                <numerusform>%n tool call was made for this question. The next one: {title} · {server}</numerusform>
                <numerusform>%n tool calls were made for this question. The next one: {title} · {server}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>and %n more argument(s)</source>
            <translation>
                <numerusform>and %n more argument</numerusform>
                <numerusform>and %n more arguments</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>… and %n more character(s)</source>
            <translation>
                <numerusform>… and %n more character</numerusform>
                <numerusform>… and %n more characters</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>ToolsPage</name>
        <message numerus="yes">
            <source>%n tool(s)</source>
            <translation>
                <numerusform>%n tool</numerusform>
                <numerusform>%n tools</numerusform>
            </translation>
        </message>
    </context>
</TS>
