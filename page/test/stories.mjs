// What people do with the page, in Chromium: by keyboard, at the width of a desk and of a phone, with axe at the end of each story.
// node test/stories.mjs ADDRESS [WORD]: only stories with that word. PICTURES=FOLDER also takes pictures, in both themes.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, word = ""] = process.argv.slice(2);
const root = join(import.meta.dirname, "../..");
const read = (path) => readFileSync(join(root, path), "utf8");
const axe = readFileSync(join(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");
const real = join(root, "../shared/real/sillytavern/openai");

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
let failures = 0;

/** Waits until the page has built what is on it. */
async function waitForBuild(page) {
    await page.waitForFunction(() => document.getElementById("bar").children.length && !document.body.hasAttribute("aria-busy"));
}

async function press(page, selector, key = "Enter") {
    await page.locator(selector).first().focus();
    await page.keyboard.press(key);
}

const tab = (page, name) => press(page, `#tab-${name}`);
const text = (page, selector) => page.locator(selector).first().innerText();
const choose = (page, selector, value) => page.locator(selector).selectOption(value);
const addFile = async (page, name, content) => {
    await page.locator("#files").setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.from(content) });
    await page.waitForFunction((name) => document.getElementById("file-list").innerText.includes(name), name);
    await waitForBuild(page);
};
async function writeOverlay(page, overlay) {
    await tab(page, "Rules");
    await page.locator("#overlay-editor .cm-content").focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(overlay);
    await waitForBuild(page);
}
const slots = (page) => page.locator(".blocks .slot").allInnerTexts();

