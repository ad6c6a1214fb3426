"""The demo target with a chat template that writes calls of tools as Hermes models do."""

from pathlib import Path

from engine.library.names import bundled_pair
from helpers.models.gguf_writer import GgufDraft
from helpers.models.marked_models import template_entry

HERMES = """{{ bos_token }}{% if tools %}{{ '<|system|>' + tools[0].function.name + '<|end|>' }}{% endif %}
{%- for m in messages %}{{ '<|' + m.role + '|>' }}
{%- if m.tool_calls %}{{ m.content }}{% for c in m.tool_calls %}
{{- '\\n<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' }}
{{- c.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}{% else %}{{ m.content }}{% endif %}{{ '<|end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"""


def write_calling_demo(path: Path, template: str = HERMES) -> Path:
    draft = GgufDraft.of_file(bundled_pair()[0])
    draft.entries["tokenizer.chat_template"] = template_entry(template)
    return draft.write(path)
