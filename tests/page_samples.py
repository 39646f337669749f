"""Visits to the page with a real browser."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from server_samples import wait_for

WIDE, NARROW = {"width": 1100, "height": 760}, {"width": 360, "height": 740}
PATIENCE = 180_000  # milliseconds
REVIEWED = ("phone.mp4", "stage.mp4", "studio.mp4")  # clips whose possible matches wait for a decision
# Four pictures a second instead of sixty: without a graphics card each is drawn by the processor.
SLOWER_PICTURES = """
window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 250);
window.cancelAnimationFrame = clearTimeout;
"""


@dataclass
class Visit:
    """A page, and everything that went wrong or was loaded on it."""

    context: object
    url: str
    page: object = None
    complaints: list[str] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)

    @property
    def heading(self) -> str:
        """What stands at the top, in one line."""
        return " ".join(self.page.inner_text("main h1").split())

    def go(self, route: str = "", wait: str = "main h1") -> None:
        """Open a view and wait for something on it."""
        self.page.goto(f"{self.url}/#/{quote(route)}")
        self.page.locator("main:not([aria-busy])").wait_for()
        self.page.wait_for_selector(wait, timeout=PATIENCE)


def visit(browser, url: str, token: str | None = None, **options) -> Visit:
    """A visit of a browser's own, with a token as if it had been given before."""
    context = browser.new_context(viewport=WIDE, **options)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(SLOWER_PICTURES)
    if token is not None:
        kept = f"sessionStorage.setItem('token', {token!r})"
        context.add_init_script(f"if (location.protocol === 'http:') {kept}")
    made = Visit(context, url)
    context.on(
        "console", lambda said: made.complaints.append(said.text) if said.type in ("error", "warning") else 0
    )
    context.on("weberror", lambda error: made.complaints.append(str(error.error)))
    context.on("request", lambda asked: made.loaded.add(asked.url))
    made.page = context.new_page()
    return made


def answer_with(verdicts: list[tuple[str, float]], route, **more) -> None:
    """The answer of a search with other verdicts on the likeliest dances, and `more` in it."""
    answer = route.fetch().json()
    for dancer, (verdict, evalue) in zip(answer["dancers"], verdicts, strict=True):
        dancer["verdict"] = verdict
        for number, match in enumerate(dancer["candidates"]):
            match.update({"verdict": "no match"} if number else {"verdict": verdict, "evalue": evalue})
    route.fulfill(json=answer | {"verdict": verdicts[0][0]} | more)


@cache
def _axe() -> str:
    """The script of axe-core, which a package of the index brings along."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page) -> list[str]:
    """What axe-core finds wrong with the page as it is: the rule, and where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
    return page.evaluate("""async () => {
      const { violations } = await axe.run(document, { resultTypes: ["violations"] });
      return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`));
    }""")


def until(page, condition: str) -> None:
    """Wait for a condition; the page's own policy forbids Playwright's way, which makes code of a text."""
    wait_for(lambda: page.evaluate(condition))


def drawn(canvas) -> bool:
    """Whether there is anything on a canvas, or comes onto it within a minute."""
    return canvas.evaluate(
        """async (c) => {
            const size = { width: c.width, height: c.height };
            const copy = Object.assign(document.createElement("canvas"), size);
            const context = copy.getContext("2d", { willReadFrequently: true });
            const some = () => {
                context.drawImage(c, 0, 0);
                return context.getImageData(0, 0, c.width, c.height).data.some((value) => value > 0);
            };
            const end = performance.now() + 60000;
            while (!some() && performance.now() < end) await new Promise((go) => setTimeout(go, 50));
            return some();
        }"""
    )


POOR_CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => colour.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true }) || element.disabled) continue;
    const style = getComputedStyle(element), [a, b] = [light(parse(style.color)), light(ground(element))];
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (large ? 3 : 4.5)) poor.push(`${element.textContent.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""

NAMELESS = """() => [...document.querySelectorAll("a, button, input, select, [role=img], [tabindex='0']")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length || one.alt))
  .map((one) => one.outerHTML)"""
