"use strict";
// Scripts of the pages: charts, the CSRF token of every request, sliders with number boxes, copying, dropped files.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Colour of a chart -> colour on a dark page, as in the style of reports.
  const DARK_COLOURS = {
    "#222222": "#e8e6e1", "#000000": "#e8e6e1", "#555555": "#a3a8ad", "#888888": "#a3a8ad", "#dddddd": "#33383d",
    "#eeeeee": "#33383d", "#00436b": "#e8e6e1", "#0072b2": "#3d9bd8", "#777777": "#a3a8ad",
  };

  function recolour(spec) {
    if (!dark.matches) return spec;
    return spec.replace(/"(#[0-9a-f]{6})"/gi, (all, hex) => (DARK_COLOURS[hex.toLowerCase()] ? `"${DARK_COLOURS[hex.toLowerCase()]}"` : all));
  }

  async function draw(place) {
    const spec = JSON.parse(recolour(place.dataset.chart));
    const options = {
      actions: false, logLevel: 1 /* errors alone */, ast: true, defaultStyle: false, renderer: "canvas", tooltip: { disableDefaultStyle: true },
    };
    try {
      const view = await vegaEmbed(place, spec, options);
      if (place.view) place.view.finalize();
      place.view = view;
      const canvas = place.querySelector("canvas");
      if (canvas) canvas.setAttribute("aria-hidden", "true");
    } catch (problem) {
      place.textContent = "This chart could not be drawn; its numbers are in the tables.";
    }
    makeScrollableFocusable();
    place.dispatchEvent(new CustomEvent("drawn", { bubbles: true }));
  }

  // Make every scrollable element focusable, so that the keyboard can scroll it.
  function makeScrollableFocusable() {
    for (const element of document.querySelectorAll(".across, .scroll, figure, pre, .work > form")) {
      if (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  }

  function prepare(root) {
    for (const place of root.querySelectorAll("[data-chart]")) if (!place.view) draw(place);
    for (const bar of root.querySelectorAll("[data-placed]")) {
      for (const part of bar.dataset.placed.split(";")) {
        const [name, value] = part.split(":");
        bar.style.setProperty(name, value);
      }
    }
    makeScrollableFocusable();
  }

  document.addEventListener("htmx:config:request", (event) => {
    const token = document.querySelector('meta[name="discreet-word"]');
    event.detail.ctx.request.headers["X-Discreet-Session"] = token.content;
  });
  function fill(field, text) {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // Mark the field that a refusal is about, open what hides it, and move there if the person asked for an answer:
  // while somebody types, the keyboard stays where it is.
  let asked = false;
  document.addEventListener("submit", () => { asked = true; }, true);
  document.addEventListener("click", (event) => { if (event.target.closest("[hx-post]:not(form)")) asked = true; }, true);
  document.addEventListener("input", () => { asked = false; }, true);

  function markField() {
    const form = document.getElementById("release");
    if (!form) return;
    for (const field of form.querySelectorAll("[aria-invalid]")) { field.removeAttribute("aria-invalid"); field.removeAttribute("aria-describedby"); }
    for (const old of form.querySelectorAll(".field-error")) old.remove();
    const refusals = document.querySelectorAll("#review [data-field], #plan [data-field]");
    refusals.forEach((refusal, number) => {
      const field = fieldOf(form, refusal.dataset.field);
      if (!field) { refusal.querySelector("[data-go]").remove(); return; }
      uncover(field);
      if (!refusal.classList.contains("todo")) field.setAttribute("aria-invalid", "true");
      const message = document.createElement("p");
      message.className = refusal.classList.contains("todo") ? "field-error quiet" : "field-error";
      message.id = `field-error-${number}`;
      message.textContent = refusal.querySelector("p").textContent;
      field.setAttribute("aria-describedby", message.id);
      (field.closest(".two") || field).after(message);
    });
    const plan = document.getElementById("plan");
    if (asked && refusals.length) goTo(refusals[0]);
    else if (asked && plan.getBoundingClientRect().top > innerHeight) plan.scrollIntoView();
    asked = false;
  }

  // A column's groups may be declared in a way that hides their text: then the way itself is the field.
  function fieldOf(form, name) {
    const named = form.elements[name] && (form.elements[name].length && !form.elements[name].tagName ? form.elements[name][0] : form.elements[name]);
    if (!named || named.type === "hidden") return null;
    const column = named.closest(".declared");
    return column && getComputedStyle(named.closest(".typed") || named).display === "none" ? column.querySelector("select") : named;
  }

  function uncover(field) {
    for (let place = field.closest("details"); place; place = place.parentElement.closest("details")) place.open = true;
    const row = field.closest(".field, fieldset");
    if (row && getComputedStyle(row).display === "none") row.classList.add("shown");
  }

  function goTo(refusal) {
    const field = fieldOf(document.getElementById("release"), refusal.dataset.field);
    if (!field) return;
    uncover(field);
    field.focus();
    field.scrollIntoView({ block: "center" });
  }

  document.addEventListener("click", (event) => {
    const go = event.target.closest("[data-go]"), untick = event.target.closest("[data-untick]");
    if (go) goTo(go.closest("[data-field]"));
    if (untick) {
      const boxes = untick.parentElement.querySelectorAll("input");
      for (const box of boxes) box.checked = false;
      boxes[0].dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (event.target.closest("[data-draw]")) {
      const draw = document.getElementById("release").elements.draw;
      fill(draw, String(Number(draw.value) + 1));
    }
    if (event.target.closest("[data-edit-sizes]")) {
      const sizes = document.getElementById("sizes");
      fill(sizes, document.getElementById("made-up").textContent);
      uncover(sizes);
      sizes.focus();
    }
  });

  // Keep the keyboard focus when a piece of the page is replaced.
  let focused = "";
  document.addEventListener("htmx:before:swap", () => { focused = document.activeElement ? document.activeElement.id : ""; });
  document.addEventListener("htmx:after:swap", () => {
    prepare(document);
    const previous = document.activeElement === document.body && document.getElementById(focused);
    if (previous) previous.focus();
    const heading = document.getElementById("sure");
    if (heading && !heading.seen) { heading.seen = true; heading.focus(); }
    markField();
  });
  dark.addEventListener("change", () => {
    for (const place of document.querySelectorAll("[data-chart]")) draw(place);
  });

  // Keep a slider and a number box equal: data-pair names the other one; sliders of ratios hold logarithms.
  for (const kind of ["input", "pair"]) document.addEventListener(kind, (event) => {
    const other = event.target.dataset && document.getElementById(event.target.dataset.pair || "");
    if (!other) return;
    const slides = event.target.type === "range", ratio = (slides ? event.target : other).dataset.scale === "log";
    const value = Number(event.target.value);
    if (!Number.isFinite(value)) return;
    if (slides) other.value = ratio ? Number(Math.pow(10, value).toPrecision(2)) : value;
    else if (value > 0 || !ratio) other.value = ratio ? Math.log10(value) : value;
  }, true);

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent.trim();
    await navigator.clipboard.writeText(text);
    document.getElementById("status").textContent = "Copied.";
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // Fill a field from a file of public values, one on each line; the file is not uploaded.
  document.addEventListener("change", async (event) => {
    const name = event.target.dataset && event.target.dataset.lines;
    if (!name || !event.target.files.length) return;
    event.stopPropagation();
    const lines = (await event.target.files[0].text()).split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
    fill(event.target.form.elements[name], lines.join("\n"));
  }, true);

  // Put dropped files into the field of their form.
  document.addEventListener("dragover", (event) => {
    const area = event.target.closest && event.target.closest("[data-drop]");
    if (area) { event.preventDefault(); area.classList.add("over"); }
  });
  document.addEventListener("dragleave", (event) => {
    const area = event.target.closest && event.target.closest("[data-drop]");
    if (area) area.classList.remove("over");
  });
  document.addEventListener("drop", async (event) => {
    const area = event.target.closest && event.target.closest("[data-drop]");
    if (!area) return;
    event.preventDefault();
    area.classList.remove("over");
    const field = area.querySelector('input[type="file"]:not([webkitdirectory])'), files = new DataTransfer();
    for (const file of await dropped(event.dataTransfer)) files.items.add(file);
    field.files = files.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });

  async function dropped(data) {
    const entries = [...data.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
    if (!entries.some((entry) => entry.isDirectory)) return [...data.files];
    const files = [];
    for (const entry of entries) {
      if (entry.isFile) files.push(await new Promise((done, fail) => entry.file(done, fail)));
      else {
        const inside = await new Promise((done, fail) => entry.createReader().readEntries(done, fail));
        for (const one of inside) if (one.isFile) files.push(await new Promise((done, fail) => one.file(done, fail)));
      }
    }
    return files;
  }

  document.addEventListener("DOMContentLoaded", () => { // after all scripts of the page
    prepare(document);
    for (const box of document.querySelectorAll("input[data-pair]:not([type=range])")) box.dispatchEvent(new CustomEvent("pair", { bubbles: true }));
  });
})();
