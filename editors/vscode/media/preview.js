// Shows what `tapster/preview` answers; the extension posts it, and is told what is clicked.
(() => {
    // @ts-ignore the page has it inside of VS Code only
    const host = acquireVsCodeApi();
    /** @param {string} id @returns {any} */
    const part = (id) => document.getElementById(id);

    /** @param {string} tag @param {string} [className] @param {(string | Node)[]} children */
    function make(tag, className, ...children) {
        const element = document.createElement(tag);
        if (className) element.className = className;
        element.append(...children);
        return element;
    }

    /** A place in a file: a button if the file can be opened. @param {string} text @param {object | null | undefined} place */
    function link(text, place) {
        if (!place) return make("span", "place", text);
        const button = make("button", "place link", text);
        button.addEventListener("click", () => host.postMessage({ open: place }));
        return button;
    }

    const plural = (/** @type {number} */ count, /** @type {string} */ noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
    const known = ["system", "user", "assistant", "developer", "tool"];
    const roleClass = (/** @type {any} */ block) => (known.includes(block.role) ? block.role : "other");
    const nameOf = (/** @type {any} */ block) => block.slot || block.group || block.id || "";
    /** The last folders and the file of a place. @param {string} rule */
    const short = (rule) => rule.split(/[\\/]/).slice(-2).join("/");

    /** @param {any} block */
    function blockView(block) {
        const head = make("div", "head", make("span", "role", block.role || "–"), make("span", "name", nameOf(block)));
        if (block.tokens !== null && block.tokens !== undefined) head.append(make("span", "count", plural(block.tokens, "token")));
        if (!block.enabled) head.append(make("span", "state", "not sent"));
        if (block.marked) head.append(make("span", "state here", "rule under the cursor"));
        if (block.rule) head.append(link(short(block.rule), block.place));
        const view = make("section", `block ${roleClass(block)}`, head, make("pre", "", block.text || ""));
        view.classList.toggle("off", !block.enabled);
        view.classList.toggle("marked", block.marked);
        view.title = [block.pass, block.rule].filter(Boolean).join(" · ");
        return view;
    }

    /** @param {any} one */
    function diagnosticView(one) {
        const row = make("li", one.severity, make("strong", "", one.severity), " ", one.message);
        if (one.help) row.append(make("div", "help", one.help));
        if (one.at) row.append(" ", link(short(one.at), one.place));
        return row;
    }

    /** Why the lore entry under the cursor fired or did not. @param {any} entry */
    function entryView(entry) {
        const stopped = entry.stopped_by;
        const head = make("div", "head", make("strong", "", entry.name), make("span", "state", entry.sent ? "fires" : "does not fire"));
        if (stopped?.rule) head.append(link(`${stopped.pass} (${short(stopped.rule)})`, entry.place));
        const remedies = entry.remedies.map((/** @type {any} */ one) => make("li", "", one.change));
        const parts = [head, make("div", "", entry.says)];
        if (remedies.length) parts.push(make("div", "help", "Each of these changes lets it fire:", make("ul", "", ...remedies)));
        return parts;
    }

    /** @param {any} shown */
    function show(shown) {
        part("scene").textContent = shown.scene;
        part("open-rules").checked = !!shown.usesOpenRules;
        part("diagnostics").replaceChildren(...shown.diagnostics.slice(0, 30).map(diagnosticView));
        const isRefused = !shown.blocks.length && shown.diagnostics.some((/** @type {any} */ one) => one.severity === "error");
        // while a mistake is typed, the last prompt stays
        document.body.classList.toggle("stale", isRefused);
        if (isRefused) return;
        part("entry").hidden = !shown.entry;
        part("entry").replaceChildren(...(shown.entry ? entryView(shown.entry) : []));
        const sent = shown.blocks.filter((/** @type {any} */ block) => block.enabled);
        const tokens = sent.reduce((/** @type {number} */ sum, /** @type {any} */ block) => sum + (block.tokens ?? 0), 0);
        part("sum").textContent = `${shown.pack ?? ""} · ${plural(tokens, "token")}`;
        part("bar").replaceChildren(...sent.map((/** @type {any} */ block) => {
            const piece = make("span", roleClass(block));
            piece.style.flexGrow = String(block.tokens ?? 0);
            piece.classList.toggle("marked", block.marked);
            piece.title = `${nameOf(block)}: ${plural(block.tokens ?? 0, "token")}`;
            return piece;
        }));
        part("bar").ariaLabel = `${plural(sent.length, "block")}, ${plural(tokens, "token")}`;
        const wasMarked = document.querySelector(".block.marked")?.getAttribute("data-id");
        part("blocks").replaceChildren(...shown.blocks.map((/** @type {any} */ block) => {
            const view = blockView(block);
            view.dataset.id = block.id;
            return view;
        }));
        const marked = /** @type {HTMLElement | null} */ (document.querySelector(".block.marked"));
        if (marked && marked.dataset.id !== wasMarked) marked.scrollIntoView({ block: "nearest" });
        part("payload").lastElementChild.textContent = JSON.stringify(shown.payload, null, 2);
    }

    part("scene").addEventListener("click", () => host.postMessage({ choose: true }));
    part("open-rules").addEventListener("change", () => host.postMessage({ usesOpenRules: part("open-rules").checked }));
    window.addEventListener("message", (event) => show(event.data));
    host.postMessage({ ready: true });
})();
