/* The page on which a person answers: choose the protection, agree, enter the answer, see what was sent. */
import { Device, Refused, fromUnits, nameOf, sizeOf } from "./discreet.js";

const MAXIMUM = 8;
const RADIUS = 500;

const at = (id) => document.getElementById(id);
const collection = document.body.dataset.collection;
const service = new URL("../..", location.href).href.replace(/\/$/, "");
const draws = Number(new URLSearchParams(location.search).get("draws") ?? 1);
const token = new URLSearchParams(location.hash.slice(1)).get("token");

function element(name, content = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, content);
  made.append(...children);
  return made;
}

/** Three digits, rounded up: what a person gives away is never understated. */
function roundedUp(number) {
  if (number >= 1e6) return "more than a million";
  if (!(number > 0)) return "0";
  const places = 2 - Math.floor(Math.log10(number));
  const whole = Math.ceil(number * 10 ** places - 1e-6);
  return Number(`${whole}e${-places}`).toLocaleString("en", { maximumSignificantDigits: 3 });
}

function setting(name, otherwise) {
  const kept = Number(localStorage.getItem(`discreet ${name}`));
  return kept > 0 ? kept : otherwise;
}

function makeDevice() {
  const made = (radius) => new Device({ service, token, maximum: setting("maximum", MAXIMUM), radius });
  return made(made(null).radiusSpent() ?? setting("radius", RADIUS));
}

/** What a mechanism guarantees, in odds, by what was computed here. */
function guarantee(offer) {
  if (offer.epsilon === null) return "No protection: some reports rule answers out.";
  const odds = roundedUp(Math.exp(fromUnits(offer.epsilon) * draws));
  const two = draws === 1 ? "any two" : "any two series of";
  const values = offer.radius === null ? "answers" : `places up to ${offer.radius.toLocaleString("en")} metres apart`;
  const between = `${two} ${values}${draws === 1 ? "" : " that change at the same times"}`;
  const reports = draws === 1 ? "your report" : "all your reports";
  return `Whoever sees ${reports} changes their odds between ${between} by a factor of at most ${odds}.`;
}

async function start() {
  let device = makeDevice();
  device.sendWaiting().catch(() => {});
  addEventListener("online", () => device.sendWaiting().catch(() => {}));
  if (draws === 1 && device.counted(collection)) {
    at("status").textContent = "You have answered, and your report was counted. Nothing more is sent.";
    at("kept").hidden = false;
    return;
  }
  let survey = await device.offers(collection, draws);
  let chosen = null;

  at("maximum").value = setting("maximum", MAXIMUM);
  at("radius").value = setting("radius", RADIUS);
  at("radius").disabled = device.radiusSpent() !== null; // costs at two radii cannot be added up
  at("radius-label").hidden = survey.values.kind !== "grid";
  at("once").textContent =
    draws === 1
      ? "Your browser draws one report, and you are counted once."
      : `Up to ${draws} different answers get a report of their own. After that, the browser sends one of the earlier ` +
        "reports again. When your answer changes, that can show in your reports.";

  function showChoices() {
    const legend = at("choices").firstElementChild;
    at("choices").replaceChildren(
      legend,
      ...survey.offers.map((offer, k) => {
        const input = element("input", { type: "radio", name: "mechanism", value: String(k), required: true });
        input.checked = survey.offers.length === 1;
        const epsilon = offer.epsilon === null ? "" : ` (epsilon ${roundedUp(fromUnits(offer.epsilon))} a report)`;
        return element("label", { className: "choice" }, input,
          element("span", {}, element("b", { textContent: offer.mechanism }), epsilon, element("br"), guarantee(offer)));
      }),
    );
    at("choosing").hidden = survey.offers.length < 2;
    showCost();
  }

  function showCost() {
    const input = at("agree").querySelector("input[name=mechanism]:checked");
    chosen = input ? survey.offers[Number(input.value)] : null;
    const cost = chosen && device.cost(chosen);
    const spent = device.spent();
    const allowed = cost !== null && spent + cost <= device.maximum;
    at("consent").disabled = !allowed;
    const limit = `Your maximum is ${setting("maximum", MAXIMUM)}, and ${roundedUp(fromUnits(spent))} of it is spent.`;
    if (!chosen) at("cost").textContent = limit;
    else if (cost === null) at("cost").textContent = "This choice does not protect your answer, and cannot be taken.";
    else if (!allowed) at("cost").textContent = `This costs epsilon ${roundedUp(fromUnits(cost))}, which is too much. ${limit}`;
    else if (device.answered(chosen)) at("cost").textContent = `You take part already, and this costs nothing more. ${limit}`;
    else at("cost").textContent = `This costs epsilon ${roundedUp(fromUnits(cost))}. ${limit}`;
  }

  at("choices").addEventListener("change", showCost);
  at("limits").addEventListener("change", async (event) => {
    if (!event.target.reportValidity() || !(Number(event.target.value) > 0)) return;
    localStorage.setItem(`discreet ${event.target.id}`, event.target.value);
    device = makeDevice();
    if (event.target.id === "radius") survey = await device.offers(collection, draws);
    showChoices();
  });

  at("agree").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!chosen) return;
    at("agree").hidden = true;
    const value = showValues(survey.values);
    at("answer").hidden = false;
    at("values").querySelector("input")?.focus();
    at("answer").addEventListener("submit", async (sent) => {
      sent.preventDefault();
      if (value() === null || at("answer").hidden) return;
      at("answer").hidden = true; // one answer a visit: no second draw after the first was seen
      at("status").textContent = "The report is drawn and kept. Sending it.";
      try {
        const { report, outcome } = await device.report(chosen, value(), true);
        at("status").textContent = said(report, outcome, survey.values);
        at("kept").hidden = false;
      } catch (problem) {
        at("status").textContent = "";
        refuse(problem);
      }
    });
  });

  showChoices();
  at("agree").hidden = false;
}

