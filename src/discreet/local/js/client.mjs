/**
 * The client of a local campaign for browsers, web views and Node: it sees one person's row and sends a report.
 *
 * Random words, chances and bytes are those of the Python client. Probabilities are whole numbers; nothing here takes
 * an exponential at draw time. A campaign whose chances do not keep its ε is refused.
 *
 * @typedef {() => bigint} Words  the next random number below 2⁶⁴
 * @typedef {{getItem(key: string): ?string, setItem(key: string, value: string): void}
 *   | {get(key: string): ?string, set(key: string, value: string): unknown}} Store  localStorage, a Map, or alike
 * @typedef {{label: number, value: number, points: bigint[]}} Answer  what a question asks of one person
 * @typedef {(answer: Answer, word: Words) => Uint8Array} Draw  one randomised answer as the bytes of a report
 * @typedef {{d: number, classes: number, halves: bigint[]}} Shape  domain, classes, and largest size of each number
 */

export class DiscreetError extends Error {
  /** @param {string} message one sentence */
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}
/** The campaign is malformed, or does not keep what it promises. */
export class CampaignError extends DiscreetError {}
/** The row does not fit the schema. */
export class DataError extends DiscreetError {}
/** A report would cost more than is left. */
export class BudgetError extends DiscreetError {}
/** The collector did not take the report. */
export class SendError extends DiscreetError {}

const WHOLE = 1n << 64n;
const FINE = 1n << 128n;
const ONE = 1n << 256n; // exponentials are bounded by multiples of 2⁻²⁵⁶
// SLACK: thresholds of Laplace noise may lose one part of it, paid for in the scale. UNIT: lattice steps per person.
// <constants> written by `python -m discreet.local.javascript`
const MILLION = 1000000n;
const LARGEST_EPSILON = 30n;
const LONGEST = 65535;
const MARKER = [209, 92, 46, 112];
const SCHEMA_BYTES = 8;
const HEAD = 7;
const UNIT = 16n;
const PRIME = 2147483647;
const SLACK = 274877906944n;
const TAIL_SCALES = 28n;
// </constants>

// ---- random words

/** @type {Words} */
export function systemWords() {
  return new DataView(globalThis.crypto.getRandomValues(new Uint8Array(8)).buffer).getBigUint64(0, true);
}

/**
 * Words from given bytes: for tests only.
 * @param {Uint8Array} bytes
 * @returns {Words}
 */
export function givenWords(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let used = 0;
  return () => {
    if (used + 8 > view.byteLength) throw new DataError("the given random bytes are used up");
    used += 8;
    return view.getBigUint64(used - 8, true);
  };
}

/** A whole number drawn evenly from 0 … size − 1. @param {Words} word @param {bigint} size */
function below(word, size) {
  const limit = WHOLE - (WHOLE % size);
  for (;;) {
    const drawn = word();
    if (drawn < limit) return drawn % size;
  }
}

// ---- checks

/** @param {unknown} fine @param {string} message @returns {asserts fine} */
function demand(fine, message) {
  if (!fine) throw new CampaignError(message);
}

/** A whole number, as a JSON number or as decimal text. @param {unknown} value @param {string} what */
function whole(value, what, least = 0n, most = WHOLE) {
  const plain = typeof value === "string" ? /^-?\d{1,60}$/.test(value) : Number.isSafeInteger(value);
  demand(plain, `the campaign's ${what} is not a whole number`);
  const number = BigInt(value);
  demand(number >= least && number <= most, `the campaign's ${what} is out of range`);
  return number;
}

/** Decimal text or a fraction as [whole millionths, whether that is exact]. @param {unknown} value */
function millionths(value) {
  const found = /^(\d{1,30})(?:\.(\d{1,30})|\/([1-9]\d{0,30}))?$/.exec(String(value));
  if (!found) return null;
  const top = BigInt(found[1] + (found[2] ?? "")) * MILLION;
  const bottom = found[3] ? BigInt(found[3]) : 10n ** BigInt(found[2]?.length ?? 0);
  return { count: top / bottom, exact: top % bottom === 0n };
}

/** Multiples of 2⁻²⁵⁶ below and above e^(n/d), n/d ≥ 0: Taylor's series, each term rounded down and up. */
function expBounds(n, d) {
  let [low, high, down, up] = [ONE, ONE, ONE, ONE];
  for (let k = 1n; ; k += 1n) {
    down = (down * n) / (d * k);
    up = (up * n) / (d * k) + 1n;
    low += down;
    high += up;
    if (down === 0n && k * d >= 2n * n) return [low, high + up]; // terms at least halve now: the rest is below `up`
  }
}

/** The ε of one answer as an exact fraction n/d, and the test that every mechanism must pass. */
class Price {
  /** @param {bigint} n @param {bigint} d */
  constructor(n, d) {
    [this.n, this.d, this.least] = [n, d, expBounds(n, d)[0]];
    /** @type {Map<string, bigint[]>} */
    this.known = new Map();
  }

  /** Refuse chances a and b of one report under two rows unless each is at most e^ε times the other. */
  keeps(a, b) {
    const fine = a > 0n && b > 0n && a * ONE <= b * this.least && b * ONE <= a * this.least;
    demand(fine, "the campaign's chances do not keep its epsilon: nothing is reported");
  }

