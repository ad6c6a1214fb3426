"""Read mail: sender, recipients and date, the text, and the attached documents."""

from __future__ import annotations

import email
import email.policy
from dataclasses import replace
from email.message import MIMEPart

from selectolax.lexbor import LexborHTMLParser

from engine.documents.document import Document, Section
from engine.documents.kinds import Budget
from engine.documents.kinds.members import read_members
from engine.documents.kinds.web import page_sections
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_FIELDS = ("From", "To", "Cc", "Date", "Subject")


def read(data: bytes, name: str, budget: Budget) -> Document:
    """Read a mail. Raises NotReadable."""
    mail = email.message_from_bytes(data, policy=email.policy.default)
    head = "\n".join(f"{field}: {' '.join(str(mail[field]).split())}" for field in _FIELDS if mail[field])
    subject = " ".join(str(mail["Subject"] or "").split())
    body = mail.get_body(("plain", "html"))
    text = "" if body is None else _content(body)
    if body is not None and body.get_content_subtype() == "html":
        text = "\n\n".join(each.text for each in page_sections(LexborHTMLParser(text), budget))
    sections = [Section("\n\n".join(filter(None, (head, text.strip()))), "message")]
    members = [(each.get_filename() or "attachment", _bytes(each)) for each in mail.iter_attachments()]
    found, notes = read_members(members, budget)
    for document in found:
        sections += [replace(each, place="file", at=_at(document.name, each)) for each in document.sections]
    if not any(each.text.strip() for each in sections):
        raise NotReadable(Translatable("there is no text in it"))
    return Document(name, "Mail", tuple(sections), title=subject, notes=notes)


def _at(name: str, section: Section) -> str:
    return ", ".join(filter(None, (name, f"{section.place} {section.at}".strip())))


def _content(part: MIMEPart) -> str:
    try:
        return str(part.get_content()).replace("\r\n", "\n")
    except (LookupError, ValueError):
        return _bytes(part).decode("utf-8", "replace")


def _bytes(part: MIMEPart) -> bytes:
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""
