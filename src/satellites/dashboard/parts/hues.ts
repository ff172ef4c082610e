/** Colors of process names in the log: neighbours in the order in which they appear differ. */

/** In the style sheet. */
const HUES = 10;

const known = new Map<string, number>();

/** The instances of a cluster have one color. A process keeps its color until the page is loaded again. */
export function hueOf(process: string): number {
  const name = process.replace(/-\d+$/, "");
  const hue = known.get(name) ?? known.size % HUES;
  known.set(name, hue);
  return hue;
}