const stories = {
    "drop a card": async (page) => {
        await press(page, "#clear");
        await waitForBuild(page);
        await addFile(page, "card.json", read("examples/hello/card.json"));
        assert.match(await text(page, "#file-list"), /character\s+card\.json/);
        await tab(page, "Prompt");
        assert.match(await text(page, "#panel-Prompt"), /Ines keeps the lighthouse/);
    },
    "type a sentence and ask why an entry did not fire": async (page) => {
        await tab(page, "Lore");
        await press(page, 'button:has-text("Why is the reef off?")');
        await page.waitForSelector(".remedies");
        assert.match(await text(page, ".remedies"), /reef.*tried: it works/s);
        await page.locator("#message").fill("What of the reef?");
        await page.waitForSelector('.entry.lit:has-text("the reef")');
        assert.equal(await text(page, ".chat mark"), "reef");
    },
    "edit a rule and see the prompt change": async (page) => {
        const before = await slots(page);
        await writeOverlay(page, read("examples/hello/lore-last.toml"));
        await tab(page, "Prompt");
        const after = await slots(page);
        assert.ok(before.indexOf("world_info_before") < before.indexOf("scenario"));
        assert.ok(after.indexOf("world_info_before") > after.indexOf("scenario"), after.join());
    },
    "break a rule and mend it": async (page) => {
        await writeOverlay(page, 'kind = "overlay"\nversion = 1\nname = "mine"\n[[slot]]\nname = "scenario"\nrol = "user"\n');
        assert.match(await text(page, "#problems"), /unknown key `rol`/);
        assert.match(await text(page, "#problems"), /last prompt that could be built/);
        assert.ok((await page.locator("#overlay-editor .cm-lintRange-error").count()) > 0, "the mistake is underlined");
        await writeOverlay(page, 'kind = "overlay"\nversion = 1\nname = "mine"\n[[slot]]\nname = "scenario"\nrole = "user"\n');
        assert.equal((await text(page, "#problems")).trim(), "");
        await tab(page, "Prompt");
        assert.match(await text(page, '.block:has-text("scenario")'), /^user/);
    },
    "complete a name": async (page) => {
        await writeOverlay(page, 'kind = "overlay"\nversion = 1\nname = "mine"\n[[slot]]\nname = "scen');
        // what there is to complete is asked after the first build
        for (let n = 0; n < 40 && !(await page.locator(".cm-tooltip-autocomplete").count()); n++) {
            await page.keyboard.press("Control+Space");
            await page.waitForTimeout(250);
        }
        assert.match(await text(page, ".cm-tooltip-autocomplete"), /scenario/);
        await page.keyboard.press("Escape");
    },
    "move the budget": async (page) => {
        await choose(page, "#gallery", "cache-friendly");
        await waitForBuild(page);
        const whole = await text(page, "#bar .legend");
        await page.locator("#window").focus();
        await page.keyboard.press("Home");
        for (let n = 0; n < 20; n++) await page.keyboard.press("ArrowRight");
        await waitForBuild(page);
        const less = await text(page, "#bar .legend");
        assert.notEqual(less, whole);
        const sent = Number(/([\d,]+) tokens of/.exec(less)[1].replace(",", ""));
        assert.ok(sent < 1200, less);
    },
    "compare two overlays": async (page) => {
        await writeOverlay(page, read("examples/hello/lore-last.toml"));
        await tab(page, "Compare");
        await page.locator("#compare-b").focus();
        await choose(page, "#compare-b", "mine.toml");
        await press(page, '#panel-Compare button:has-text("Compare")');
        await page.waitForSelector(".difference");
        assert.match(await text(page, "#panel-Compare"), /changed, moved: world_info_before/);
    },
    "fill in the form of options": async (page) => {
        await choose(page, "#gallery", "options");
        await waitForBuild(page);
        const before = await text(page, "#panel-Prompt");
        await tab(page, "Options");
        await page.waitForSelector("#option-promises");
        await press(page, "#option-promises", "Space");
        await waitForBuild(page);
        await tab(page, "Prompt");
        assert.notEqual(await text(page, "#panel-Prompt"), before);
    },
    "see the cache": async (page) => {
        await choose(page, "#gallery", "cache-friendly");
        await waitForBuild(page);
        await tab(page, "Cache");
        await page.waitForSelector(".turns li", { timeout: 60_000 });
        await tab(page, "Rules");
        for (const box of await page.locator("#overlay-list input:checked").all()) {
            await box.focus();
            await page.keyboard.press("Space");
        }
        await tab(page, "Cache");
        await page.waitForSelector("#panel-Cache .sum", { timeout: 60_000 });
        const share = (sum) => Number(/(\d+) %/.exec(sum)[1]);
        const before = share(await text(page, "#panel-Cache .sum"));
        await press(page, 'button:has-text("Show what freezing would save")');
        await page.waitForFunction(() => document.querySelectorAll("#panel-Cache .sum").length === 2, null, { timeout: 60_000 });
        const after = share(await page.locator("#panel-Cache .sum").nth(1).innerText());
        assert.ok(after > before + 20, `${before} % before, ${after} % after`);
        assert.match(await text(page, "#panel-Cache"), /Rules that broke it/);
    },
    "have a preset examined": async (page) => {
        if (!existsSync(real)) return console.log("notice: ../shared/real is not there; no real preset is examined");
        const name = readdirSync(real).find((name) => name.endsWith(".json"));
        await addFile(page, name, readFileSync(join(real, name)));
        await tab(page, "Doctor");
        await page.waitForSelector("#panel-Doctor .grade", { timeout: 60_000 });
    },
    "turn a preset into a pack": async (page) => {
        const prompt = (identifier, name, content, more = {}) => ({ identifier, name, role: "system", system_prompt: false, content, ...more });
        const prompts = [prompt("main", "Main", "Write for {{user}}.", { system_prompt: true }), prompt("s", "=== Style ===", ""), prompt("dark", "Dark", "Be dark."),
            prompt("warm", "Warm", "Be warm."), prompt("chatHistory", "Chat", "", { system_prompt: true, marker: true })];
        const order = prompts.map(({ identifier }) => ({ identifier, enabled: identifier !== "warm" }));
        await addFile(page, "moods.json", JSON.stringify({ openai_max_context: 8000, prompts, prompt_order: [{ character_id: 100001, order }] }));
        await tab(page, "Options");
        await press(page, "#make-pack");
        await page.waitForFunction(() => /is now the pack/.test(document.getElementById("status").textContent));
        await waitForBuild(page);
        assert.match(await text(page, "#file-list"), /rule pack\s+moods/);
        await choose(page, "#option-style", "warm");
        await waitForBuild(page);
        await tab(page, "Prompt");
        assert.match(await text(page, ".blocks"), /Be warm/);
        assert.doesNotMatch(await text(page, ".blocks"), /Be dark/);
        const [download] = await Promise.all([page.waitForEvent("download"), press(page, 'button:has-text("Download moods")')]);
        assert.equal(download.suggestedFilename(), "moods.zip");
    },
    "share and open again": async (page) => {
        await page.locator("#message").fill("Is the reef near?");
        await waitForBuild(page);
        await press(page, "#share");
        await page.waitForFunction(() => location.hash.length > 10);
        assert.match(await text(page, "#status"), /characters, and holds everything|holds everything/);
        const shared = page.url();
        const other = await (await browser.newContext()).newPage();
        await other.goto(shared);
        await waitForBuild(other);
        assert.equal(await other.locator("#message").inputValue(), "Is the reef near?");
        assert.deepEqual(await slots(other), await slots(page));
        await other.context().close();
    },
    "open what was downloaded": async (page) => {
        await page.locator("#message").fill("Is the reef near?");
        await waitForBuild(page);
        const before = await slots(page);
        const [download] = await Promise.all([page.waitForEvent("download"), press(page, "#save")]);
        const saved = readFileSync(await download.path());
        await press(page, "#clear");
        await waitForBuild(page);
        assert.notDeepEqual(await slots(page), before);
        await page.locator("#files").setInputFiles({ name: "scene.json", mimeType: "application/json", buffer: saved });
        await page.waitForFunction(() => /was opened/.test(document.getElementById("status").textContent));
        await waitForBuild(page);
        assert.equal(await page.locator("#message").inputValue(), "Is the reef near?");
        assert.deepEqual(await slots(page), before);
    },
    "go back from a shared project": async (page) => {
        await press(page, "#share");
        await page.waitForFunction(() => location.hash.length > 10);
        const shared = page.url();
        await page.locator("#message").fill("My own work.");
        await waitForBuild(page);
        await page.goto("about:blank");
        await page.goto(shared);
        await waitForBuild(page);
        assert.notEqual(await page.locator("#message").inputValue(), "My own work.");
        await press(page, "#own");
        await waitForBuild(page);
        assert.equal(await page.locator("#message").inputValue(), "My own work.");
    },
    "go on after sharing": async (page) => {
        await press(page, "#share");
        await page.waitForFunction(() => location.hash.length > 10);
        await page.locator("#message").fill("Written after sharing.");
        await waitForBuild(page);
        await page.reload();
        await waitForBuild(page);
        assert.equal(await page.locator("#message").inputValue(), "Written after sharing.");
    },
    "leave a pack that has options": async (page) => {
        await choose(page, "#gallery", "options");
        await waitForBuild(page);
        await tab(page, "Options");
        await press(page, "#option-promises", "Space");
        await waitForBuild(page);
        assert.equal(await page.evaluate(() => document.activeElement.id), "option-promises");
        await choose(page, "#pack", "sillytavern-exact");
        await waitForBuild(page);
        assert.equal((await text(page, "#problems")).trim(), "");
        await addFile(page, "chat.jsonl", `${read("examples/hello/chat.jsonl")}{"mes": "cut`);
        await tab(page, "Lore");
        assert.match(await text(page, "#panel-Lore"), /No lorebook/);
    },
    "read a card that is hostile": async (page) => {
        const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script><svg onload=document.title=3><a href="javascript:document.title=4">x</a>';
        const fields = ["name", "description", "personality", "scenario", "first_mes", "mes_example", "system_prompt", "creator_notes"];
        const data = { ...Object.fromEntries(fields.map((field) => [field, evil])),
            character_book: { name: evil, entries: [{ id: 1, keys: ["a"], comment: evil, content: evil, enabled: true, constant: true, insertion_order: 1, extensions: {} }] } };
        const asked = [];
        page.on("request", (request) => asked.push(request.url()));
        await addFile(page, "evil.json", JSON.stringify({ spec: "chara_card_v2", spec_version: "2.0", data }));
        for (const name of ["Prompt", "Lore", "Payload", "Doctor"]) {
            await tab(page, name);
            await page.waitForTimeout(300);
        }
        assert.equal(await page.title(), "Tapster: what the model really gets");
        assert.equal(await page.locator("main img, main svg, main script, main a[href]").count(), 0);
        assert.deepEqual(asked.filter((url) => !url.startsWith(new URL(address).origin)), []);
    },
    "open an address that is no project": async (page) => {
        await page.evaluate(() => { location.hash = "x".repeat(10_000_000); });
        await page.waitForFunction(() => /cannot be opened/.test(document.getElementById("status").textContent));
        await page.evaluate(() => { location.hash = "AAAA"; });
        await page.waitForFunction(() => /whole project/.test(document.getElementById("status").textContent));
        await page.locator("#message").fill("Still here?");
        await waitForBuild(page);
    },
    "reach everything by the keyboard": async (page) => {
        const reached = new Set();
        await page.evaluate(() => document.activeElement?.blur());
        for (let n = 0; n < 60; n++) {
            await page.keyboard.press("Tab");
            reached.add(await page.evaluate(() => document.activeElement?.id));
        }
        for (const id of ["gallery", "share", "save", "clear", "files", "message", "persona", "pack", "dialect", "window", "turn", "tab-Prompt", "why-not"]) {
            assert.ok(reached.has(id), `${id} is not reached`);
        }
        await page.locator("#tab-Prompt").focus();
        await page.keyboard.press("ArrowRight");
        assert.equal(await page.evaluate(() => document.activeElement.id), "tab-Payload");
    },
};