  /** The thresholds that noise must have which hides `size`, as [thresholds, 28 scales]; `numbers` pay their slack. */
  laplace(size, numbers) {
    const [n, d] = [this.n * SLACK - numbers * this.d, this.d * SLACK * size]; // 1/scale = n/d
    demand(n > 0n, "the campaign's epsilon is too small for its numbers");
    const key = `${n}/${d}`;
    let thresholds = this.known.get(key);
    if (!thresholds) {
      thresholds = [];
      for (let step = n; ; step *= 2n) {
        const [low, high] = expBounds(step, d);
        thresholds.push(((4n * FINE * ONE) / (2n * ONE + low + high) + 1n) / 2n); // 2¹²⁸/(1 + e^…), rounded
        if (low >= ONE << 44n) break;
      }
      this.known.set(key, thresholds);
    }
    return { thresholds, tail: (TAIL_SCALES * d + n - 1n) / n };
  }
}

// ---- bytes

/** A whole number in two's complement, little-endian. @param {bigint | number} value @param {number} width */
function little(value, width) {
  const bytes = new Uint8Array(width);
  let rest = BigInt.asUintN(8 * width, BigInt(value));
  for (let i = 0; i < width; i += 1, rest >>= 8n) bytes[i] = Number(rest & 255n);
  return bytes;
}

/** @param {bigint} largest */
const bitLength = (largest) => (largest ? largest.toString(2).length : 0);
/** @param {number} largest */
const widthOf = (largest) => Math.max(1, Math.ceil(bitLength(BigInt(largest)) / 8));

/** @param {ArrayLike<number>[]} parts */
function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((spot, part) => (bytes.set(part, spot), spot + part.length), 0);
  return bytes;
}

/** Bits as bytes, lowest first. @param {boolean[]} bits */
function packedBits(bits) {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, i) => (bytes[i >> 3] |= Number(bit) << (i & 7)));
  return bytes;
}

/** @param {number | bigint} number */
function varint(number) {
  const groups = [];
  for (let rest = BigInt(number); ; rest >>= 7n) {
    if (rest < 128n) return [...groups, Number(rest)];
    groups.push(Number(rest & 127n) | 128);
  }
}

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

// ---- mechanisms: each checks its chances against the price and returns how one answer is drawn

/** One of `size` values: the true one, or any other. Returns a draw of a number, for use inside others. */
function direct(c, size, price) {
  const [kept, other] = [whole(c.true, "chance"), whole(c.other, "chance", 1n)];
  demand(kept + BigInt(size - 1) * other === WHOLE, "the campaign's chances do not add up");
  price.keeps(kept, other);
  return (value, word) => {
    const drawn = word();
    if (drawn < kept) return value;
    const place = Number((drawn - kept) / other);
    return place + Number(place >= value);
  };
}

/** Noise on whole numbers of size up to `half` (or 0 … unit), checked threshold by threshold. */
function laplaceNoise(c, right) {
  demand(Array.isArray(c.thresholds), "the campaign lacks the thresholds of its noise");
  const same = c.thresholds.length === right.thresholds.length && c.thresholds.every(
    (one, i) => whole(one, "threshold", 1n, FINE) === right.thresholds[i]);
  demand(same, "the campaign's noise does not keep its epsilon: nothing is reported");
  const halves = right.thresholds.map((one) => [one >> 64n, one & (WHOLE - 1n)]);
  return (word) => {
    for (;;) {
      let magnitude = 0n;
      halves.forEach(([high, low], i) => {
        const drawn = word();
        if (drawn < high || (drawn === high && word() < low)) magnitude |= 1n << BigInt(i);
      });
      const negative = word() & 1n;
      if (magnitude || !negative) return negative ? -magnitude : magnitude;
    }
  };
}

/** A number of size up to `half`, with noise that hides `size`, as bytes. */
function coordinate(c, half, size, numbers, price) {
  fits(c, half);
  const right = price.laplace(size, numbers);
  const noise = laplaceNoise(c, right);
  const reach = 1n << BigInt(right.thresholds.length - 1);
  const room = 2n * reach - 2n * half - right.tail - 1n;
  const limit = half + (reach < room ? reach : room);
  demand(whole(c.limit, "limit", 1n) === limit, "the campaign's noise is cut off at the wrong place");
  const width = Number(whole(c.bytes, "bytes", 1n, 8n));
  demand(limit < 1n << BigInt(8 * width - 1), "the campaign's numbers do not fit their bytes");
  return (value, word) => {
    const noisy = value + noise(word);
    return little(noisy < -limit ? -limit : noisy > limit ? limit : noisy, width);
  };
}

/** The campaign and its schema must agree on the largest number. */
function fits(c, half) {
  demand(whole(c.half, "half") === half, "the campaign's largest number is not that of its schema");
}

/** The sign of a number, rounded at random without bias. @param {bigint} half */
const signOf = (half) => (point, word) => Number(below(word, 2n * half) < half + point);

/** ±1 for a number. @returns {(point: bigint, word: Words) => bigint} */
function signValue(c, half, price) {
  fits(c, half);
  const [sign, coin] = [signOf(half), direct(c, 2, price)];
  return (point, word) => BigInt(2 * coin(sign(point, word), word) - 1);
}

