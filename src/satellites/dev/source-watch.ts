/** Notices changes of the files that a configuration was made of. */
import { stampOf } from "../../core/os/file-identity.ts";

/** As `--watch-config` looks at procman's own file. Milliseconds. */
const LOOK_MS = 250;

/** `files`: asked at each look; a missing one may appear. `call`: once nothing changes any more. Returns what ends it. */
export function watchSources(files: () => readonly string[], call: () => void): () => void {
  const stamps = (): string =>
    files()
      .map((file) => `${file} ${stampOf(file)}`)
      .join("\n");
  let known = stamps();
  let before = known;
  const timer = setInterval(() => {
    const now = stamps();
    const isSettled = now === before;
    before = now;
    if (now === known || !isSettled) return;
    known = now;
    call();
  }, LOOK_MS);
  return () => clearInterval(timer);
}
