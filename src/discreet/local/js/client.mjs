/**
 * The client of a local campaign for browsers, web views and Node: it sees one person's row and sends a report.
 *
 * Random words, chances and bytes are those of the Python client. Probabilities are whole numbers; nothing here takes
 * an exponential or rounds a float at draw time. A campaign whose chances do not hold its ε is refused.
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
const SLACK = 1n << 38n; // what thresholds of Laplace noise may lose: one part of this, paid for in the scale
const TAIL_SCALES = 28n;
const UNIT = 16n; // lattice steps per person in a noisy histogram
const PRIME = 2 ** 31 - 1;
const MILLION = 1000000n;
const LARGEST_EPSILON = 30n;
const LONGEST = 65535;
const MARKER = [0xd1, 0x5c, 0x2e, 0x70];
const [SCHEMA_BYTES, HEAD] = [8, 7];

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
  const number = BigInt(/** @type {string | number} */ (value));
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
function expBounds(/** @type {bigint} */ n, /** @type {bigint} */ d) {
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
  keeps(/** @type {bigint} */ a, /** @type {bigint} */ b) {
    const fine = a > 0n && b > 0n && a * ONE <= b * this.least && b * ONE <= a * this.least;
    demand(fine, "the campaign's chances do not keep its epsilon: nothing is reported");
  }

  /** The thresholds that noise must have which hides `size`, as [thresholds, 28 scales]; `numbers` pay their slack. */
  laplace(/** @type {bigint} */ size, /** @type {bigint} */ numbers) {
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
function direct(/** @type {any} */ c, /** @type {number} */ size, /** @type {Price} */ price) {
  const [kept, other] = [whole(c.true, "chance"), whole(c.other, "chance", 1n)];
  demand(kept + BigInt(size - 1) * other === WHOLE, "the campaign's chances do not add up");
  price.keeps(kept, other);
  return (/** @type {number} */ value, /** @type {Words} */ word) => {
    const drawn = word();
    if (drawn < kept) return value;
    const place = Number((drawn - kept) / other);
    return place + Number(place >= value);
  };
}

/** Noise on whole numbers of size up to `half` (or 0 … unit), checked threshold by threshold. */
function laplaceNoise(/** @type {any} */ c, /** @type {{thresholds: bigint[]}} */ right) {
  demand(Array.isArray(c.thresholds), "the campaign lacks the thresholds of its noise");
  const same = c.thresholds.length === right.thresholds.length && c.thresholds.every(
    (/** @type {unknown} */ one, /** @type {number} */ i) => whole(one, "threshold", 1n, FINE) === right.thresholds[i]);
  demand(same, "the campaign's noise does not keep its epsilon: nothing is reported");
  const halves = right.thresholds.map((one) => [one >> 64n, one & (WHOLE - 1n)]);
  return (/** @type {Words} */ word) => {
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

/** A number of size up to `half` with noise that hides `size`, as bytes. @returns {(value: bigint, word: Words) => Uint8Array} */
function coordinate(/** @type {any} */ c, half = 0n, size = 0n, numbers = 0n, /** @type {Price} */ price) {
  demand(whole(c.half, "half") === half, "the campaign's largest number is not that of its schema");
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

/** The sign of a number, rounded at random without bias. @param {bigint} half */
const signOf = (half) => (/** @type {bigint} */ point, /** @type {Words} */ word) =>
  Number(below(word, 2n * half) < half + point);

/** ±1 for a number. @returns {(point: bigint, word: Words) => bigint} */
function signValue(/** @type {any} */ c, /** @type {bigint} */ half, /** @type {Price} */ price) {
  demand(whole(c.half, "half") === half, "the campaign's largest number is not that of its schema");
  const [sign, coin] = [signOf(half), direct(c, 2, price)];
  return (point, word) => BigInt(2 * coin(sign(point, word), word) - 1);
}

/** A number by a window. @returns {(point: bigint, word: Words) => bigint} */
function windowValue(/** @type {any} */ c, /** @type {bigint} */ half, /** @type {Price} */ price) {
  demand(whole(c.half, "half") === half, "the campaign's largest number is not that of its schema");
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

/** @typedef {(c: any, shape: Shape, price: Price) => Draw} Mechanism */

/** @type {Mechanism} */
const grr = (c, { d }, price) => {
  const [draw, width] = [direct(c, d, price), widthOf(d - 1)];
  return ({ value }, word) => little(draw(value, word), width);
};

/** @type {Mechanism} One bit per value, each on its own. */
const unary = (c, { d }, price) => {
  const [own, other] = [whole(c.true, "chance", 1n, WHOLE - 1n), whole(c.other, "chance", 1n, WHOLE - 1n)];
  price.keeps(own * (WHOLE - other), other * (WHOLE - own));
  return ({ value }, word) => packedBits(Array.from({ length: d }, (_, one) => word() < (one === value ? own : other)));
};

/** @type {Mechanism} */
const histogram = (c, { d }, price) => {
  const right = price.laplace(2n * UNIT, 2n);
  const noise = laplaceNoise(c, right);
  const high = 1n << BigInt(right.thresholds.length - 1);
  const low = UNIT - high;
  const fine = whole(c.unit, "unit") === UNIT && whole(c.high, "limit") === high && whole(c.low, "limit", -WHOLE) === low;
  demand(fine, "the campaign's noise is cut off at the wrong place");
  const width = Number(whole(c.bytes, "bytes", 1n, 8n));
  demand(high < 1n << BigInt(8 * width - 1), "the campaign's numbers do not fit their bytes");
  return ({ value }, word) => joined(Array.from({ length: d }, (_, one) => {
    const noisy = (one === value ? UNIT : 0n) + noise(word);
    return little(noisy < low ? low : noisy > high ? high : noisy, width);
  }));
};

/** @type {Mechanism} */
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

/** @type {Mechanism} */
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

/** @type {Mechanism} */
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
    const odd = bitLength(place & row) > 0 && [...(place & row).toString(2)].filter((bit) => bit === "1").length % 2 === 1;
    if (odd !== wrong) place |= least;
    return little(mine * block + place, width);
  };
};

/** @type {Mechanism} Every number with noise n times as large, at the place of the person's class. */
const laplaceAll = (c, { classes, halves }, price) => {
  const [count, two] = [BigInt(halves.length), classes > 1 ? 2n : 1n];
  demand(Array.isArray(c.numbers) && c.numbers.length === halves.length, "the campaign's numbers are not its schema's");
  const each = halves.map((half, j) => coordinate(c.numbers[j], half, 2n * count * half, count * two, price));
  return ({ label, points }, word) => joined(each.flatMap((noisy, j) =>
    Array.from({ length: classes }, (_, one) => noisy(one === label ? points[j] : 0n, word))));
};

/** @type {Mechanism} */
const laplace = (c, shape, price) => laplaceAll({ numbers: [c] }, shape, price);

/** @type {Mechanism} */
const oneBit = (c, { classes, halves: [half] }, price) => {
  demand(whole(c.half, "half") === half, "the campaign's largest number is not that of its schema");
  demand([1, 2, 3].includes(c.oracle), "the campaign reports a sign in an unknown way");
  const [sign, draw] = [signOf(half), MECHANISMS[c.oracle](c, { d: 2 * classes, classes, halves: [] }, price)];
  return ({ label, points }, word) => draw({ label, points, value: 2 * label + sign(points[0], word) }, word);
};

/** A class drawn openly, then the value about the person's number, or about 0 if the class is another. */
function sampled(/** @type {any} */ c, /** @type {number} */ classes,
  /** @type {(point: bigint, word: Words, last: number) => Uint8Array} */ rest) {
  demand(Array.isArray(c.bytes), "the campaign does not say how long its answers are");
  const widths = c.bytes.map((/** @type {unknown} */ one) => Number(whole(one, "bytes", 1n, 8n)));
  return (/** @type {Answer} */ { label, points }, /** @type {Words} */ word) => {
    const chosen = Number(below(word, BigInt(classes)));
    return joined([little(chosen, widths[0]), rest(chosen === label ? points[0] : 0n, word, widths.at(-1))]);
  };
}

/** @type {Mechanism} */
const piecewise = (c, { classes, halves: [half] }, price) => {
  const value = windowValue(c, half, price);
  return sampled(c, classes, (point, word, width) => little(value(point, word), width));
};

/** @type {Mechanism} */
const oneBitSampled = (c, { classes, halves: [half] }, price) => {
  const value = signValue(c, half, price);
  return sampled(c, classes, (point, word, width) => little(value(point, word), width));
};

/** @type {Mechanism} */
const hybrid = (c, { classes, halves: [half] }, price) => {
  const often = whole(c.threshold, "chance");
  const [wide, sign] = [windowValue(c.piecewise ?? {}, half, price), signValue(c.one_bit ?? {}, half, price)];
  return sampled(c, classes, (point, word, width) => {
    const kind = word() < often;
    return joined([[Number(kind)], little((kind ? wide : sign)(point, word), width)]);
  });
};

/** @type {Record<number, Mechanism>} by their codes on the wire */
const MECHANISMS = {
  1: grr, 2: unary, 3: unary, 4: histogram, 5: unary, 6: hashing, 7: subset, 8: hadamard,
  16: laplace, 17: oneBit, 18: piecewise, 19: hybrid, 20: laplaceAll, 21: oneBitSampled,
};
