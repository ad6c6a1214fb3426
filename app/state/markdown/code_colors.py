"""Classify parts of code, for their colours, with Pygments, for the languages that replies are written in.

The language is what stands after the fence, and nothing is guessed. The lexers come one by one, when they are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from time import thread_time
from typing import Literal, Protocol

LONGEST_LINE = 500
"""Characters; code with a longer line is not coloured: a regular expression might go over it again and again."""

LONGEST_SPACE = 100
"""White space without a break, blank lines included, for the same reason."""
MOST_SECONDS = 0.1
"""The time limit of one piece; the rest of it is not coloured."""

TOKENS = 20
"""The number of tokens between two pauses, alike or not."""

_FILE = re.compile(r"\*\.\w{1,10}")

Part = Literal["", "keyword", "name", "string", "number", "comment", "type", "inserted", "deleted"]

_LEXERS = {
    "python": ("PythonLexer", "python py python3 py3 pyi sage"),
    "python:": ("PythonConsoleLexer", "pycon"),
    "shell": ("BashLexer", "bash sh shell zsh ksh"),
    "shell:": ("BashSessionLexer", "console shell-session terminal"),
    "shell::": ("PowerShellLexer", "powershell ps1 pwsh"),
    "shell:::": ("BatchLexer", "bat batch cmd"),
    "javascript": ("JavascriptLexer", "javascript js mjs cjs node"),
    "javascript:": ("TypeScriptLexer", "typescript ts"),
    "javascript::": ("DartLexer", "dart"),
    "jsx": ("JsxLexer", "jsx react"),
    "jsx:": ("TsxLexer", "tsx"),
    "data": ("JsonLexer", "json json5 jsonc jsonl"),
    "data:": ("YamlLexer", "yaml yml"),
    "html": ("HtmlLexer", "html htm xhtml vue svelte"),
    "html:": ("XmlLexer", "xml svg xsd rss plist"),
    "css": ("CssLexer", "css"),
    "css:": ("ScssLexer", "scss sass less"),
    "c_cpp": ("CLexer", "c h"),
    "c_cpp:": ("CppLexer", "c++ cpp cc cxx hpp cuda cu arduino"),
    "rust": ("RustLexer", "rust rs"),
    "go": ("GoLexer", "go golang"),
    "zig": ("ZigLexer", "zig"),
    "jvm": ("JavaLexer", "java"),
    "jvm:": ("KotlinLexer", "kotlin kt kts"),
    "jvm::": ("GroovyLexer", "groovy gradle"),
    "jvm:::": ("ClojureLexer", "clojure clj"),
    "objective": ("SwiftLexer", "swift"),
    "objective:": ("ObjectiveCLexer", "objective-c objc objectivec"),
    "dotnet": ("CSharpLexer", "csharp c# cs"),
    "dotnet:": ("FSharpLexer", "fsharp f#"),
    "sql": ("SqlLexer", "sql mysql sqlite postgresql postgres plsql tsql"),
    "configs": ("TOMLLexer", "toml"),
    "configs:": ("IniLexer", "ini cfg conf properties dotenv env"),
    "configs::": ("DockerLexer", "dockerfile docker"),
    "configs:::": ("NginxConfLexer", "nginx"),
    "diff": ("DiffLexer", "diff patch udiff"),
    "ruby": ("RubyLexer", "ruby rb"),
    "php": ("PhpLexer", "php"),
    "scripting": ("LuaLexer", "lua"),
    "perl": ("PerlLexer", "perl pl"),
    "r": ("SLexer", "r rlang"),
    "haskell": ("HaskellLexer", "haskell hs"),
    "ml": ("OcamlLexer", "ocaml ml"),
    "erlang": ("ErlangLexer", "erlang erl"),
    "erlang:": ("ElixirLexer", "elixir ex exs"),
    "make": ("MakefileLexer", "makefile make mk"),
    "make:": ("CMakeLexer", "cmake"),
    "graphql": ("GraphQLLexer", "graphql gql"),
    "dsls": ("ProtoBufLexer", "protobuf proto"),
    "textfmts": ("HttpLexer", "http"),
}
_LONG_SPACE = re.compile(rf"\s{{{LONGEST_SPACE}}}")
_BY_NAME = {
    name: (f"pygments.lexers.{module.rstrip(':')}", lexer)
    for module, (lexer, names) in _LEXERS.items()
    for name in names.split()
}
LEXER_MODULES = tuple(sorted({module for module, _ in _BY_NAME.values()}))
"""Modules that a frozen program must include: they are imported by their names."""

_PARTS: dict[str, Part] = {
    "Keyword": "keyword",
    "Keyword.Type": "type",
    "Keyword.Constant": "number",
    "Operator.Word": "keyword",
    "Name.Function": "name",
    "Name.Class": "type",
    "Name.Decorator": "name",
    "Name.Tag": "keyword",
    "Name.Attribute": "name",
    "Name.Exception": "type",
    "Name.Builtin": "type",
    "Name.Builtin.Pseudo": "number",
    "Name.Constant": "number",
    "Literal.String": "string",
    "Literal.String.Doc": "comment",
    "Literal.Number": "number",
    "Literal.Date": "number",
    "Comment": "comment",
    "Comment.Preproc": "keyword",
    "Comment.PreprocFile": "string",
    "Generic.Inserted": "inserted",
    "Generic.Deleted": "deleted",
    "Generic.Heading": "keyword",
    "Generic.Subheading": "type",
    "Generic.Prompt": "comment",
    "Generic.Output": "comment",
}


class _Lexer(Protocol):
    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]: ...


def prepare() -> None:
    """Import the modules that all languages share, while nobody waits for them."""
    for module in ("pygments.lexers", "pygments.lexer"):
        import_module(module)


def prepare_usual() -> None:
    """Create the lexer of the most common language; the first time takes some ten milliseconds."""
    prepare()
    for _ in parts("pass", "python"):
        pass


def language_name(info: str) -> str:
    """Return the language's name: the first word after a fence, without decoration."""
    words = info.replace("{", " ").replace("}", " ").replace(",", " ").replace(":", " ").split()
    return words[0].lstrip(".")[:30] if words else ""


