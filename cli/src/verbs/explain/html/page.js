"use strict";
(() => {
  const form = document.getElementById("filter");
  const find = document.getElementById("find");
  const state = document.getElementById("state");
  const count = document.getElementById("count");
  const rows = Array.from(document.querySelectorAll("[data-row]"), (row) => [row, row.textContent.toLowerCase()]);
  const apply = () => {
    const wanted = find.value.toLowerCase();
    let shown = 0;
    for (const [row, text] of rows) {
      const fits = text.includes(wanted) && (state.value === "" || row.dataset.row === state.value);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = shown + " of " + rows.length + " rows are shown";
  };
  const copy = document.getElementById("copy");
  copy?.removeAttribute("hidden");
  copy?.addEventListener("click", () => {
    const payload = document.getElementById("json");
    payload.parentElement.open = true;
    getSelection().selectAllChildren(payload);
    document.getElementById("copied").textContent = document.execCommand("copy") ? "Copied." : "It is selected now.";
  });
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("input", apply);
  state.addEventListener("input", apply);
  const open = () => {
    const target = document.querySelector(":target > details");
    if (target) target.open = true;
  };
  window.addEventListener("hashchange", open);
  open();
  apply();
})();
