/** Shows the link to a dashboard, in the browser or on the terminal. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { printable } from "../../core/base/printable.ts";
import { writeWhole } from "../../core/os/careful-files.ts";
import { makeFolder } from "../../core/os/files.ts";

export type DashboardLink = {
  /** Without the code. */
  readonly url: string;
  readonly link: string;
  readonly expiresInSeconds: number;
  /** Makes another link. */
  readonly command: string;
  /** For the page that leads to the link; only this user may enter it. */
  readonly folder: string;
  /** Where the ports are, for ssh from another machine. */
  readonly hostname: string;
  readonly ports: readonly number[];
};

/** Opens the browser, unless there is none, or the user sits elsewhere. */
export async function showLink(shown: DashboardLink, open: boolean): Promise<void> {
  const { url, link, expiresInSeconds, command } = shown;
  const { SSH_CONNECTION: ssh, SUDO_USER: sudo } = process.env;
  // A browser of root would be one without the user's desktop and settings.
  const isOpened = open && !ssh && !sudo && (await openInBrowser(pageWith(shown)));
  const lines = isOpened
    ? [`Opening ${url} in the browser. If nothing opens, this link works once, within ${expiresInSeconds} s:`, link]
    : [`This link works once, within ${expiresInSeconds} s; "${command}" makes another:`, link];
  process.stdout.write(`${printable([...lines, ...(ssh ? forwarding(ssh, shown) : [])].join("\n"))}\n`);
}

/**
 * The link in a page that only this user can read: other users see the arguments of the program that opens it. The next
 * command replaces it.
 */
function pageWith({ folder, link }: DashboardLink): string {
  makeFolder(folder, 0o700);
  const file = join(folder, "dashboard.html");
  const address = link.replace(/[&"<>]/g, (found) => `&#${found.charCodeAt(0)};`);
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>procman</title><meta http-equiv="refresh" content="0;url=${address}"><a href="${address}">procman dashboard</a>\n`;
  writeWhole(file, page);
  return file;
}

/** SSH_CONNECTION: addresses and ports of client and server. */
function forwarding(connection: string, { hostname, ports }: DashboardLink): readonly string[] {
  const [, , host = "HOST", sshPort = "22"] = connection.split(" ");
  const { USER: user } = process.env;
  const forwards = ports.map((port) => `-L ${port}:${hostname}:${port}`).join(" ");
  const forward = `ssh -N ${forwards}${sshPort === "22" ? "" : ` -p ${sshPort}`} ${user ? `${user}@` : ""}${host}`;
  return [
    `It needs the ${ports.length > 1 ? "ports" : "port"} on the machine with the browser; run there first:`,
    `  ${forward}`,
  ];
}

/** Time in which a program that can't be started says so. Milliseconds. */
const START_MS = 500;

/** Opens a page in the user's browser. Resolves with false if there is no desktop, or no program that opens pages. */
async function openInBrowser(file: string): Promise<boolean> {
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
export function programFor(
  { BROWSER, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): string | undefined {
  if (BROWSER) return BROWSER;
  if (platform === "darwin") return "open";
  return DISPLAY || WAYLAND_DISPLAY ? "xdg-open" : undefined;
}