def file_suffix(info: str) -> str:
    """Return the suffix of files in a language, with its dot; ".txt" where that is not known."""
    lexer = _lexer(language_name(info).lower())
    found = [name for name in getattr(lexer, "filenames", ()) if _FILE.fullmatch(name)]
    return found[0].removeprefix("*") if found else ".txt"


def parts(code: str, info: str) -> Iterator[tuple[Part, str]]:
    """Yield the code in pieces with the kind of each.

    A piece costs little, so that one may stop and go on later.
    """
    lexer = _lexer(language_name(info).lower())
    if lexer is None or not _is_tame(code):
        yield "", code
        return
    part: Part = ""
    begun = at = 0
    left = MOST_SECONDS
    before = thread_time()
    for number, (start, token, text) in enumerate(lexer.get_tokens_unprocessed(code)):
        left -= thread_time() - before
        if start != at or left < 0:
            # A lexer that goes back or leaves something out: the text counts, not its colours.
            break
        now = part if text.isspace() else _part(token)
        if now != part or number % TOKENS == 0:
            if at > begun:
                yield part, code[begun:at]
            part, begun = now, at
        at += len(text)
        before = thread_time()
    if at > begun:
        yield part, code[begun:at]
    if at < len(code):
        yield "", code[at:]


def _is_tame(code: str) -> bool:
    """Return True if no regular expression will go over the same text again and again."""
    return max(map(len, code.split("\n"))) <= LONGEST_LINE and _LONG_SPACE.search(code) is None


@cache
def _lexer(name: str) -> _Lexer | None:
    if name not in _BY_NAME:
        return None
    module, lexer = _BY_NAME[name]
    made: _Lexer = getattr(import_module(module), lexer)()
    return made


@cache
def _part(token: object) -> Part:
    name = str(token).removeprefix("Token").lstrip(".")
    while name:
        if name in _PARTS:
            return _PARTS[name]
        name = name.rpartition(".")[0]
    return ""
