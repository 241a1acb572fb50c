// Looks at pages of `tapster explain --html` in headless Chromium: no console error, no request, no axe violation, no
// sideways scrolling at 375 px, in light and dark. Writes a screenshot of each to the folder OUT.
//
//   npm install playwright-core axe-core      (anywhere; NODE_PATH or the working folder finds them)
//   node tests/tools/page.mjs OUT page.html …
//
// It is not part of the required checks: without Chromium or the packages it says so and ends with 0.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";

const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const require = createRequire(resolve("package.json"));
let playwright, axe;
try {
  playwright = require("playwright-core");
  axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
} catch {
  console.log("notice: playwright-core or axe-core is not installed here, so no page was looked at");
  process.exit(0);
}
if (!existsSync(chromium)) {
  console.log(`notice: there is no ${chromium}, so no page was looked at`);
  process.exit(0);
}
const [out, ...pages] = process.argv.slice(2);
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await playwright.chromium.launch({ executablePath: chromium, args: flags });
let failed = 0;
const fail = (text) => {
  failed += 1;
  console.log(`FAIL ${text}`);
};
for (const page of pages) {
  for (const [width, height] of [[1280, 900], [375, 800]]) {
    for (const colorScheme of ["light", "dark"]) {
      const name = `${basename(page, ".html")}-${width}-${colorScheme}`;
      const context = await browser.newContext({ viewport: { width, height }, colorScheme });
      const tab = await context.newPage();
      tab.on("console", (message) => message.type() === "error" && fail(`${name}: console: ${message.text()}`));
      tab.on("pageerror", (error) => fail(`${name}: ${error}`));
      tab.on("dialog", () => fail(`${name}: the page opened a dialog`));
      tab.on("request", (request) => request.url().startsWith("file:") || fail(`${name}: request of ${request.url()}`));
      await tab.goto(`file://${resolve(page)}`);
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) fail(`${name}: the page is ${wide} px wider than the screen`);
      if (!(await tab.locator("#filter").isVisible())) fail(`${name}: the script has not run`);
      const all = await tab.locator("[data-row]:visible").count();
      await tab.fill("#find", "no row holds this text");
      if ((await tab.locator("[data-row]:visible").count()) > 0) fail(`${name}: the filter hides nothing`);
      await tab.fill("#find", "");
      if ((await tab.locator("[data-row]:visible").count()) !== all) fail(`${name}: the filter does not show everything again`);
      const first = tab.locator(".block summary").first();
      if (await first.count()) {
        await first.focus();
        if (!(await tab.locator(".block summary .rule").first().isVisible())) fail(`${name}: focus does not show the rule`);
      }
      await tab.screenshot({ path: `${out}/${name}.png`, fullPage: all < 200 });
      // axe runs outside of the policy of the page
      for (const part of await tab.evaluate(`(() => { ${axe}; return axe.run(document); })()`).then((result) => result.violations)) {
        fail(`${name}: axe ${part.id}: ${part.help}: ${part.nodes[0].html.slice(0, 200)}`);
      }
      await context.close();
    }
  }
}
await browser.close();
console.log(`${pages.length} pages, ${failed} failures`);
process.exit(failed > 0 ? 1 : 0);
