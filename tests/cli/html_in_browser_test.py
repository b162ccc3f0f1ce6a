"""Pages of real commands in Chromium: nothing on the console, nothing asked for, nothing cut off.

html_in_browser_test.py PIPESIM [FOLDER]   with a folder: keeps pictures there. Exit code 77: no
Chromium is installed.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from browser import Browser  # noqa: E402

HOSTILE = "a</script><script>document.title='hit'</script>\"'&<b>\u05d0 \U0001f600"
PREDICT = ["predict", "--workers", "4", "--storage", "sata-ssd", "--set", "limits.cpus=8",
           "--set", "device={emulated: {base: 2ms}}"]
SWEEP = ["sweep", "--engine", "predict", "--prepare", "2ms", "--device", "rtx-4060", "--cpus", "8",
         "--quiet", "--axis", "workers=0,1,2,4,8"]
PAGES = {
    "predict": PREDICT,
    "hostile": PREDICT + ["--set", "name=" + HOSTILE],
    "one_axis": SWEEP,
    "two_axes": SWEEP + ["--axis", "batch=16,32,64,128"],
    "wide": SWEEP + ["--axis", "batch=1:512:*2"],
    "large": SWEEP[:-1] + ["workers=0:19:1", "--axis", "batch=8:200:8"],
    "size": ["size", "--prepare", "2ms", "--workers", "8", "--device", "rtx-4060", "--target", "samples_per_s>=900",
             "--solve", "limits.cpus"],
    "tune": ["tune", "--prepare", "1ms", "--device", "rtx-4060", "--cpus", "4", "--engine", "predict"],
}

# Elements with text of their own: their size, and the contrast with the nearest ground (WCAG 2.1).
LOOK = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 :
      ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const faults = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(c => c.nodeType == 3 && c.textContent.trim());
    if (!own || e.closest('style, title, caption') || e.matches('.on')) continue;
    if (!e.checkVisibility || !e.checkVisibility()) continue;
    const style = getComputedStyle(e), what = e.tagName + ' ' + e.textContent.trim().slice(0, 40);
    if (parseFloat(style.fontSize) < 12) faults.push(what + ': text of ' + style.fontSize);
    let ground = e, colour;
    for (; ground; ground = ground.parentElement) {
      colour = parse(getComputedStyle(ground).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) break;
    }
    const a = light(parse(e instanceof SVGElement ? style.fill : style.color));
    const b = light(ground ? colour : [255, 255, 255]);
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) faults.push(what + ': contrast ' + contrast.toFixed(1));
  }
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) faults.push('the page is ' + wide + ' pixels too wide');
  for (const t of document.querySelectorAll('svg text')) {
    if (!t.checkVisibility()) continue;
    const box = t.getBoundingClientRect(), frame = t.ownerSVGElement.getBoundingClientRect();
    if (box.width && (box.left < frame.left - 2 || box.right > frame.right + 2))
      faults.push('cut off: ' + t.textContent);
  }
  for (const map of document.querySelectorAll('.maps .scroll'))
    if (innerWidth >= 800 && !map.closest('details') && map.scrollWidth > map.clientWidth + 1)
      faults.push('cut off: ' + map.getAttribute('aria-label'));
  return faults;
})()"""


def main():
    pipesim = sys.argv[1]
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    path = Browser.find()
    if path is None:
        print("skipped: no Chromium is installed here")
        return 77
    failures = []
    with tempfile.TemporaryDirectory() as folder, Browser(path) as browser:
        environment = dict(os.environ, XDG_STATE_HOME=folder)
        for name, words in PAGES.items():
            page = os.path.join(folder, name + ".html")
            subprocess.run([pipesim, *words, "--export", "html=" + page], check=True, cwd=folder,
                           env=environment, stdout=subprocess.DEVNULL)
            for width in (360, 800, 1400):
                # Thousands of elements take the checks seconds each time.
                for dark in (False, True) if name != "large" else (width == 800,):
                    console, others = browser.load(page, width, dark)
                    where = f"{name}, {width} pixels, {'dark' if dark else 'light'}: "
                    failures += [where + "on the console: " + str(entry) for entry in console]
                    failures += [where + "asks for " + other for other in others]
                    failures += [where + fault for fault in browser.ask(LOOK)]
                    if pictures:
                        browser.picture(os.path.join(
                            pictures, f"{name}-{width}-{'dark' if dark else 'light'}.png"))
            if name == "hostile":
                if "hit" == browser.ask("document.title"):
                    failures.append("a name was run as a script")
                if HOSTILE.split('"')[0] not in browser.ask("document.querySelector('.kicker').textContent"):
                    failures.append("a name is not shown as it was written")
    print("\n".join(failures) if failures else f"{len(PAGES)} pages, 3 widths, light and dark")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
