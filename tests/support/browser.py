"""Chromium without a window, driven over its debugging pipe: loads pages, asks them, takes pictures.

Only the standard library. Browser.find() is None where no Chromium is installed.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile


class Browser:
    @staticmethod
    def find():
        for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
            if path := shutil.which(name):
                return path
        return None

    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()

        def take_pipes():  # the browser reads from 3 and writes to 4
            spare_in, spare_out = os.dup(commands), os.dup(answers)
            os.dup2(spare_in, 3)
            os.dup2(spare_out, 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=take_pipes)
        os.close(commands)
        os.close(answers)
        self.unread, self.events, self.number, self.session = b"", [], 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def receive(self):
        while b"\0" not in self.unread:
            read = os.read(self.from_browser, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self.unread += read
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def load(self, file, width=800, dark=False):
        """Opens a page; returns what it wrote to the console and the other addresses it asked for."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        address = "file://" + os.path.abspath(file)
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())
        self.ask("1")  # whatever the console got until here comes before the answer
        console = [event["params"] for event in self.events
                   if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                              "Log.entryAdded")]
        others = [event["params"]["request"]["url"] for event in self.events
                  if event.get("method") == "Network.requestWillBeSent"
                  and event["params"]["request"]["url"] not in (address, "data:,")]
        return console, others

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def picture(self, file):
        """The whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        image = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(file, "wb") as out:
            out.write(base64.b64decode(image["data"]))