function said(report, outcome, values) {
  const cells = values.kind === "grid";
  const what = cells ? `row ${Math.floor(report / values.cols) + 1}, column ${(report % values.cols) + 1}` : String(report);
  if (outcome === "counted before") return "Your report was counted before. Nothing more is sent.";
  if (outcome === "counted") return `Sent: ${what}. The survey has counted this report. Thank you.`;
  if (outcome === "expired") return `The report (${what}) waited too long, and is not sent any more.`;
  return `The survey does not answer now. Your browser keeps the report (${what}) and sends it when you open this page again.`;
}

/** Shows how to enter a value, and gives a function that tells its number, or null. */
function showValues(values) {
  const field = at("values");
  if (Array.isArray(values.labels)) {
    values.labels.forEach((label, k) => {
      const input = element("input", { type: "radio", name: "value", value: String(k), required: true });
      field.append(element("label", { className: "choice" }, input, element("span", { textContent: String(label) })));
    });
    return () => {
      const input = field.querySelector("input:checked");
      return input ? Number(input.value) : null;
    };
  }
  if (values.kind === "counts") {
    const input = whole(0, values.n);
    field.append(element("label", {}, `A whole number from 0 to ${values.n}`, element("br"), input));
    return () => (input.value === "" ? null : Number(input.value));
  }
  if (values.kind === "ring") {
    const input = whole(0, values.n - 1);
    field.append(element("label", {}, `A whole number from 0 to ${values.n - 1}`, element("br"), input));
    return () => (input.value === "" ? null : Number(input.value));
  }
  if (values.kind === "range") {
    const choice = element("select", { name: "value", required: true }, element("option", { value: "", textContent: "" }));
    for (let k = 0; k < sizeOf(values); k++)
      choice.append(element("option", { value: String(k), textContent: String(nameOf(values, k)) }));
    field.append(element("label", {}, `A number from ${nameOf(values, 0)} to ${nameOf(values, sizeOf(values) - 1)}`, element("br"), choice));
    return () => (choice.value === "" ? null : Number(choice.value));
  }
  return showPlaces(field, values);
}

function whole(least, most) {
  return element("input", {
    type: "number", min: String(least), max: String(most), step: "1", required: true, inputMode: "numeric", autocomplete: "off",
  });
}

/** A map to click on, and two numbers that say the same for a keyboard. Row 1 is in the south, column 1 in the west. */
function showPlaces(field, grid) {
  const row = whole(1, grid.rows);
  const column = whole(1, grid.cols);
  const svg = drawing("svg", {
    viewBox: `0 0 ${grid.cols} ${grid.rows}`, class: "places", role: "img",
    "aria-label": "A map with north at the top: click on a place, or enter its row and column below.",
  });
  const lines = [];
  for (let k = 0; k <= grid.cols; k++) lines.push(`M${k},0V${grid.rows}`);
  for (let k = 0; k <= grid.rows; k++) lines.push(`M0,${k}H${grid.cols}`);
  const place = drawing("rect", { width: "1", height: "1", visibility: "hidden" });
  svg.append(place, drawing("path", { d: lines.join("") }));
  const show = () => {
    const inside = row.checkValidity() && column.checkValidity();
    place.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    place.setAttribute("x", String(Number(column.value) - 1));
    place.setAttribute("y", String(grid.rows - Number(row.value)));
  };
  svg.addEventListener("click", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (point.x < 0 || point.y < 0 || point.x >= grid.cols || point.y >= grid.rows) return;
    column.value = String(Math.floor(point.x) + 1);
    row.value = String(grid.rows - Math.floor(point.y));
    show();
  });
  row.addEventListener("input", show);
  column.addEventListener("input", show);
  field.append(
    element("p", { className: "note" }, "Click on the place, or enter its row (from the south) and column (from the west)."),
    svg,
    element("div", { className: "pair" },
      element("label", {}, `Row, 1 to ${grid.rows}`, element("br"), row),
      element("label", {}, `Column, 1 to ${grid.cols}`, element("br"), column)),
  );
  const chosen = () => (Number(row.value) - 1) * grid.cols + Number(column.value) - 1;
  return () => (row.checkValidity() && column.checkValidity() ? chosen() : null);
}

function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function refuse(problem) {
  at("alert").textContent =
    problem instanceof Refused ? problem.message : "This page does not work in this browser.";
}

start().catch(refuse);
