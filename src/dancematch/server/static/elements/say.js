/** Verdicts and numbers in plain words; `pipeline/wording.py` has the same for command line and report. */

/** @typedef {{start: number, end: number}} Span */

/** 72.4 becomes 1:12.4. @param {number} seconds @param {number} [digits] */
export function time(seconds, digits = 1) {
  const scale = 10 ** digits,
    whole = Math.round(Math.max(0, seconds) * scale);
  const minutes = Math.floor(whole / (60 * scale)),
    rest = (whole - minutes * 60 * scale) / scale;
  return `${minutes}:${rest.toFixed(digits).padStart(digits ? 3 + digits : 2, "0")}`;
}

/** 1:12.4 and 72,4 become 72.4. @param {string} text */
export function seconds(text) {
  const [last, minutes = "0"] = text.trim().replace(",", ".").split(":").reverse();
  return 60 * Number(minutes) + Number(last);
}

/** @param {Span} span */
export const range = (span) => `${time(span.start)} – ${time(span.end)}`;

/** @param {number} seconds */
export const length = (seconds) => {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return seconds % 60 ? `${time(seconds, 0)} min` : `${seconds / 60} min`;
};

/** How much of a clip has been read. @param {number} seconds */
export const afterReading = (seconds) =>
  `after ${seconds < 59.5 ? `${Math.round(seconds)} s` : `${time(seconds, 0)} min`} of the clip`;

/** @param {string} name */
export const plain = (name) => name.replaceAll("_", " ");

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = one + "s") =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** The clip's speed beside the dance's. @param {number | null} ratio */
export function tempo(ratio) {
  if (ratio === null) return "";
  const percent = Math.round(Math.abs(ratio - 1) * 100);
  if (percent <= 3) return "same tempo";
  return `${percent} % ${ratio > 1 ? "faster" : "slower"}`;
}

const TEMPO_SECONDS = 6; // a shorter segment fits at several tempi

/**
 * The same of a match, where it is told: not of a doubtful or short one.
 * @param {{verdict: Verdict, query: {start: number, end: number} | null, tempo: number | null}} match
 */
export const tempoOf = ({ verdict, query, tempo: ratio }) =>
  verdict === "match" && query && query.end - query.start >= TEMPO_SECONDS ? tempo(ratio) : "";

// Numbers never say more than was measured: what accident gives is rounded up, the strength of the evidence down.
const SLACK = 1e-9, // a share: 10 ** log10(3) is a hair beside 3
  floor = (/** @type {number} */ value) => Math.floor(value * (1 + SLACK)),
  ceil = (/** @type {number} */ value) => Math.ceil(value * (1 - SLACK));

/** With so many significant digits. @param {number} value @param {number} digits @param {(value: number) => number} rounding */
function roundDigits(value, digits, rounding) {
  const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - digits);
  return Number((rounding(value / unit) * unit).toPrecision(6));
}

/** 3, 45, 700, 2,000 or 4 million: one figure is enough, two from 10 to 99. @param {number} value @param {(value: number) => number} rounding */
function spell(value, rounding) {
  const rounded = roundDigits(value, value >= 10 && value < 100 ? 2 : 1, rounding);
  return rounded >= 1e6 ? `${(rounded / 1e6).toLocaleString("en")} million` : rounded.toLocaleString("en");
}

/**
 * The name of a match's dance, with its recording's file in brackets unless that is called the same.
 * @param {{dance: string, recording: string | null}} match
 */
export function nameMatch({ dance, recording }) {
  const stem = recording?.slice(0, Math.max(0, recording.lastIndexOf("."))) || "";
  return stem === "" || stem === dance ? dance : `${dance} (${recording})`;
}

/** @typedef {"match" | "possible match" | "no match"} Verdict */

/** @param {Verdict} verdict */
export const verdictWord = (verdict) => verdict.charAt(0).toUpperCase() + verdict.slice(1);

/** How often a search gives a dance as near by accident. @param {number | null} evalue */
export function accident(evalue) {
  if (evalue === null) return "";
  if (evalue >= 1) return `Every search gives about ${spell(evalue, ceil)} as near by accident.`;
  if (evalue <= 0.5) return `1 search in ${spell(1 / evalue, floor)} gives this by accident.`;
  const tenths = ceil(10 * evalue);
  return `${tenths < 10 ? tenths : "More than 9"} of 10 such searches give one as near by accident.`;
}

/** The likelihood ratio, or its inverse where it is below 1, with one digit. @param {number} log_ratio */
const times = (log_ratio) => roundDigits(10 ** Math.abs(log_ratio), 1, floor);

/** How much likelier the evidence is if the clip shows this dance than another. @param {any} match */
export function ratio({ log_ratio, bounded = false }) {
  if (log_ratio === null) return "";
  if (times(log_ratio) < 2) return "The evidence is about as likely if the clip shows this dance as if it shows another.";
  const likely = `${bounded ? "more than" : "about"} ${ratioCell(log_ratio)}`;
  return `The evidence is ${likely} if the clip shows this dance than if it shows another.`;
}

/** The same in short, of a recording or a list of reviews. @param {number | null} log_ratio */
export function ratioCell(log_ratio) {
  if (log_ratio === null) return "";
  if (times(log_ratio) < 2) return "as likely";
  return `${spell(times(log_ratio), floor)} times ${log_ratio > 0 ? "more" : "less"} likely`;
}

/** A day and a time as they are told. @param {string} iso */
export const day = (iso) => new Date(iso).toLocaleDateString("en-GB", { dateStyle: "medium" });
/** @param {string} iso */
export const moment = (iso) => new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Labels as people type several: with commas or semicolons between them. @param {string} text @returns {string[]} */
export const labelsIn = (text) => [...new Set(text.split(/[,;]/).map((one) => one.trim()))].filter(Boolean);

/** Why synchrony was not measured; empty where it was. @param {any} match */
export const basis = ({ synchrony_reason: reason }) => (reason ? `Judged by words alone: ${reason}.` : "");

/** Whether the clip shows the very performance of the catalogue. @param {any} match */
export const performance = (match) => (match.same_performance ? "Probably the very same performance." : "");

/** The way in which a bone mostly points too far: too low, too far to the right. @param {string} tendency */
export const tooFar = (tendency) =>
  /^(low|high|far) ?/.test(tendency) ? `too ${tendency}` : `too far ${tendency}`;

/** How far both move at the same moments. @param {any} match */
export function inStep({ parts: { synchrony, synchrony_seconds: seconds }, synchrony_reason: reason }) {
  if (reason) return "";
  const how =
    synchrony > 0.8 ? "closely" : synchrony > 0.5 ? "mostly" : synchrony > 0.25 ? "loosely" : "hardly";
  return `Both move ${how} in step, compared over ${length(seconds)}.`;
}

/** A clip's dances in a heading. @param {string[]} names */
export const listed = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

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
