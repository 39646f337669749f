/** Numbers as people say them: times, tempo, how sure. */

/** @typedef {{start: number, end: number}} Span */

/** 72.4 becomes 1:12.4. @param {number} seconds @param {number} [digits] */
export function time(seconds, digits = 1) {
  const scale = 10 ** digits,
    whole = Math.round(Math.max(0, seconds) * scale);
  const minutes = Math.floor(whole / (60 * scale)),
    rest = (whole - minutes * 60 * scale) / scale;
  return `${minutes}:${rest.toFixed(digits).padStart(digits ? 3 + digits : 2, "0")}`;
}

/** @param {Span} span */
export const range = (span) => `${time(span.start)} – ${time(span.end)}`;

/** @param {number} seconds */
export const length = (seconds) => {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return seconds % 60 ? `${time(seconds, 0)} min` : `${seconds / 60} min`;
};

/** @param {string} name */
export const plain = (name) => name.replaceAll("_", " ");

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = one + "s") =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** The clip's speed beside the dance's. @param {number | null} ratio */
export function tempo(ratio) {
  if (ratio === null) return "";
  const percent = Math.round(Math.abs(ratio - 1) * 100);
  if (percent < 2) return "same tempo";
  return `${percent} % ${ratio > 1 ? "faster" : "slower"}`;
}

/** 3, 40, 700, 200,000 or 4 million: two figures are enough. @param {number} value */
function roughly(value) {
  if (value >= 1e9) return "a billion";
  if (value >= 1e6) return `${rounded(value / 1e6)} million`;
  return rounded(value);
}

/** With two figures that count. @param {number} value */
function rounded(value) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return (Math.round(value / unit) * unit).toLocaleString("en");
}

/**
 * How sure a match is, from how many dances chance alone would put as near.
 * @param {number | null} evalue
 * @param {number} limit up to which a match counts as one
 * @returns {{level: "sure" | "fair" | "weak" | "unknown", word: string, sentence: string}}
 */
export function sureness(evalue, limit) {
  if (evalue === null)
    return { level: "unknown", word: "not measured", sentence: "How sure this is was not measured." };
  if (evalue >= 1) {
    const often = evalue < 1.5 ? "a dance" : `${roughly(evalue)} dances`;
    return {
      level: "weak",
      word: "no match",
      sentence: `By chance alone, ${often} would come this near in every search.`,
    };
  }
  const often =
    evalue < 1e-9 ? "less than once in a billion searches" : `once in ${roughly(1 / evalue)} searches`;
  const sentence = `By chance: ${often}.`;
  if (evalue > limit) return { level: "weak", word: "no match", sentence };
  if (evalue > 1e-4) return { level: "fair", word: "fairly sure", sentence };
  return { level: "sure", word: evalue < 1e-8 ? "practically certain" : "very sure", sentence };
}

/** @type {Record<string, [string, string]>} */
const METRICS = {
  histogram: ["Same movements", "how much of what is danced is the same, in whatever order"],
  order: ["Same order", "whether the movements follow one another as in the dance, at one tempo"],
  twed: ["Elastic", "how little must be stretched or changed to make one of the other (TWED)"],
  erp: ["Real penalty", "what turning one into the other costs, gaps included (ERP)"],
  lcss: ["Common thread", "the longest thread of movements that both have (LCSS)"],
  edr: ["Edits", "how few movements must be replaced, added or left out (EDR)"],
  dtw: ["Warped", "how alike they are when time may be stretched freely (DTW)"],
  ngram: ["Short runs", "how many short runs of movements both have"],
};

/** A measure's name and meaning. @param {string} name @returns {[string, string]} */
export const metric = (name) => METRICS[name] || [plain(name), "a further measure"];

/** @param {number} bytes */
export const size = (bytes) =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${Math.round(bytes / (1 << 20))} MB`;
