"""The page in a real browser: it shows what is so, changes by itself, speaks both languages, and survives the daemon.

Skipped where no Chromium is installed.
"""
import re
import socket
import sys
import unittest

import browser
from harness import Daemon

BUILD = None
NASTY = "<img src=x onerror=alert(1)>&amp;'"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Page(unittest.TestCase):
    def setUp(self):
        self.berth = Daemon(BUILD)
        self.addCleanup(self.berth.close)
        self.listen = f"127.0.0.1:{free_port()}"
        self.berth.start("--listen", self.listen)
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)

    def sign_in(self):
        done = self.berth.run("web")
        link = re.search(r"http://\S+", done.stdout).group()
        self.browser.open(link)
        self.browser.until("document.getElementById('live')?.dataset.state == 'live'", "the page is live")
        return link

    def count(self, where):
        return f"document.querySelectorAll('#{where} > li').length"

    def text(self, where):
        return self.browser.value(f"document.getElementById('{where}').innerText")

    def test_cards_jobs_and_their_ends_come_by_themselves(self):
        self.sign_in()
        self.browser.until(self.count("cards") + " == 8", "eight cards are shown")
        self.assertFalse(self.browser.value("document.getElementById('simulated').hidden"), "says that the cards are simulated")
        first = self.berth.submit("sh", "-c", "echo 3/7 half way > $BERTH_PROGRESS_FILE; sleep 600", gpus=8, name="训练")
        second = self.berth.submit("true", gpus=4, name=NASTY)
        self.browser.until(self.count("running") + " == 1 && " + self.count("queue") + " == 1", "one runs, one waits")
        self.browser.until("document.getElementById('running').innerText.includes('half way')", "the progress is shown")
        self.assertIn("训练", self.text("running"))
        self.assertIn("<img", self.text("queue"), "a name is text, whatever is in it")
        self.assertIn("4", self.text("queue"))
        self.berth.run("cancel", str(first))
        self.berth.until_state(second, "COMPLETED")
        self.browser.until(self.count("running") + " == 0 && " + self.count("queue") + " == 0 && " + self.count("finished") + " == 2",
                           "both are over")
        self.assertEqual(self.browser.errors, [])

    def test_both_languages_from_the_same_reasons(self):
        holder = self.berth.submit("sleep", "600", gpus=8)
        self.berth.until_state(holder, "RUNNING")
        self.berth.submit("true", gpus=4)
        self.sign_in()
        self.browser.until(self.count("queue") + " == 1", "one waits")
        english = self.text("queue")
        self.browser.value("document.getElementById('language').click()")
        self.browser.until("document.documentElement.lang.startsWith('zh')", "the page is Chinese")
        self.browser.until("/[一-鿿]/.test(document.getElementById('queue').innerText)", "the queue's reasons are Chinese")
        self.assertFalse(re.search("[一-鿿]", english), english)
        self.sign_in()
        self.browser.until("document.documentElement.lang.startsWith('zh')", "the choice is remembered")

    def test_the_page_comes_back_with_the_daemon(self):
        self.sign_in()
        self.berth.kill()
        self.browser.until("document.getElementById('live').dataset.state != 'live'", "the page says that it is cut off")
        self.berth.start("--listen", self.listen)
        self.berth.submit("sleep", "600", gpus=1)
        self.browser.until("document.getElementById('live').dataset.state == 'live' && " + self.count("running") + " == 1"
                           " || !document.getElementById('trouble').hidden", "the page is live again, or says how to sign in")

    def test_a_link_signs_in_once(self):
        link = self.sign_in()
        with browser.Browser() as other:
            other.open(link)
            other.until("document.body.innerText.includes('berth web')", "a used link says how to get another")
            self.assertEqual(other.value("document.getElementById('cards')"), None)

    def test_a_narrow_screen_needs_no_sideways_scrolling(self):
        self.browser.resize(390, 800)
        holder = self.berth.submit("sleep", "600", gpus=8, name="a-rather-long-name-for-a-job-" * 3)
        self.berth.until_state(holder, "RUNNING")
        self.sign_in()
        self.browser.until(self.count("running") + " == 1", "it is shown")
        self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    if not browser.find():
        print("skipped: no Chromium is installed")
        sys.exit(77)
    BUILD = sys.argv.pop(1)
    unittest.main(verbosity=2)
