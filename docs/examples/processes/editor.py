#!/usr/bin/env python3
"""Users of an editor, driven step by step: they log in once, then write and save until they are done.

Steps of a plan cannot express this: reading time depends on the text, and the next step on the response.
Run it with `plimsoll run editor-python.yaml`.
"""

import html
import json
import random
import re
import sys

WORDS = ["buoy", "draught", "freeboard", "hull", "keel", "load", "tide"]


class Failed(Exception):
    """Ends an iteration, with a reason."""


def ask(path, think_ms=0, **rest):
    """Sends a request after a think time; returns the response."""
    answer = yield {"think_ms": think_ms, "request": {"path": path, **rest}}
    if answer["outcome"] != "ok":
        raise Failed(f"{path}: {answer.get('reason', answer['outcome'])}")
    return answer


def token(page):
    """The token of the form on a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', page["body"])
    if not found:
        raise Failed("the page has no token")
    return html.unescape(found[1])


def journey(start):
    """One iteration of one user: yields what it does, and is handed what came of it."""
    dice = random.Random(start["seed"])
    if start["iteration"] == 1:
        page = yield from ask("/login", once=True)
        fields = {
            "username": start["row"]["account"]["name"],
            "password": "secret",
            "csrf": token(page),
        }
        yield from ask(
            "/login", once=True, method="POST", form=fields, expect={"status": 302, "location": "/home"}
        )
    text = dice.choice(WORDS)
    saved = 0
    while saved < 20 and dice.random() < 0.8:
        text += " " + dice.choice(WORDS)
        page = yield from ask("/form", think_ms=2 * len(text))
        fields = {"csrf": token(page), "text": text}
        answer = yield from ask("/save", method="POST", form=fields, expect={"status": 200})
        saved = json.loads(answer["body"])["saved"]
    yield {"think_ms": 5}


def main():
    users = {}
    for line in sys.stdin:
        event = json.loads(line)
        number = event["user"]
        if event["event"] == "stop":
            users.pop(number, None)
            continue
        try:
            if event["event"] == "start":
                users[number] = journey(event)
                said = next(users[number])
            else:
                said = users[number].send(event.get("answer"))
        except StopIteration:
            said = {"end": "ok"}
        except Failed as failed:
            said = {"end": "fail", "reason": str(failed)}
        print(json.dumps({"user": number, **said}), flush=True)


if __name__ == "__main__":
    main()
