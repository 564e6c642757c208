/* discreet in a browser: reports are drawn here, from the exact integers that Python draws from.
 *
 * The service is trusted with nothing but the counting. The table of a mechanism is fetched and checked here; what it
 * costs is worked out here in whole numbers; the noise comes from crypto.getRandomValues. What leaves is a report under
 * a random key. vectors.json, beside this file, has replayed bits and the reports that they must give.
 */

/** Epsilon is kept in whole units: this many make 1. */
const UNIT_BITS = 80n;
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** How long to wait before the same is asked or sent again, and the longest that a service may ask to wait, in milliseconds. */
const WAITS = [200, 1000, 3000];
const LONGEST_WAIT = 30000;

/** Statuses of a service that has no time now: the same request may succeed in a moment. */
const BUSY = [429, 503];

/** More comparisons of places than this are not made. */
const MOST_COMPARISONS = 2e9;

/** Above this, an epsilon that a service states is not looked at more closely. */
const LARGEST_EPSILON = 1e5;

export class Refused extends Error {}

// ------------------------------------------------------------------------------------------------ bits

function littleEndian(bytes) {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

/** Bits of the browser's cryptographic generator. */
export class SecureBits {
  take(size) {
    return littleEndian(crypto.getRandomValues(new Uint8Array(size)));
  }
  main(size) {
    return this.take(size);
  }
  deep() {
    return this.take(8);
  }
}

/** Given bytes (hexadecimal), played back: for test vectors. */
export class ReplayBits {
  constructor(main, deep) {
    this.streams = { main, deep };
  }
  take(stream, size) {
    const text = this.streams[stream];
    if (text.length < 2 * size) throw new Refused(`The replayed ${stream} stream is too short.`);
    this.streams[stream] = text.slice(2 * size);
    return littleEndian(Uint8Array.from(text.slice(0, 2 * size).match(/../g), (byte) => parseInt(byte, 16)));
  }
  main(size) {
    return this.take("main", size);
  }
  deep() {
    return this.take("deep", 8);
  }
  get left() {
    return this.streams.main.length + this.streams.deep.length;
  }
}

/** A uniform whole number below size (up to 2^32). */
function uniformBelow(size, bits) {
  for (;;) {
    const word = Number(bits.main(4));
    if (word < 2 ** 32 - (2 ** 32 % size)) return word % size;
  }
}

// ------------------------------------------------------------------------------------------------ tables

/** The side of a cell in metres. */
function cellOf(grid) {
  const [number, over] = /^([0-9.e+-]+)(?:\/([0-9]+))?$/.exec(String(grid.cell))?.slice(1) ?? [];
  const found = Number(number) / Number(over ?? 1);
  if (!(found > 0 && found < Infinity)) throw new Refused("The cells of the map have no size.");
  return found;
}

function placesOf(grid) {
  if (![grid.rows, grid.cols].every((side) => Number.isSafeInteger(side) && side > 0)) return NaN;
  return cellOf(grid) && grid.rows * grid.cols;
}

/** A fraction as text, "3/2" or "3", as a numerator and a denominator. */
function fraction(text) {
  const [over, under] = /^(-?[0-9]+)(?:\/([0-9]+))?$/.exec(String(text))?.slice(1) ?? [];
  if (over === undefined || under === "0") throw new Refused("A range of the service is not made of fractions.");
  return [BigInt(over), BigInt(under ?? 1)];
}

/** The number of a range with this index. */
export function numberOf(range, index) {
  const [[a, b], [c, d]] = [fraction(range.low), fraction(range.step)];
  return Number(a * d + BigInt(index) * c * b) / Number(b * d);
}

function stepsOf(range) {
  const [[a, b], [c, d], [e, f]] = [fraction(range.low), fraction(range.step), fraction(range.high)];
  const [over, under] = [(e * b - a * f) * d, f * b * c];
  return under > 0n && over % under === 0n ? Number(over / under) + 1 : NaN;
}

/** What a report or a value with this index is called: a label, a number, or the index itself. */
export function nameOf(space, index) {
  if (Array.isArray(space.labels)) return space.labels[index];
  return space.kind === "range" ? numberOf(space, index) : index;
}

const labelled = (space) => space.labels.length;

/** How many values a space has. */
export function sizeOf(space) {
  const sizes = {
    counts: (s) => s.n + 1, grid: placesOf, labels: labelled, metric: labelled, graph: labelled, tree: labelled,
    ring: (s) => s.n, range: stepsOf,
  };
  const size = sizes[space?.kind];
  const found = size?.(space);
  if (!Number.isSafeInteger(found) || found < 1) throw new Refused("The service describes values of an unknown kind.");
  return found;
}

/** Check the integers of a mechanism: the chance of report j for truth i is palette[codes[i][j]] / totals[i]. */
export function readTable(content) {
  const rows = content?.codes;
  if (content?.kernel !== "table" || !Array.isArray(content.palette) || !Array.isArray(rows) || !rows.length)
    throw new Refused("The service did not send a table of whole numbers.");
  const palette = content.palette.map((text) => {
    if (typeof text !== "string" || !/^([0-9]+|0x[0-9a-f]+)$/.test(text))
      throw new Refused("A weight of the table is not a whole number of 0 or more.");
    return BigInt(text);
  });
  const columns = rows[0].length;
  const totals = rows.map((row) => {
    if (!Array.isArray(row) || !row.length || row.length !== columns)
      throw new Refused("The rows of the table do not have the same length.");
    if (!row.every((code) => Number.isInteger(code) && code >= 0 && code < palette.length))
      throw new Refused("A row of the table has a weight that is not in its list.");
    return row.reduce((sum, code) => sum + palette[code], 0n);
  });
  if (totals.some((total) => total === 0n)) throw new Refused("A row of the table is all zero.");
  if (content.totals && content.totals.some((text, i) => BigInt(text) !== totals[i]))
    throw new Refused("The rows of the table do not add up to their totals.");
  return { palette, codes: rows, totals, columns };
}

/** One report, drawn from exactly the law of a row: the alias method of Python's AliasSampler, bit for bit. */
export function drawReport(table, truth, bits) {
  const shift = BigInt(Math.max(1, (table.columns - 1).toString(2).length));
  const width = shift <= 12n ? 32n : 64n;
  const free = width - shift;
  const { own, alias, height } = split(table, truth, shift);
  const word = bits.main(Number(width) / 8);
  const column = Number(word >> free);
  if (alias[column] === column) return column;
  return isBelow(word & ((1n << free) - 1n), free, own[column], height, bits) ? column : alias[column];
}

/** For each of 2^shift columns: how much of its height belongs to its own report, and who has the rest. */
function split(table, truth, shift) {
  const size = 2 ** Number(shift);
  const height = table.totals[truth];
  const own = table.codes[truth].map((code) => table.palette[code] << shift);
  while (own.length < size) own.push(0n);
  const alias = own.map((_, k) => k);
  const small = [...own.keys()].filter((k) => own[k] < height);
  const large = [...own.keys()].filter((k) => own[k] > height);
  while (small.length) {
    const k = small.pop();
    const giver = large[large.length - 1];
    alias[k] = giver;
    own[giver] -= height - own[k];
    if (own[giver] <= height) {
      large.pop();
      if (own[giver] < height) small.push(giver);
    }
  }
  return { own, alias, height };
}

/** Whether a uniform number, of which the first bits are known, lies below part / whole; draws more bits if needed. */
function isBelow(value, known, part, whole, bits) {
  for (;;) {
    if ((value + 1n) * whole <= part << known) return true;
    if (value * whole >= part << known) return false;
    value = (value << 64n) | bits.deep();
    known += 64n;
  }
}

// ------------------------------------------------------------------------------------------------ what a table gives away

/** The largest ratio of the chances of one report under two true values, exactly; null if it is infinite. */
export function largestRatio(table) {
  const { palette, codes, totals } = table;
  const more = (a, i, b, k) => palette[a] * totals[k] > palette[b] * totals[i];
  let largest = { numerator: 1n, denominator: 1n };
  for (let j = 0; j < table.columns; j++) {
    let high = 0;
    let low = 0;
    for (let i = 1; i < codes.length; i++) {
      if (more(codes[i][j], i, codes[high][j], high)) high = i;
      if (more(codes[low][j], low, codes[i][j], i)) low = i;
    }
    const numerator = palette[codes[high][j]] * totals[low];
    const denominator = palette[codes[low][j]] * totals[high];
    if (denominator === 0n) {
      if (numerator !== 0n) return null;
    } else if (numerator * largest.denominator > largest.numerator * denominator) {
      largest = { numerator, denominator };
    }
  }
  return largest;
}

/** Epsilon, a number, in whole units, rounded down. */
export function units(epsilon) {
  return BigInt(Math.floor(epsilon * 2 ** Number(UNIT_BITS)));
}

/** Units as a number, rounded up a little. */
export function fromUnits(amount) {
  return (Number(amount) / 2 ** Number(UNIT_BITS)) * (1 + 2 ** -50);
}

/** Whether a ratio is at most e^epsilon: true only if it surely is (by a lower bound of e^epsilon in whole numbers). */
export function ratioHolds(ratio, epsilonUnits) {
  const places = 320n;
  let halvings = 0n;
  while (epsilonUnits >> (UNIT_BITS + halvings) > 0n) halvings++;
  const x = epsilonUnits << (places - UNIT_BITS - halvings);
  let power = 1n << places;
  let term = power;
  for (let k = 1n; term > 0n; k++) {
    term = ((term * x) >> places) / k;
    power += term;
  }
  for (; halvings > 0n; halvings--) power = (power * power) >> places;
  return ratio.numerator << places <= ratio.denominator * power;
}

/** The natural logarithm of a positive whole number, within 2^-47 and 2^-49 of its size. */
function logarithm(number) {
  const digits = number.toString(16);
  return Math.log(parseInt(digits.slice(0, 13), 16)) + Math.max(0, digits.length - 13) * Math.log(16);
}

/** The least epsilon, nearly, that a ratio keeps, in units. */
export function epsilonOf(ratio) {
  if (ratio.numerator === ratio.denominator) return 0n;
  let epsilon = units(Math.max(logarithm(ratio.numerator) - logarithm(ratio.denominator), 2 ** -60));
  while (!ratioHolds(ratio, epsilon)) epsilon += (epsilon >> 48n) + 1n;
  return epsilon;
}

/** Epsilon between any two places up to a radius apart (in metres), in units, rounded up; null if none holds.
 *
 * A place is anywhere in its cell: cells whose nearest points are within the radius are compared, neighbours always.
 */
export function epsilonWithin(table, grid, radius) {
  const reach = radius / cellOf(grid);
  const near = Math.floor(reach * (1 + 1e-9)) + 1;
  const gap = (steps) => Math.max(Math.abs(steps) - 1, 0);
  const logs = table.palette.map((weight) => (weight ? logarithm(weight) : -Infinity));
  const sums = table.totals.map(logarithm);
  const chances = table.codes.map((row, i) => Float64Array.from(row, (code) => logs[code] - sums[i]));
  const steps = [];
  for (let up = 0; up <= Math.min(near, grid.rows - 1); up++)
    for (let right = -Math.min(near, grid.cols - 1); right <= Math.min(near, grid.cols - 1); right++)
      if ((up > 0 || right > 0) && gap(up) ** 2 + gap(right) ** 2 <= reach * reach * (1 + 1e-9)) steps.push([up, right]);
  if (steps.length * table.codes.length * table.columns > MOST_COMPARISONS)
    throw new Refused("The map has too many places to check here. Choose a smaller radius.");
  let largest = 0;
  for (const [up, right] of steps)
    for (let row = 0; row + up < grid.rows; row++)
      for (let col = Math.max(0, -right); col < Math.min(grid.cols, grid.cols - right); col++) {
        const one = chances[row * grid.cols + col];
        const other = chances[(row + up) * grid.cols + col + right];
        for (let j = 0; j < one.length; j++) {
          const apart = Math.abs(one[j] - other[j]); // not a number where neither place can give the report
          if (apart > largest) largest = apart;
        }
      }
  if (largest === Infinity) return null;
  const size = sums.reduce((one, other) => Math.max(one, other), 1);
  return units(largest + size * 2 ** -44) + 1n; // four logarithms are off by less than that together
}

// ------------------------------------------------------------------------------------------------ a device

/** Takes part in collections of a service, for the one person who uses this browser.
 *
 * service: its address. maximum: the largest epsilon that the person may spend on one matter, over all collections,
 * mechanisms and draws. radius: for places, epsilon is between places up to so many metres apart. about: the matter, in
 * words that are not the service's. token: for collections that are not open. storage: what remembers (localStorage).
 */
export class Device {
  constructor({ service, maximum, radius = null, about = "everything", token = null, storage = globalThis.localStorage }) {
    const place = new URL(service);
    const local = ["127.0.0.1", "localhost", "[::1]"].includes(place.hostname);
    if (place.protocol !== "https:" && !(place.protocol === "http:" && local))
      throw new Refused("Reports to another computer need TLS: the address must begin with https.");
    if (!globalThis.isSecureContext || !globalThis.navigator?.locks)
      throw new Refused("This browser does not offer what is needed to keep reports safely.");
    if (!(maximum > 0 && maximum < 1e6)) throw new Refused("The maximum must be a positive number.");
    if (radius !== null && !(radius > 0)) throw new Refused("The radius must be a positive number of metres.");
    Object.assign(this, { service: service.replace(/\/+$/, ""), maximum: units(maximum), radius, about, token, storage });
    this.bits = new SecureBits();
  }

  /** What a collection asks, and what each of its mechanisms costs: an offer for each, checked here.
   *
   * draws: how many different values may get a report of their own; 1 for what does not change.
   */
  async offers(collection, draws = 1) {
    if (!NAME.test(collection)) throw new Refused("A collection is named by small letters, digits, - and _.");
    if (!Number.isInteger(draws) || draws < 1 || draws > 1000) throw new Refused("The number of draws must be 1 or more.");
    const path = `${this.service}/v1/collections/${collection}`;
    const described = JSON.parse(await this.#get(path));
    if (described.format !== "discreet collection") throw new Refused("The service does not describe a collection.");
    const offers = [];
    for (const one of described.mechanisms) {
      if (!NAME.test(one.name)) throw new Refused("The service describes a mechanism without a name.");
      const text = await this.#get(`${path}/mechanisms/${one.name}/table`);
      const content = JSON.parse(text);
      const table = readTable(content);
      const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
      if (!same(content.inputs, described.values) || !same(content.outputs, one.reports))
        throw new Refused("The table is for other values than the collection describes.");
      if (table.codes.length !== sizeOf(content.inputs) || table.columns !== sizeOf(content.outputs))
        throw new Refused("The table does not have a place for each value and report.");
      const ratio = largestRatio(table);
      if (typeof one.local_epsilon === "number" && (!ratio || !ratioHolds(ratio, units(Math.min(one.local_epsilon, LARGEST_EPSILON)))))
        throw new Refused("The mechanism gives away more than the service states.");
      const anywhere = ratio && epsilonOf(ratio);
      const places = content.inputs.kind === "grid" && this.radius !== null;
      const epsilon = places ? epsilonWithin(table, content.inputs, this.radius) : anywhere;
      offers.push({
        collection, draws, table, epsilon, anywhere, radius: places ? this.radius : null,
        mechanism: one.name, title: one.title, inputs: content.inputs, outputs: content.outputs,
        part: JSON.stringify([this.service, collection, await digest(text)]),
      });
    }
    return { title: described.title, question: described.question, values: described.values, offers };
  }

  /** Epsilon that was spent on the matter so far, in units. */
  spent() {
    const parts = Object.values(this.#read().parts).filter((part) => part.about === this.about);
    return parts.reduce((sum, part) => sum + BigInt(part.draws) * BigInt(part.epsilon), 0n);
  }

  /** Whether somebody answered this offer before. */
  answered(offer) {
    return offer.part in this.#read().parts;
  }

  /** Whether a report of this person was counted in a collection, under whatever mechanism. */
  counted(collection) {
    return this.#partsOf(this.#read(), collection).some((part) => part.counted);
  }

  /** The radius in metres at which costs were added up so far, or null: costs at two radii cannot be added. */
  radiusSpent() {
    const parts = Object.values(this.#read().parts).filter((part) => part.about === this.about);
    return parts.map((part) => part.radius).find((radius) => radius !== null) ?? null;
  }

  #partsOf(diary, collection) {
    const place = JSON.stringify([this.service, collection]).slice(0, -1);
    return Object.entries(diary.parts).filter(([key]) => key.startsWith(`${place},`)).map(([, part]) => part);
  }

  /** What taking part would cost now, in units: nothing more if it was paid for; null if no epsilon holds. */
  cost(offer) {
    if (offer.epsilon === null) return null;
    return this.answered(offer) ? 0n : BigInt(offer.draws) * offer.epsilon;
  }

  /** Draw the report for a value (by its number), or find the one that was drawn before; keep it, then send it.
   *
   * consent must be true: people agree before anything is drawn. Gives the report and the outcome: "counted",
   * "waiting" (the same bytes are sent again later) or "expired". Where an answer is drawn once it is counted once,
   * whatever the value is later: then the outcome is "counted before", and nothing is sent. again: count it once more,
   * in a survey that asks in rounds. With several draws every call is a round.
   */
  async report(offer, value, consent, again = false) {
    if (consent !== true) throw new Refused("Nothing is drawn before the person agreed.");
    if (!Number.isInteger(value) || value < 0 || value >= offer.table.codes.length)
      throw new Refused("The answer is not one of the possible ones.");
    const waiting = await navigator.locks.request("discreet", () => this.#keep(offer, value, again));
    if (waiting === null) return { report: null, outcome: "counted before" };
    return { report: waiting.report, outcome: await this.#send(waiting) };
  }

  /** Send what was not acknowledged: the same bytes under the same keys. */
  async sendWaiting() {
    const outcomes = [];
    for (const one of this.#read().waiting.filter((other) => other.url.startsWith(`${this.service}/`)))
      outcomes.push(await this.#send(one).catch(() => "refused"));
    return outcomes;
  }

  #keep(offer, value, again) {
    const diary = this.#read();
    let part = diary.parts[offer.part];
    if (part && part.draws !== offer.draws)
      throw new Refused(`You take part already, with ${part.draws} draws.`);
    if (offer.draws === 1 && !again) {
      if (this.counted(offer.collection)) return null;
      const unsent = diary.waiting.find((one) => one.url === this.#address(offer)); // the one to send, whatever the value
      if (unsent) return unsent;
    }
    if (!part) {
      const cost = this.cost(offer);
      if (cost === null) throw new Refused("The mechanism does not protect an answer: no finite epsilon holds for it.");
      const before = this.radiusSpent();
      if (offer.radius !== null && before !== null && before !== offer.radius)
        throw new Refused(`What was spent so far is between places up to ${before} metres apart. Use the same radius.`);
      if (this.spent() + cost > this.maximum) throw new Refused("Your own maximum does not allow this. Nothing was drawn.");
      // the first report pays for all draws: later answers never depend on how often values moved
      part = {
        about: this.about, draws: offer.draws, epsilon: String(offer.epsilon), radius: offer.radius, answers: {}, later: {},
        counted: false,
      };
      diary.parts[offer.part] = part;
    }
    const kept = Object.values(part.answers);
    let report = part.answers[value] ?? part.later[value];
    if (report === undefined && kept.length < part.draws) {
      report = drawReport(offer.table, value, this.bits);
      part.answers[value] = report;
    } else if (report === undefined) {
      // whatever the value is, and for good: silence would tell that it moved, and so would another choice each time
      report = kept[uniformBelow(kept.length, this.bits)];
      part.later[value] = report;
    }
    const said = nameOf(offer.outputs, report);
    const waiting = {
      url: this.#address(offer),
      part: offer.part,
      key: newKey(),
      body: JSON.stringify({ mechanism: offer.mechanism, reports: [said] }),
      report: said,
    };
    diary.waiting.push(waiting);
    this.#write(diary);
    return waiting;
  }

  #address(offer) {
    return `${this.service}/v1/collections/${offer.collection}/reports`;
  }

  async #send(one) {
    let renewed = false;
    for (const waits = [...WAITS]; ; ) {
      const { status, wait, day } = await this.#post(one);
      if (status === 200 || status === 201 || status === 410) {
        await navigator.locks.request("discreet", () => this.#forget(one, status !== 410));
        return status === 410 ? "expired" : "counted";
      }
      if (day !== null && !renewed) {
        // a clock is wrong: this key was not counted, and never will be
        one = await navigator.locks.request("discreet", () => this.#renewKey(one, day));
        if (!one) return "counted"; // by another window
        renewed = true;
        continue;
      }
      if (status < 500 && status !== 429)
        throw new Refused(`The service refuses the report (status ${status}). It is kept, and was not drawn again.`);
      if (!waits.length || wait > LONGEST_WAIT) return "waiting";
      await pause(Math.max(waits.shift(), wait));
    }
  }

  async #post(one) {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": one.key, ...this.#permission() };
    try {
      const answer = await fetch(one.url, { ...QUIETLY, cache: "no-store", method: "POST", headers, body: one.body });
      const said = answer.status === 400 ? await answer.json().catch(() => null) : null;
      const refused = said?.type === "urn:discreet:problem:bad-key" && DAY.test(said.today);
      return { status: answer.status, wait: retryAfter(answer), day: refused ? said.today : null };
    } catch {
      return { status: 503, wait: 0, day: null }; // no answer came: as if the service were busy
    }
  }

  /** A new key of a day for a report that waits, in place of one that the service never counts; the bytes stay. */
  #renewKey(one, day) {
    const diary = this.#read();
    const kept = diary.waiting.find((other) => other.key === one.key || other.before === one.key);
    if (kept?.key === one.key) {
      Object.assign(kept, { before: one.key, key: newKey(day) }); // another window that heard the same finds the new one
      this.#write(diary);
    }
    return kept ?? null;
  }

  #forget(one, counted) {
    const diary = this.#read();
    if (counted) diary.parts[one.part].counted = true;
    diary.waiting = diary.waiting.filter((other) => other.key !== one.key);
    this.#write(diary);
  }

  #read() {
    const text = this.storage.getItem("discreet");
    if (text === null) return { version: 1, parts: {}, waiting: [] };
    let diary = null;
    try {
      diary = JSON.parse(text);
    } catch {
      // refused below: starting afresh would draw again
    }
    if (diary?.version !== 1) throw new Refused("What this browser remembers of your reports cannot be read.");
    return diary;
  }

  #write(diary) {
    this.storage.setItem("discreet", JSON.stringify(diary));
  }

  #permission() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  async #get(url) {
    for (const waits = [...WAITS]; ; ) {
      const answer = await fetch(url, { ...QUIETLY, cache: "no-cache", headers: this.#permission() });
      if (answer.ok) return answer.text();
      const wait = retryAfter(answer);
      if (!BUSY.includes(answer.status) || !waits.length || wait > LONGEST_WAIT) throw new Refused(failure(answer.status, wait));
      await pause(Math.max(waits.shift(), wait));
    }
  }
}

/** What happened, in words, when something could not be fetched. */
function failure(status, wait) {
  const later = `Try again in ${wait ? `${wait / 1000} seconds` : "a minute"}. Nothing was drawn.`;
  if (status === 429) return `Too many requests came from your network at once. ${later}`;
  if (status === 503) return `The survey is busy, or is being started. ${later}`;
  if (status === 404) return "There is no such survey here. Look at the link.";
  if (status === 401 || status === 403) return "This survey wants a link with a token that permits this.";
  if (status === 409) return "A browser cannot draw from this mechanism: it has no table.";
  return `The survey failed (status ${status}). ${later}`;
}

/** How long a service wants to be left alone, in milliseconds. */
function retryAfter(answer) {
  const text = answer.headers.get("Retry-After") ?? "";
  return /^[0-9]{1,8}$/.test(text) ? 1000 * Number(text) : 0;
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/** Requests go where the person agreed, and say nothing beside. */
const QUIETLY = { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };

const DAY = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** A key for one new batch: the day (UTC, or the one that the service states) and 128 random bits. */
function newKey(day = new Date().toISOString().slice(0, 10)) {
  return `${day}.${hexadecimal(crypto.getRandomValues(new Uint8Array(16)))}`;
}

async function digest(text) {
  return hexadecimal(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