for (const [title, story] of Object.entries(stories)) {
    if (!title.includes(word)) continue;
    for (const [where, viewport] of [["desk", { width: 1280, height: 900 }], ["phone", { width: 390, height: 800 }]]) {
        const context = await browser.newContext({ viewport, reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] });
        const page = await context.newPage();
        const errors = [];
        page.on("pageerror", (error) => errors.push(String(error)));
        page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
        try {
            await page.goto(address);
            await waitForBuild(page);
            await story(page);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
            await page.evaluate(axe);
            const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
            assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3)}`), []);
            assert.deepEqual(errors, []);
            console.log(`ok    ${title} (${where})`);
        } catch (error) {
            failures++;
            console.log(`FAILS ${title} (${where}): ${String(error.message ?? error).slice(0, 700)}\n${errors.slice(0, 3).join("\n")}`);
        }
        await context.close();
    }
}

// what a browser may deny
for (const [title, script, pattern] of [
    ["storage is denied", () => Object.defineProperty(window, "localStorage", { get: () => { throw new Error("denied"); } }), /keeps nothing/],
    ["WebAssembly is not allowed", () => { delete globalThis.WebAssembly; }, /needs WebAssembly/],
]) {
    if (!title.includes(word)) continue;
    const page = await browser.newPage();
    await page.addInitScript(script);
    await page.goto(address);
    const holds = await page.waitForFunction((source) => new RegExp(source).test(document.getElementById("status").textContent), pattern.source, { timeout: 15_000 }).then(() => true, () => false);
    if (!holds) failures++;
    console.log(`${holds ? "ok   " : "FAILS"} ${title}`);
    await page.close();
}

if (process.env.PICTURES) {
    for (const colorScheme of ["light", "dark"]) {
        const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme });
        await page.goto(address);
        await waitForBuild(page);
        for (const name of ["Prompt", "Lore"]) {
            await tab(page, name);
            await page.waitForTimeout(300);
            await page.screenshot({ path: join(process.env.PICTURES, `page-${name.toLowerCase()}-${colorScheme}.png`) });
        }
        await page.close();
    }
}
await browser.close();
process.exit(failures ? 1 : 0);
