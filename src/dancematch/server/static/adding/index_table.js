/** The index: a table (CSV) among the chosen files that says of each file what it is. */

import { sendText } from "../service/api.js";
import { listed } from "../elements/say.js";

const HEADER_BYTES = 4096;

/**
 * Whether a file is an index rather than a motion file in CSV: one of its columns is called file.
 * @param {File} file
 */
export async function isIndex(file) {
  if (!/\.csv$/i.test(file.name)) return false;
  const lines = (await file.slice(0, HEADER_BYTES).text()).split(/\r?\n/);
  const header = lines.find((line) => line.trim()) || "";
  return header.split(/[,;\t]/).some((cell) => cell.replace(/^[\uFEFF"\s]+|["\s]+$/g, "").toLowerCase() === "file");
}

/** @param {File} file @returns {Promise<any[]>} its rows, as the service reads them */
export const readIndex = async (file) => (await sendText("index", "text/csv", await file.text())).rows;

const baseName = (path) => path.split(/[/\\]/).at(-1);

/** The row about a file, if there is one. @param {any[]} rows @param {File} file */
export const rowOf = (rows, file) => rows.find((row) => baseName(row.file) === file.name);

/** What the index names but was not chosen, as a sentence; else empty. @param {any[]} rows @param {File[]} files */
export function missing(rows, files) {
  const names = rows.map((row) => baseName(row.file)).filter((name) => !files.some((file) => file.name === name));
  if (!names.length) return "";
  const some = names.length > 5 ? [...names.slice(0, 4), `${names.length - 4} more`] : names;
  return `The index also names ${listed(some)}, which ${names.length === 1 ? "was" : "were"} not chosen.`;
}