/** A number by a window. @returns {(point: bigint, word: Words) => bigint} */
function windowValue(c, half, price) {
  fits(c, half);
  const most = 1n << 30n;
  const [centre, spread] = [whole(c.centre, "centre", 1n, most), whole(c.spread, "spread", 0n, most)];
  const [hi, lo, outside] = [whole(c.hi, "chance", 1n), whole(c.lo, "chance", 1n), whole(c.outside, "chance")];
  const [limit, total, size] = [centre + spread, whole(c.total, "chance", 1n), 2n * spread + 1n];
  const fine = whole(c.limit, "limit") === limit && outside === 2n * centre * lo && total === outside + size * hi;
  demand(fine, "the campaign's chances do not add up");
  price.keeps(hi, lo);
  return (point, word) => {
    const scaled = point * centre + below(word, half);
    const middle = scaled / half - (scaled % half < 0n ? 1n : 0n); // rounded down, below zero too
    const drawn = below(word, total);
    if (drawn >= outside) return (drawn - outside) / hi + middle - spread;
    const place = drawn / lo - limit;
    return place < middle - spread ? place : place + size;
  };
}

/** @typedef {(constants: any, shape: Shape, price: Price) => Draw} Mechanism  from here to the end of this part */

const grr = (c, { d }, price) => {
  const [draw, width] = [direct(c, d, price), widthOf(d - 1)];
  return ({ value }, word) => little(draw(value, word), width);
};

/** One bit per value, each on its own. */
const unary = (c, { d }, price) => {
  const [own, other] = [whole(c.true, "chance", 1n, WHOLE - 1n), whole(c.other, "chance", 1n, WHOLE - 1n)];
  price.keeps(own * (WHOLE - other), other * (WHOLE - own));
  return ({ value }, word) => packedBits(Array.from({ length: d }, (_, one) => word() < (one === value ? own : other)));
};

const histogram = (c, { d }, price) => {
  const right = price.laplace(2n * UNIT, 2n);
  const noise = laplaceNoise(c, right);
  const high = 1n << BigInt(right.thresholds.length - 1);
  const low = UNIT - high;
  const [top, bottom] = [whole(c.high, "limit"), whole(c.low, "limit", -WHOLE)];
  const fine = whole(c.unit, "unit") === UNIT && top === high && bottom === low;
  demand(fine, "the campaign's noise is cut off at the wrong place");
  const width = Number(whole(c.bytes, "bytes", 1n, 8n));
  demand(high < 1n << BigInt(8 * width - 1), "the campaign's numbers do not fit their bytes");
  return ({ value }, word) => joined(Array.from({ length: d }, (_, one) => {
    const noisy = (one === value ? UNIT : 0n) + noise(word);
    return little(noisy < low ? low : noisy > high ? high : noisy, width);
  }));
};

const hashing = (c, _, price) => {
  const buckets = Number(whole(c.buckets, "buckets", 2n, 1n << 30n));
  demand(c.prime === PRIME, "the campaign's hash is not known");
  const [draw, width] = [direct(c, buckets, price), widthOf(buckets - 1)];
  return ({ value }, word) => {
    const a = 1 + Number(below(word, BigInt(PRIME - 1)));
    const b = Number(below(word, BigInt(PRIME)));
    const bucket = ((a * value + b) % PRIME) % buckets; // a·value stays below 2⁵¹
    return joined([little(a, 4), little(b, 4), little(draw(bucket, word), width)]);
  };
};

const subset = (c, { d }, price) => {
  const [own, size] = [whole(c.true, "chance", 1n, WHOLE - 1n), whole(c.size, "size", 1n, BigInt(d - 1))];
  price.keeps(own * (BigInt(d) - size), (WHOLE - own) * size);
  return ({ value }, word) => {
    const bits = new Array(d).fill(false);
    bits[value] = word() < own;
    for (let last = d - 1 - (Number(size) - Number(bits[value])); last < d - 1; last += 1) {
      const place = Number(below(word, BigInt(last + 1)));
      const other = place + Number(place >= value);
      bits[bits[other] ? last + Number(last >= value) : other] = true;
    }
    return packedBits(bits);
  };
};

const hadamard = (c, { d }, price) => {
  const [blocks, block] = [whole(c.blocks, "blocks", 1n, 1n << 21n), whole(c.block, "block", 2n, 1n << 22n)];
  const [high, low, half] = [whole(c.high, "chance", 1n), whole(c.low, "chance", 1n), block / 2n];
  const even = (blocks & (blocks - 1n)) === 0n && (block & (block - 1n)) === 0n && BigInt(d) <= blocks * (block - 1n);
  demand(even, "the campaign's blocks do not fit its domain");
  demand(half * (high + (2n * blocks - 1n) * low) === WHOLE, "the campaign's chances do not add up");
  price.keeps(high, low);
  const [own, width] = [half * high, widthOf(Number(blocks * block) - 1)];
  return ({ value }, word) => {
    const [mine, row] = [BigInt(value) % blocks, BigInt(value) / blocks + 1n];
    const drawn = word();
    const wrong = drawn >= own;
    const index = wrong ? (drawn - own) / low : drawn / high;
    if (wrong && index >= half) {
      const other = (index - half) / block;
      return little((other + (other >= mine ? 1n : 0n)) * block + ((index - half) % block), width);
    }
    const least = row & -row; // this bit is left out of the index, and decides the parity
    let place = (index / least) * 2n * least + (index % least);
    const odd = (place & row).toString(2).replaceAll("0", "").length % 2 === 1;
    if (odd !== wrong) place |= least;
    return little(mine * block + place, width);
  };
};

