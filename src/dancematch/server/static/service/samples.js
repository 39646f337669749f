/** The service's own rendered dances and clip: added if they are not known yet, then searched for. */

import { ask, blobOf, mayWrite, send, withQuery } from "./api.js";
import { tell } from "../elements/notices.js";
import * as searching from "./searching.js";

const LABEL = "rendered";

/** Search for the rendered clip; its dances are added before, once. */
export async function trySample() {
  const { dances, clip } = await ask("samples"),
    names = dances.map(({ name }) => name);
  const known = (await ask(withQuery("dances", { label: LABEL, limit: 100 }))).dances.map(({ name }) => name);
  const missing = mayWrite() ? dances.filter(({ name }) => !known.includes(name)) : [];
  for (const { name, file } of missing) {
    const path = withQuery("recordings", { dance: name, filename: file, label: LABEL, join: true });
    await send("POST", path, await fileOf(file, "application/octet-stream"), () => undefined);
  }
  if (missing.length) tell(`Added, to try it with: ${names.join(", ")}. They are labelled “${LABEL}”.`);
  await searching.begin(await fileOf(clip.file, "video/mp4"));
}

/** @param {string} file @param {string} type */
const fileOf = async (file, type) => new File([await blobOf(`samples/${encodeURIComponent(file)}`)], file, { type });
