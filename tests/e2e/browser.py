"""A real browser for tests: Chromium without a window, driven over its debugging pipe, with Python's standard library only.

    with Browser() as browser:
        browser.open(url)
        browser.until("document.querySelectorAll('li').length == 8", "eight items are there")
        browser.screenshot("page.png")

Chromium reads commands on its fd 3 and answers on fd 4, each a JSON object closed by a NUL.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE_S = 30
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank")


def find():
    """The path of a browser; None when there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, width=1280, height=900, scheme="light"):
        self.profile = tempfile.mkdtemp(prefix="berth-browser-")
        self.replies = {}
        self.errors = []  # what the page threw or logged as an error
        self.changed = threading.Condition()
        self.last_id = 0
        self.session = None
        self.start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self):
        """Chromium wants its pipe on fds 3 and 4: a shell puts them there."""
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self.process = subprocess.Popen(["sh", "-c", script, "sh", find(), f"--user-data-dir={self.profile}", *OPTIONS],
                                        pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        rest = b""
        while data := os.read(self.from_browser, 1 << 16):
            *whole, rest = (rest + data).split(b"\0")
            for text in whole:
                self.take(json.loads(text))

    def take(self, message):
        method = message.get("method")
        with self.changed:
            if "id" in message:
                self.replies[message["id"]] = message
            elif method == "Runtime.exceptionThrown":
                self.errors.append(message["params"]["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Runtime.consoleAPICalled" and message["params"]["type"] == "error":
                self.errors.append(str([part.get("value") for part in message["params"]["args"]]))
            self.changed.notify_all()

    def call(self, method, **params):
        self.last_id += 1
        mine = self.last_id
        message = {"id": mine, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        with self.changed:
            if not self.changed.wait_for(lambda: mine in self.replies, DEADLINE_S):
                raise TimeoutError(f"the browser does not answer {method}")
            reply = self.replies.pop(mine)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        """What a JavaScript expression is, as JSON."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, what, seconds=DEADLINE_S):
        end = time.monotonic() + seconds
        while True:
            try:
                if self.value(expression):
                    return
            except RuntimeError:
                pass  # the page is changing under us
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds} s in vain until {what}; the page says:\n{self.value('document.body.innerText')}")
            time.sleep(0.05)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(5)
        except (OSError, TimeoutError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        self.reader.join(5)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)