/** Every number with noise n times as large, at the place of the person's class. */
const laplaceAll = (c, { classes, halves }, price) => {
  const [count, two] = [BigInt(halves.length), classes > 1 ? 2n : 1n];
  demand(Array.isArray(c.numbers) && c.numbers.length === halves.length, "the campaign's numbers are not its schema's");
  const each = halves.map((half, j) => coordinate(c.numbers[j], half, 2n * count * half, count * two, price));
  return ({ label, points }, word) => joined(each.flatMap((noisy, j) =>
    Array.from({ length: classes }, (_, one) => noisy(one === label ? points[j] : 0n, word))));
};

const laplace = (c, shape, price) => laplaceAll({ numbers: [c] }, shape, price);

const oneBit = (c, { classes, halves: [half] }, price) => {
  fits(c, half);
  demand(SIGNS.includes(c.oracle), "the campaign reports a sign in an unknown way");
  const [sign, draw] = [signOf(half), MECHANISMS[c.oracle](c, { d: 2 * classes, classes, halves: [] }, price)];
  return ({ label, points }, word) => draw({ label, points, value: 2 * label + sign(points[0], word) }, word);
};

/** A class drawn openly, then the value about the person's number, or about 0 if the class is another. */
function sampled(c, classes,
  rest) {
  demand(Array.isArray(c.bytes), "the campaign does not say how long its answers are");
  const widths = c.bytes.map((one) => Number(whole(one, "bytes", 1n, 8n)));
  return ({ label, points }, word) => {
    const chosen = Number(below(word, BigInt(classes)));
    return joined([little(chosen, widths[0]), rest(chosen === label ? points[0] : 0n, word, widths.at(-1))]);
  };
}

const piecewise = (c, { classes, halves: [half] }, price) => {
  const value = windowValue(c, half, price);
  return sampled(c, classes, (point, word, width) => little(value(point, word), width));
};

const oneBitSampled = (c, { classes, halves: [half] }, price) => {
  const value = signValue(c, half, price);
  return sampled(c, classes, (point, word, width) => little(value(point, word), width));
};

const hybrid = (c, { classes, halves: [half] }, price) => {
  const often = whole(c.threshold, "chance");
  const [wide, sign] = [windowValue(c.piecewise ?? {}, half, price), signValue(c.one_bit ?? {}, half, price)];
  return sampled(c, classes, (point, word, width) => {
    const kind = word() < often;
    return joined([[Number(kind)], little((kind ? wide : sign)(point, word), width)]);
  });
};

// Mechanisms by their codes on the wire: those about numbers, about all numbers of a person, fit to carry a sign.
// <mechanisms> written by `python -m discreet.local.javascript`
/** @type {Record<number, Mechanism>} */
const MECHANISMS = {
  1: grr,
  2: unary,
  3: unary,
  4: histogram,
  5: unary,
  6: hashing,
  7: subset,
  8: hadamard,
  16: laplace,
  17: oneBit,
  18: piecewise,
  19: hybrid,
  20: laplaceAll,
  21: oneBitSampled,
};
const NUMBERS = [16, 17, 18, 19, 20, 21];
const AT_ONCE = [20];
const SIGNS = [1, 2, 3];
// </mechanisms>

// ---- the row in the schema's terms

const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]*";
const INTEGER = new RegExp(`^${SPACE}([+-]?)0*([0-9]+)(?:\\.0*)?${SPACE}$`, "u");
const SPELT = /^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?inf)$/;
const POINT_ZERO = /^-?(?:0|[1-9][0-9]*)\.0$/;

/** @param {unknown} value */
const missing = (value) => value === null || value === undefined || Number.isNaN(value);
/** @param {unknown} name */
const quoted = (name) => `'${name}'`;
/** Whether a value is a single one. @param {unknown} value */
const single = (value) => ["string", "boolean", "bigint", "number"].includes(typeof value);
/** @param {unknown} value */
const seen = (value) => (single(value) ? quoted(text(value)) : "no single value");

/**
 * The canonical text of a category, as Python writes it: 1, 1n and "1" are one category, true is "true".
 * @param {unknown} value
 */
export function text(value) {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value !== "number") throw new DataError("a value is a text, a number, a truth value or null");
  if (Number.isInteger(value)) return String(BigInt(value));
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Math.abs(value) >= 1e-4) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

/**
 * The codes of the numbers that categories stand for, and of those declared as whole numbers. Numbers and truth values
 * go before texts; among texts the plain spelling first, then that of a float, then any other, then the words.
 */
function numbersOf(categories, codes) {
  const ranked = [];
  const wholes = new Map();
  for (const [place, value] of categories.entries()) {
    const code = codes.get(text(value));
    if (code === undefined) continue;
    if (typeof value !== "string") {
      ranked.push([0, place, Number(value), code]);
      if (typeof value === "number") wholes.set(value, code);
    } else if (SPELT.test(value)) {
      const number = Number(value.replace("inf", "Infinity"));
      const float = Number.isInteger(number) && Math.abs(number) < 1e16 ? `${text(number)}.0` : text(number);
      ranked.push([value === text(number) ? 1 : value === float ? 2 : 3, place, number, code]);
    } else if (/^([tT]rue|[fF]alse)$/.test(value)) {
      ranked.push([value === value.toLowerCase() ? 4 : 5, place, Number(/^t/i.test(value)), code]);
    }
  }
  const numbers = new Map();
  ranked.sort(([a, i], [b, j]) => a - b || i - j);
  for (const [, , number, code] of ranked) if (!numbers.has(number)) numbers.set(number, code);
  return { numbers, wholes };
}

