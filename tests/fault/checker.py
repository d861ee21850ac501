"""Judges what a tormented berth did, from three witnesses: what it acknowledged, what the jobs themselves wrote, and its journal.

The promises:
  lost      every acknowledged job reaches a final state and is still known
  twice     no attempt runs twice, and a job that may not be run again runs once
  double    no card is held by two attempts at once: by the jobs' own locks, and by the journal
  invented  an exit code is the one the job ended with, or null when its watcher was killed
  reused    no job id is given twice
"""
import json
import sqlite3
from collections import Counter, defaultdict

FINAL = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL"}


def read_trace(path):
    """The lines of tracejob as lists of words; a missing file is an empty trace."""
    try:
        with open(path, encoding="utf-8") as file:
            return [line.split() for line in file]
    except FileNotFoundError:
        return []


def read_journal(state_dir):
    """All journal rows as (seq, kind, body) in order."""
    db = sqlite3.connect(f"file:{state_dir}/berth.db?mode=ro", uri=True)
    try:
        rows = db.execute("SELECT seq, kind, body FROM journal ORDER BY seq").fetchall()
    finally:
        db.close()
    return [(seq, kind, json.loads(body)) for seq, kind, body in rows]


def was_killed_on_its_way(end, job, trace):
    """A kill that was meant for the shim can hit the child that is about to become the command: then signal 9 is the truth, and
    the command left no start."""
    return end["signal"] == 9 and not any(words[0] == "start" and int(words[1]) == job for words in trace)


def check_jobs(acked, jobs, trace, watchers_killed):
    """acked: [(id, code)] as acknowledged; jobs: {id: job as the API shows it at the end}."""
    counts = Counter(job for job, _ in acked)
    faults = [f"reused: id {job} acknowledged {n} times" for job, n in counts.items() if n > 1]
    for job, code in acked:
        if job not in jobs:
            faults.append(f"lost: job {job} was acknowledged and is unknown")
            continue
        end = jobs[job]
        if end["state"] not in FINAL:
            faults.append(f"lost: job {job} never ended, state {end['state']}, reason {end['reason']}")
        elif end["exit_code"] is None and end["reason"]["code"] == "ExitCodeUnknown":
            continue
        elif watchers_killed and was_killed_on_its_way(end, job, trace):
            continue
        elif end["exit_code"] != code:
            faults.append(f"invented: job {job} ended with {code}, berth says {end['exit_code']} "
                          f"(signal {end['signal']}, {end['state']}, {end['reason']})")
    return faults


def check_codes_known(acked, jobs):
    """When no watcher was killed, every code must be known."""
    return [f"unknown: job {job} has no exit code although no watcher was killed"
            for job, _ in acked if job in jobs and jobs[job]["exit_code"] is None]


def check_trace(acked, trace):
    faults = []
    starts = Counter((int(words[1]), int(words[2])) for words in trace if words[0] == "start")
    per_job = Counter()
    for (job, attempt), n in starts.items():
        per_job[job] += 1
        if n > 1:
            faults.append(f"twice: attempt {attempt} of job {job} started {n} times")
    faults += [f"twice: job {job} ran {n} attempts and asked for none again" for job, n in per_job.items() if n > 1]
    faults += [f"double: card {words[3]} was locked when job {words[1]} attempt {words[2]} got it"
               for words in trace if words[0] == "double"]
    known = {job for job, _ in acked}
    faults += [f"invented: job {job} ran and was never acknowledged" for job in per_job if job not in known]
    return faults


def check_ran(acked, jobs, trace):
    """A job that COMPLETED or has a code of its own left a start and an end."""
    ends = defaultdict(set)
    for words in trace:
        if words[0] == "end":
            ends[int(words[1])].add(int(words[3]))
    return [f"invented: job {job} has exit code {jobs[job]['exit_code']} and never wrote its end"
            for job, code in acked if job in jobs and jobs[job]["exit_code"] == code and code not in ends[job]]


def check_journal(journal):
    """Numbers without a gap; a card assigned only while free; an attempt ends once."""
    faults = []
    holder = {}
    cards = {}
    ended = set()
    for at, (seq, kind, body) in enumerate(journal):
        if at and seq != journal[at - 1][0] + 1:
            faults.append(f"lost: journal jumps from {journal[at - 1][0]} to {seq}")
        key = (body.get("job"), body.get("attempt"))
        if kind == "AttemptAssigned":
            cards[key] = body["devices"]
            for card in body["devices"]:
                if card in holder:
                    faults.append(f"double: card {card} assigned to {key} while {holder[card]} holds it (row {seq})")
                holder[card] = key
        elif kind in ("AttemptEnded", "AttemptRefused"):
            if key in ended:
                continue  # a late second report is recorded and void
            ended.add(key)
            for card in cards.pop(key, []):
                holder.pop(card, None)
    return faults


def judge(acked, jobs, trace, journal, watchers_killed):
    """Every broken promise as a sentence; an empty list is a clean life."""
    faults = check_jobs(acked, jobs, trace, watchers_killed) + check_trace(acked, trace)
    faults += check_ran(acked, jobs, trace) + check_journal(journal)
    if not watchers_killed:
        faults += check_codes_known(acked, jobs)
    return faults
