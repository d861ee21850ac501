"""The checker must see each kind of broken promise: a judge that never convicts proves nothing."""
import unittest

import checker

ACKED = [(1, 0), (2, 3)]
TRACE = [line.split() for line in ("start 1 1 100 A", "end 1 1 0", "start 2 1 101 A", "end 2 1 3")]
JOURNAL = [(1, "AttemptAssigned", {"job": 1, "attempt": 1, "devices": [1]}), (2, "AttemptEnded", {"job": 1, "attempt": 1}),
           (3, "AttemptAssigned", {"job": 2, "attempt": 1, "devices": [1]}), (4, "AttemptEnded", {"job": 2, "attempt": 1})]


def jobs(**change):
    base = {1: {"state": "COMPLETED", "exit_code": 0, "signal": None, "reason": {"code": "None"}},
            2: {"state": "FAILED", "exit_code": 3, "signal": None, "reason": {"code": "NonZeroExit"}}}
    base[2].update(change)
    return base


class CheckerTest(unittest.TestCase):
    def judge(self, word, acked=ACKED, ends=None, trace=TRACE, journal=JOURNAL, watchers_killed=False):
        faults = checker.judge(acked, ends or jobs(), trace, journal, watchers_killed)
        if word is None:
            self.assertEqual(faults, [])
        else:
            self.assertTrue(any(fault.startswith(word) for fault in faults), faults)

    def test_clean(self):
        self.judge(None)

    def test_lost(self):
        self.judge("lost", ends={1: jobs()[1]})
        self.judge("lost", ends=jobs(state="RUNNING", exit_code=None))
        self.judge("lost", journal=JOURNAL[:1] + JOURNAL[2:])

    def test_twice(self):
        self.judge("twice", trace=TRACE + [["start", "1", "1", "200", "A"]])
        self.judge("twice", trace=TRACE + [["start", "1", "2", "200", "A"]])

    def test_double(self):
        self.judge("double", trace=TRACE + [["double", "2", "1", "A"]])
        self.judge("double", journal=[JOURNAL[0], (2, "AttemptAssigned", {"job": 2, "attempt": 1, "devices": [1]})])

    def test_invented(self):
        self.judge("invented", ends=jobs(exit_code=0, state="COMPLETED"))
        self.judge("invented", ends=jobs(exit_code=None, signal=9))
        self.judge("invented", trace=TRACE[:3])
        self.judge("invented", trace=TRACE + [["start", "9", "1", "200", "A"]])

    def test_unknown_only_when_a_watcher_was_killed(self):
        lost_code = jobs(exit_code=None, reason={"code": "ExitCodeUnknown"})
        self.judge("unknown", ends=lost_code)
        self.judge(None, ends=lost_code, watchers_killed=True)

    def test_a_kill_before_the_command_is_no_invention(self):
        killed = jobs(exit_code=None, signal=9, reason={"code": "RaisedSignal"})
        self.judge(None, ends=killed, trace=TRACE[:2], watchers_killed=True)
        self.judge("invented", ends=killed, trace=TRACE[:3], watchers_killed=True)
        self.judge("invented", ends=killed, trace=TRACE[:2])

    def test_reused(self):
        self.judge("reused", acked=ACKED + [(2, 3)])


if __name__ == "__main__":
    unittest.main()