/** The code of a declared value, or undefined: 1, 1.0 and true are one value, whatever it is declared as. */
function find(column, value) {
  const { codes, kinds } = column;
  if (typeof value !== "string" && (typeof value !== "bigint" || Number.isFinite(Number(value)))) {
    return column.numbers.get(Number(value));
  }
  const name = text(value);
  const found = codes.get(name);
  if (found !== undefined) return found;
  if (kinds.includes("int")) {
    const [, sign, digits] = INTEGER.exec(name) ?? [];
    const code = digits === undefined ? undefined : column.wholes.get(Number(sign + digits));
    if (code !== undefined) return code;
  }
  if (kinds.includes("bool")) {
    /** @type {Record<string, string>} */
    const alias = { 1: "true", 0: "false", "1.0": "true", "0.0": "false" };
    const code = codes.get(Object.hasOwn(alias, name) ? alias[name] : name.toLowerCase());
    if (code !== undefined) return code;
  }
  return POINT_ZERO.test(name) ? codes.get(name === "-0.0" ? "0" : name.slice(0, -2)) : undefined;
}

/** To the nearest whole number, ties to the even one. @param {number} value */
function rounded(value) {
  const size = Math.abs(value);
  const floor = Math.floor(size);
  const gap = size - floor; // exact
  return Math.sign(value) * (floor + Number(gap > 0.5 || (gap === 0.5 && floor % 2 === 1)));
}

/** The cell of a value and, for a number, its lattice point. @param {any} column @param {unknown} value */
function place(column, value) {
  const name = quoted(column.name);
  if (missing(value)) {
    const cell = column.missing ?? column.other ?? null;
    if (cell !== null) return { cell, point: 0 };
    throw new DataError(`${name} is missing, and the schema gives missing values no place`);
  }
  if (column.codes) {
    const cell = single(value) ? find(column, value) ?? column.other ?? column.missing : column.other ?? column.missing;
    if (cell === null) throw new DataError(`${name} is ${seen(value)}, which the schema does not list`);
    return { cell, point: 0 };
  }
  const known = ["number", "bigint", "boolean"].includes(typeof value);
  const number = known ? Number(value) : Infinity;
  if (!Number.isFinite(number)) {
    if (column.missing !== null) return { cell: column.missing, point: 0 };
    throw new DataError(`${name} is ${known ? "infinite" : `${seen(value)}, which is not a number`}`);
  }
  const scaled = (Math.min(Math.max(number, column.lower), column.upper) - column.middle) * column.inverse;
  return located(column, rounded(Math.max(-column.half, Math.min(column.half, scaled))));
}

/** The cell of a lattice point. @param {any} column @param {number} point */
function located(column, point) {
  let cell = 0;
  while (cell < column.cuts.length && column.cuts[cell] <= point) cell += 1;
  return { cell, point };
}

/** The code of a class. @param {any} target @param {unknown} value @returns {number} */
function classOf(target, value) {
  const label = missing(value) || !single(value) ? undefined : find(target, value);
  if (label === undefined) {
    throw new DataError(`${missing(value) ? "a missing value" : seen(value)} is not one of the classes of ${quoted(target.name)}`);
  }
  return label;
}

/** An even draw from all cells of a column, or from all points of a number. @param {any} column @param {Words} word */
function anywhere(column, word) {
  if (!column.cuts) return { cell: Number(below(word, BigInt(column.cells))), point: 0 };
  return located(column, Number(below(word, BigInt(2 * column.half + 1))) - column.half);
}

/** What `read` finds, or what `otherwise` gives where the schema has no place for the value. */
function orElse(read, otherwise) {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError) return otherwise(error);
    throw error;
  }
}

/** @param {unknown} row @returns {asserts row is Record<string, unknown>} */
function demandRow(row) {
  if (row === null || typeof row !== "object") throw new DataError("a row is an object by column name");
}

/** A row's value; what it does not name is missing. */
const valueOf = (row, column) => (Object.hasOwn(row, column.name) ? row[column.name] : undefined);

// ---- fingerprints: those of the Python module `discreet.local.fingerprint`

const utf8 = new TextEncoder();

/** The primes' roots of SHA-256, as 32 bits after the point. */
const ROOTS = (() => {
  const primes = [];
  for (let n = 2n; primes.length < 64; n += 1n) if (primes.every((one) => n % one)) primes.push(n);
  const root = (n, power) => { // the largest whole number whose power is at most n
    let found = 0n;
    for (let bit = 1n << 80n; bit; bit >>= 1n) if ((found | bit) ** power <= n) found |= bit;
    return Number(found & 0xffffffffn) | 0;
  };
  return { first: primes.slice(0, 8).map((n) => root(n << 64n, 2n)), rest: primes.map((n) => root(n << 96n, 3n)) };
})();

