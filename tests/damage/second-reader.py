#!/usr/bin/env python3
"""Checks capsules of format 1, written from docs/capsule-format.md alone.

Takes directories; for each it prints one line of JSON: the sorted list of "member: problem", or the number of a newer format.
It takes the steps 1 to 4 and 6 of section 9, and of step 5 that the bytes are canonical.
"""

import hashlib
import json
import os
import re
import stat
import sys

LIMITS = {
    "SHA256SUMS": 65_536,
    "capsule.json": 16_777_216,
    "changes.jsonl": 4_294_967_296,
    "events.jsonl": 4_294_967_296,
    "policy.json": 4_194_304,
}
MAX_LINE = 1_048_576
MANIFEST = "SHA256SUMS"
LISTED = sorted(set(LIMITS) - {MANIFEST})


class Problem(Exception):
    pass


def look_at(member):
    try:
        seen = os.lstat(member)
    except FileNotFoundError:
        raise Problem("missing")
    if not stat.S_ISREG(seen.st_mode):
        raise Problem("not-a-file")
    if seen.st_size > LIMITS[member]:
        raise Problem("too-large")
    try:
        with open(member, "rb") as file:
            return file.read()
    except PermissionError:
        raise Problem("unreadable")


def read_manifest():
    data = look_at(MANIFEST)
    if not data.strip():
        raise Problem("nothing-listed")
    if not data.endswith(b"\n"):
        raise Problem("cut-short")
    digests = {}
    for line in data[:-1].split(b"\n"):
        match = re.fullmatch(rb"([0-9a-f]{64})  ([^\n]+)", line)
        name = match and match[2].decode("latin-1")
        if name not in LISTED or (digests and name <= max(digests)):
            raise Problem("malformed")
        digests[name] = match[1].decode()
    return digests


def check_member(member, digests):
    data = look_at(member)
    if digests is None:
        return
    if member not in digests:
        raise Problem("not-listed")
    if hashlib.sha256(data).hexdigest() != digests[member]:
        raise Problem("changed" if data.endswith(b"\n") else "cut-short")


def utf16(text):
    """RFC 8785 sorts keys by UTF-16 code units."""
    return text.encode("utf-16-be")


def number(value):
    if isinstance(value, int):
        return str(value)
    # Only durations have a fraction; in their range the shortest form is Python's.
    return repr(value)


def text(value):
    escapes = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'


def canonical(value):
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return "{" + ",".join(f"{text(k)}:{canonical(value[k])}" for k in sorted(value, key=utf16)) + "}"


def lines_of(member):
    data = look_at(member)
    if not data:
        if member.endswith(".json"):
            raise Problem("cut-short")
        return []
    if member.endswith(".jsonl") and any(len(line) > MAX_LINE for line in data.split(b"\n")):
        raise Problem("too-large")
    if not data.endswith(b"\n"):
        raise Problem("cut-short")
    return data[:-1].split(b"\n")


def parse(line):
    try:
        value = json.loads(line.decode("utf-8"))
        is_canonical = canonical(value).encode("utf-8") == line
    except (ValueError, RecursionError):
        raise Problem("invalid")
    if not is_canonical or not isinstance(value, dict):
        raise Problem("invalid")
    return value


def check_document(member):
    lines = lines_of(member)
    if member.endswith(".json") and len(lines) != 1:
        raise Problem("invalid")
    return [parse(line) for line in lines]


def check_chain():
    previous = "0" * 64
    lines = lines_of("events.jsonl")
    events = [parse(line) for line in lines]
    for number_, (line, event) in enumerate(zip(lines, events), 1):
        is_first = event.get("type") == "run-started"
        is_last = event.get("type") == "sealing"
        if event.get("seq") != number_ or event.get("prev") != previous:
            raise Problem("broken-chain")
        if is_first != (number_ == 1) or is_last != (number_ == len(lines)):
            raise Problem("broken-chain")
        previous = hashlib.sha256(line).hexdigest()
    if not events:
        raise Problem("broken-chain")


def newer_format():
    try:
        top = json.loads(look_at("capsule.json"))
    except (Problem, ValueError, RecursionError):
        return None
    version = top.get("format") if isinstance(top, dict) else None
    is_newer = isinstance(version, int) and not isinstance(version, bool) and version > 1
    return version if is_newer else None


def check(directory):
    os.chdir(directory)
    if newer_format():
        return newer_format()
    problems = set()

    def attempt(member, action, *arguments):
        try:
            return action(*arguments)
        except Problem as problem:
            problems.add(f"{member}: {problem}")

    digests = attempt(MANIFEST, read_manifest)
    for member in LISTED:
        attempt(member, check_member, member, digests)
        attempt(member, check_document, member)
    attempt("events.jsonl", check_chain)
    for name in set(os.listdir(".")) - set(LIMITS):
        problems.add(f"{name}: extra")
    return sorted(problems)


for argument in sys.argv[1:]:
    print(json.dumps(check(argument)))
