/** Opens a page in the user's browser. */
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

/** Time in which a program that can't be started says so. Milliseconds. */
const START_MS = 500;

/** Resolves with false if there is no desktop, or no program that opens pages. `file`: path of the page. */
export async function openInBrowser(file: string): Promise<boolean> {
  const program = programFor(process.env, process.platform);
  if (program === undefined) return false;
  return new Promise((resolve) => {
    const child = spawn(program, [pathToFileURL(file).href], { detached: true, stdio: "ignore" });
    const timer = setTimeout(() => resolve(true), START_MS);
    child.once("error", () => done(false));
    child.once("exit", (code) => done(code === 0));
    child.unref();
    function done(isOpened: boolean): void {
      clearTimeout(timer);
      resolve(isOpened);
    }
  });
}

/** BROWSER is a program without arguments; the desktop's own one otherwise. */
export function programFor({ BROWSER, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | undefined {
  if (BROWSER) return BROWSER;
  if (platform === "darwin") return "open";
  return DISPLAY || WAYLAND_DISPLAY ? "xdg-open" : undefined;
}