/** SHA-256 as hexadecimal digits, at once: the browser's own answers later, and only on secure pages. @param {Uint8Array} bytes */
function sha256(bytes) {
  const padded = joined([bytes, [128], new Uint8Array((119 - (bytes.length % 64)) % 64), little(8 * bytes.length, 8).reverse()]);
  const [view, state, w] = [new DataView(padded.buffer), [...ROOTS.first], new Int32Array(64)];
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 64; i += 1) {
      if (i < 16) {
        w[i] = view.getInt32(at + 4 * i);
      } else {
        const a = w[i - 15];
        const b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
      }
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROOTS.rest[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((one, i) => { state[i] = (state[i] + one) | 0; });
  }
  return state.map((one) => (one >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Append a value's bytes. @param {number[]} out @param {unknown} value */
function canonical(out, value) {
  const put = (tag, length) => out.push(tag, (length >>> 24) & 255, (length >>> 16) & 255, (length >>> 8) & 255, length & 255);
  if (value === null || typeof value === "boolean") return void out.push(value === null ? 110 : value ? 116 : 102);
  if (typeof value === "number") {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value);
    return void out.push(100, ...bytes);
  }
  if (typeof value === "string") {
    const raw = utf8.encode(value);
    put(115, raw.length);
    return raw.forEach((byte) => out.push(byte));
  }
  demand(typeof value === "object", "the campaign holds what no JSON file can");
  if (Array.isArray(value)) {
    put(108, value.length);
    return value.forEach((one) => canonical(out, one));
  }
  const names = Object.entries(value).map(([name, one]) => ({ raw: utf8.encode(name), one }));
  names.sort(({ raw: a }, { raw: b }) => {
    const spot = a.findIndex((byte, i) => byte !== b[i]);
    return spot < 0 ? -1 : a[spot] - (b[spot] ?? -1);
  });
  put(111, names.length);
  names.forEach(({ raw, one }) => {
    put(107, raw.length);
    out.push(...raw);
    canonical(out, one);
  });
}

/** The fingerprint of plain values. @param {unknown} value */
export function fingerprint(value) {
  /** @type {number[]} */
  const bytes = [];
  canonical(bytes, value);
  return sha256(Uint8Array.from(bytes));
}

// ---- the campaign

/** One column of the campaign, checked: no value may get a cell outside its cells. @param {any} raw @param {any} categories */
function columnOf(raw, categories) {
  demand(typeof raw?.name === "string", "a column of the campaign has no name");
  const what = `column ${quoted(raw.name)}`;
  const cells = Number(whole(raw.cells, what, 1n, 1n << 20n));
  const cellOf = (code) => Number(whole(code, what, 0n, BigInt(cells - 1)));
  const column = { name: raw.name, cells, missing: raw.missing === null ? null : cellOf(raw.missing) };
  if (raw.codes) {
    demand(Array.isArray(raw.kinds), `the campaign's ${what} does not say of what kind its categories are`);
    const codes = new Map(Object.entries(raw.codes).map(([name, code]) => [name, cellOf(code)]));
    demand(Array.isArray(categories), `the campaign's schema does not list the categories of ${what}`);
    const other = raw.other === null ? null : cellOf(raw.other);
    return { ...column, codes, ...numbersOf(categories, codes), kinds: raw.kinds, other };
  }
  const { lower, upper, middle, inverse, cuts } = raw;
  const half = Number(whole(raw.half, what, 1n, 1n << 20n));
  const fine = [lower, upper, middle, inverse].every(Number.isFinite) && lower < upper && inverse > 0;
  demand(fine, `the campaign's ${what} has no proper bounds`);
  const rises = Array.isArray(cuts) && cuts.length < cells
    && cuts.every((cut, i) => Number.isSafeInteger(cut) && (i === 0 || cuts[i - 1] < cut));
  demand(rises, `the campaign's ${what} has no proper bins`);
  return { ...column, lower, upper, middle, inverse, half, cuts };
}

/** A checked question: which input, its head on the wire, what it asks of a person, and how the answer is drawn. */
function questionOf(raw, columns, target, price) {
  const [input, classes] = [Number(whole(raw?.input, "input", 0n, 1n << 32n)), target.cells];
  const numbers = columns.filter((column) => column.cuts && column.missing === null);
  const [spot, rest] = [Math.floor((input - 1) / 3), (input + 2) % 3];
  const column = columns[spot];
  const all = input - 3 * columns.length;
  /** @type {any[]} */
  const asked = column ? [column] : numbers;
  const kind = input === 0 ? "class" : column ? ["cells", "mean", "square"][rest] : ["means", "squares"][all - 1];
  demand(kind !== undefined && raw.kind === kind, `the campaign's input ${input} is not one of its schema`);
  const code = Number(whole(raw.code, "mechanism", 0n, 255n));
  const numeric = kind !== "class" && kind !== "cells";
  const known = Object.hasOwn(MECHANISMS, code) && NUMBERS.includes(code) === numeric;
  const fits = known && AT_ONCE.includes(code) === (numeric && !column);
  demand(fits && (!numeric || (asked.length && asked.every((one) => numbers.includes(one)))),
    `the campaign's mechanism ${code} does not fit its input ${input}`);
  const square = kind.startsWith("square");
  const halves = numeric ? asked.map((one) => BigInt(one.half) ** (square ? 2n : 1n)) : [];
  const d = kind === "cells" ? classes * column.cells : classes;
  demand(d <= 1 << 20, `the campaign's input ${input} has too many values`);
  const draw = MECHANISMS[code](raw.constants ?? {}, { d, classes, halves }, price);
  const width = Number(whole(raw.width, "width", 1n, BigInt(LONGEST)));
  const head = [...varint(input), code, ...varint(whole(raw.parameter, "parameter", 0n, 1000n)), ...varint(width)];
  /** @type {(label: number, places: Map<any, {cell: number, point: number}>) => Answer} */
  const ask = (label, places) => ({
    label,
    value: kind === "cells" ? label * column.cells + places.get(column).cell : label,
    points: numeric ? asked.map((one) => {
      const [point, half] = [BigInt(places.get(one).point), BigInt(one.half)];
      return square ? 2n * point * point - half * half : point;
    }) : [],
  });
  return { input, head, width, ask, draw };
}

/** A campaign file's contents, checked. @param {any} raw */
function campaignOf(raw) {
  demand(raw?.format === "discreet/campaign", "this is not a campaign");
  demand(raw.version === 1, "the campaign is of another version than this client");
  demand(/^[0-9a-f]{64}$/.test(raw.schema_hash), "the campaign lacks the fingerprint of its schema");
  demand(Array.isArray(raw.columns) && raw.columns.length, "the campaign lacks its columns");
  demand(raw.target?.codes, "the campaign lacks its classes");
  demand(Array.isArray(raw.questions) && raw.questions.length, "the campaign asks nothing");
  const epsilon = millionths(raw.epsilon);
  const fine = epsilon?.exact && epsilon.count > 0n && epsilon.count <= LARGEST_EPSILON * MILLION;
  demand(fine && typeof raw.epsilon === "string", "the campaign's epsilon is not a number of millionths up to 30");
  const reports = Number(whole(raw.reports, "number of answers", 1n, BigInt(Math.min(255, raw.questions.length))));
  const declared = raw.schema?.features ?? [];
  const columns = raw.columns.map((one, place) => columnOf(one, declared[place]?.categories));
  const target = columnOf(raw.target, raw.schema?.classes);
  const names = new Set([...columns, target].map((one) => one.name));
  demand(names.size === columns.length + 1, "the campaign names a column twice");
  demand(target.cells > 1 && target.missing === null && target.other === null, "the campaign has no proper classes");
  const price = new Price(epsilon.count, MILLION * BigInt(reports));
  const questions = raw.questions.map((one) => questionOf(one, columns, target, price));
  const inputs = new Set(questions.map((one) => one.input));
  demand(inputs.size === questions.length, "the campaign asks a question twice");
  const mark = little(BigInt(`0x${raw.schema_hash.slice(0, 2 * SCHEMA_BYTES)}`), SCHEMA_BYTES).reverse();
  const name = fingerprint(raw);
  const pin = fingerprint({ schema: raw.schema ?? null, columns: raw.columns, target: raw.target });
  return { epsilon: epsilon.count, reports, columns, target, questions, mark, name, pin };
}

// ---- the client

const FORMAT = "discreet/client";
/** @param {Uint8Array} bytes */
const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
/** @param {string} text */
const unbase64 = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
/** @param {bigint} count millionths */
const shown = (count) => String(Number(count) / 1e6);
/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** One person's side of a campaign: makes one report, remembers it, and sends it. */
export class LocalClient {
  #campaign; #budget; #word; #read; #write; #lock;

  /**
   * @param {object} campaign  the parsed campaign file
   * @param {object} [options]
   * @param {Store} [options.store]  where the client remembers what it has spent: localStorage, or memory by default
   * @param {string} [options.key]  under which key; clients with the same store and key share one budget
   * @param {number | string} [options.budget]  what all reports may cost together; by default one report's ε
   * @param {string} [options.pin]  the fingerprint of the only schema to report about, as `discreet local campaign` prints it
   * @param {Words} [options.words]  randomness; only tests have a reason to give it
   */
  constructor(campaign, { store = new Map(), key = FORMAT, budget, pin, words = systemWords } = {}) {
    this.#campaign = campaignOf(campaign);
    demand(pin === undefined || pin === this.#campaign.pin,
      "the campaign is about another schema than the one this client is pinned to: nothing is reported");
    const found = budget === undefined ? { count: this.#campaign.epsilon } : millionths(budget);
    if (!found || found.count > LARGEST_EPSILON * MILLION) throw new BudgetError("a budget is a number up to 30");
    if (found.count < this.#campaign.epsilon) {
      throw new BudgetError("the budget of this client does not suffice for one report");
    }
    const given = store;
    const plain = typeof given.get === "function";
    [this.#budget, this.#word, this.#lock] = [found.count, words, key];
    this.#read = () => (plain ? given.get(key) : given.getItem(key)) ?? null;
    this.#write = (value) => (plain ? given.set(key, value) : given.setItem(key, value));
    this.#recall();
  }

  /** What the reports so far have cost. */
  get spent() {
    return Number(this.#recall().spent) / 1e6;
  }

  /** This campaign's last report once more, or no bytes: for sending again what may have been lost. It costs nothing. */
  get lastReport() {
    return this.#recall().reports.get(this.#campaign.name) ?? new Uint8Array();
  }

  /**
   * One sentence for each value of a row that the schema has no place for: for this device's screen alone. Such a row
   * is reported like any other; whoever sends nothing instead tells what the row says.
   * @param {Record<string, unknown>} row
   */
  placeless(row) {
    demandRow(row);
    const { columns, target } = this.#campaign;
    const tell = (read) => orElse(() => (read(), []), (error) => [error.message]);
    const found = columns.flatMap((one) => tell(() => place(one, valueOf(row, one))));
    return [...found, ...tell(() => classOf(target, valueOf(row, target)))];
  }

  /**
   * A randomised report about a row: an object by column name, the class included; what it does not name is missing.
   * What is asked is drawn before the row is looked at; the cost is remembered before the report is handed out. A value
   * without a place in the schema is reported as if it were drawn evenly from all that have one, at the same cost.
   * @param {Record<string, unknown>} row
   */
  report(row) {
    const [{ spent, reports }, { epsilon, name }] = [this.#recall(), this.#campaign];
    if (spent + epsilon > this.#budget) {
      throw new BudgetError(
        `this client has spent ${shown(spent)} of its ${shown(this.#budget)}: a further report would tell more than `
        + "was promised; send lastReport again, or give the client a larger budget");
    }
    const frame = this.#frame(row);
    const kept = Object.fromEntries([...reports, [name, frame]].map(([one, bytes]) => [one, base64(bytes)]));
    const memory = JSON.stringify({
      format: FORMAT, spent: `${spent + epsilon}/${MILLION}`, last: base64(frame), reports: kept });
    this.#write(memory);
    if (this.#read() !== memory) throw new DiscreetError("the store keeps nothing, so nothing is reported");
    return frame;
  }

  /**
   * Send the last report, again and again until the collector has it. It is counted once, however often it arrives.
   * Returns what the collector says of it.
   * @param {string | URL} url
   * @param {object} [options]
   * @param {typeof globalThis.fetch} [options.fetch]
   * @param {string} [options.token]  what lets the report in, where the collection wants tokens
   * @param {number} [options.tries]
   * @param {number} [options.wait]  milliseconds before the second try; each further wait is twice as long
   */
  async post(url, { fetch = globalThis.fetch, token, tries = 6, wait = 500 } = {}) {
    const body = this.lastReport;
    if (!body.length) throw new SendError("there is no report to send: make one with report(row)");
    let [reason, least] = ["", 0];
    for (let i = 0; i < tries; i += 1) {
      if (i) await pause(Math.max(least, wait * 2 ** (i - 1) * (0.5 + Math.random())));
      try {
        // No cookies and no referrer: nothing that names the person goes along.
        const answer = await fetch(url, {
          method: "POST", body,
          headers: { "Content-Type": "application/octet-stream", ...(token && { "Discreet-Token": token }) },
          credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store",
        });
        if (answer.ok) {
          const said = (await answer.json().catch(() => null)) ?? {};
          const fate = ["malformed", "foreign", "unexpected"].find((one) => said[one]);
          if (!fate) return said;
          reason = `it is ${fate}`;
          break;
        }
        reason = `it answered ${answer.status}`;
        if (answer.status < 500 && ![408, 425, 429].includes(answer.status)) break;
        least = 1000 * Math.min(60, Number(answer.headers.get("retry-after")) || 0);
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
    }
    throw new SendError(`the collector did not take the report: ${reason}`);
  }

  /**
   * Report about a row and send it; where this campaign's report was made before, send that one again.
   * Tabs that share a store take turns where the browser offers locks.
   * @param {Record<string, unknown>} row
   * @param {string | URL} url
   * @param {Parameters<LocalClient["post"]>[1]} [options]
   */
  async send(row, url, options) {
    const make = () => {
      if (!this.lastReport.length) this.report(row);
    };
    const locks = globalThis.navigator?.locks;
    await (locks ? locks.request(this.#lock, make) : make());
    return this.post(url, options);
  }

  /** @param {Record<string, unknown>} row */
  #frame(row) {
    const { columns, target, questions, mark, epsilon, reports } = this.#campaign;
    const word = this.#word;
    const identity = [little(word(), 8), little(word(), 8)];
    const asked = [...questions];
    for (let i = 0; i < reports; i += 1) {
      const j = i + Number(below(word, BigInt(asked.length - i)));
      [asked[i], asked[j]] = [asked[j], asked[i]];
    }
    demandRow(row);
    // What has no place in the schema is drawn evenly from all that has one: that nothing was sent would tell something.
    const places = new Map(columns.map((one) =>
      [one, orElse(() => place(one, valueOf(row, one)), () => anywhere(one, word))]));
    const label = orElse(() => classOf(target, valueOf(row, target)), () => anywhere(target, word).cell);
    const parts = asked.slice(0, reports).flatMap(({ head, width, ask, draw }) => {
      const said = draw(ask(label, places), word);
      if (said.length !== width) throw new CampaignError("the campaign is wrong about the length of an answer");
      return [head, said];
    });
    const body = joined([mark, ...identity, varint(epsilon), [reports], ...parts]);
    if (body.length > LONGEST) throw new CampaignError(`a report of ${body.length} bytes is too long`);
    const frame = joined([MARKER, [1], little(body.length, 2), body]);
    return joined([frame, little(crc32(frame), 4)]);
  }

  /** What was spent, and each campaign's last report. A damaged memory is an error, never a fresh start. */
  #recall() {
    const raw = this.#read();
    if (raw === null) return { spent: 0n, reports: new Map() };
    try {
      if (typeof raw !== "string") throw new Error("the store does not answer at once with a text");
      const { format, spent, last, reports } = JSON.parse(raw);
      const [found, old] = [millionths(spent), unbase64(last)];
      if (format !== FORMAT || !found?.exact) throw new Error("it is not a client's memory");
      // From before campaigns were told apart: a report about this schema is taken for this campaign's.
      const { mark, name } = this.#campaign;
      const ours = old.length && mark.every((byte, i) => old[HEAD + i] === byte);
      const kept = reports === undefined
        ? (ours ? [[name, old]] : [])
        : Object.entries(reports).map(([one, text]) => [one, unbase64(text)]);
      return { spent: found.count, reports: new Map(kept) };
    } catch (error) {
      throw new DiscreetError(`the client's memory is damaged, so nothing is reported: ${error.message}`);
    }
  }
}
