/** `procman dashboard`: opens the dashboard in the browser, signed in. */
import { join } from "node:path";
import type { Command } from "commander";
import { ProcmanError } from "../../base/errors.ts";
import { CONNECT_TIMEOUT_MS, checkPort, reach } from "../../connection/endpoint-file.ts";
import type { Endpoint } from "../../contract/records.ts";
import { writeWhole } from "../../os/careful-files.ts";
import { monotonicMs } from "../../os/clock.ts";
import { makeFolder } from "../../os/files.ts";
import { openInBrowser } from "../browser.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { withTarget } from "../options.ts";
import { scopesIn } from "../scopes.ts";
import { targetLocation } from "../target.ts";

type Options = { readonly config?: string; readonly name?: string; readonly scope?: string; readonly open: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("dashboard")
    .summary("show processes, logs and incidents in the browser")
    .description(
      "Opens the dashboard of the running procman in the browser, signed in by a code that works once and for 30 s. Over ssh, and without a desktop, it prints the link.",
    );
  withTarget(command)
    .option("--scope <scopes>", "what the page may do: read, control or admin, separated by commas (default: all)")
    .option("--no-open", "print the link, and open no browser")
    .action(dashboard);
}

async function dashboard({ scope, open, ...target }: Options): Promise<void> {
  const order = scope === undefined ? {} : { scopes: scopesIn(scope, "open the dashboard") };
  const { stateDir } = targetLocation(target);
  const client = await connect(target);
  const endpoint = await reach(stateDir, monotonicMs() + CONNECT_TIMEOUT_MS);
  const url = addressOf(endpoint);
  const { code, expiresInSeconds } = await client.dashboardCode(order).catch((error: unknown) => {
    throw error instanceof ProcmanError && error.code === "path-unknown" ? tooOld(endpoint) : error;
  });
  const link = `${url}#code=${code}`;
  const { SSH_CONNECTION: ssh, SUDO_USER: sudo } = process.env;
  // A browser of root would be one without the user's desktop and settings.
  const isOpened = open && !ssh && !sudo && (await openInBrowser(pageWith(stateDir, link)));
  const lines = isOpened
    ? [`Opening ${url} in the browser. If nothing opens, this link works once, within ${expiresInSeconds} s:`, link]
    : [`This link works once, within ${expiresInSeconds} s; "${asTyped("dashboard", target)}" makes another:`, link];
  process.stdout.write(`${[...lines, ...(ssh ? forwarding(ssh, endpoint) : [])].join("\n")}\n`);
}

function tooOld({ version }: Endpoint): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot open the dashboard: the running procman (${version}) has none; "procman upgrade" replaces it, without restarting a process`,
  );
}

/** @throws {ProcmanError} `service-down` */
function addressOf(endpoint: Endpoint): string {
  if (endpoint.isOff === true)
    throw new ProcmanError(
      "service-down",
      'Cannot open the dashboard: browsers need a port, and "api" is false in the configuration; set "api": {} or "api": { "port": 9000 } and start procman again',
    );
  checkPort(endpoint);
  return `http${endpoint.tls === true ? "s" : ""}://${reachableName(endpoint)}:${endpoint.port}/`;
}

function reachableName({ hostname }: Endpoint): string {
  if (hostname === "0.0.0.0") return "127.0.0.1";
  if (hostname === "::") return "[::1]";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/**
 * The link in a page that only this user can read: other users see the arguments of the program that opens it. The next command
 * replaces it.
 */
function pageWith(stateDir: string, link: string): string {
  const folder = join(stateDir, "run");
  makeFolder(folder, 0o700);
  const file = join(folder, "dashboard.html");
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>procman</title><meta http-equiv="refresh" content="0;url=${link}"><a href="${link}">Dashboard of procman</a>\n`;
  writeWhole(file, page);
  return file;
}

/** SSH_CONNECTION: addresses and ports of client and server. */
function forwarding(connection: string, endpoint: Endpoint): readonly string[] {
  const [, , host = "HOST", port = "22"] = connection.split(" ");
  const name = reachableName(endpoint);
  const { USER: user } = process.env;
  const forward = `ssh -N -L ${endpoint.port}:${name}:${endpoint.port}${port === "22" ? "" : ` -p ${port}`} ${user ? `${user}@` : ""}${host}`;
  return ["It needs the port on the machine with the browser; there, first:", `  ${forward}`];
}
