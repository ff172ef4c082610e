/** `procman dashboard`: opens the dashboard in the browser, signed in. */
import { join } from "node:path";
import type { Command } from "commander";
import { CONNECT_TIMEOUT_MS, checkPort, resolveEndpoint } from "../../client/connection/endpoint-file.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import type { Endpoint } from "../../core/contract/records.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { withTarget } from "../options.ts";
import { showLink } from "../output/dashboard-link.ts";
import { scopesIn } from "../scopes.ts";
import { type TargetOptions, targetLocation } from "../target.ts";

type Options = TargetOptions & { readonly scope?: string; readonly open: boolean; readonly json?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("dashboard")
    .description(
      "Opens the dashboard of the running procman in the browser, signed in by a code that works once and for 30 s. Over ssh, and without a desktop, it prints the link. With --host it shows other machines, for as long as the command runs.",
    );
  withTarget(command)
    .option("--scope <scopes>", "what the page may do: read, control, input or admin, separated by commas (default: all)")
    .option("--no-open", "print the link instead of opening a browser")
    .option("--json", "print the code and the addresses of the API as JSON, without opening a browser")
    .action(dashboard);
}

async function dashboard({ scope, open, json = false, ...target }: Options): Promise<void> {
  const order = scope === undefined ? {} : { scopes: scopesIn(scope, "open the dashboard") };
  if (target.host !== undefined) {
    const { showHosts } = await import("../../satellites/hosts/host-dashboard.ts");
    return showHosts(target.host, { scope, open });
  }
  const { stateDir } = targetLocation(target);
  const client = await connect(target);
  const endpoint = await resolveEndpoint(stateDir, monotonicMs() + CONNECT_TIMEOUT_MS);
  const { socket } = endpoint;
  const url = json && socket !== undefined && hasNoPort(endpoint) ? undefined : addressOf(endpoint);
  const signIn = await client.dashboardCode(order).catch((error: unknown) => {
    throw error instanceof ProcmanError && error.code === "path-unknown" ? tooOld(endpoint) : error;
  });
  if (url === undefined || json) return void process.stdout.write(`${printableJson({ ...signIn, url, socket }, 2)}\n`);
  const { code, expiresInSeconds } = signIn;
  const place = { folder: join(stateDir, "run"), hostname: reachableName(endpoint), ports: [endpoint.port] };
  await showLink(
    { url, link: `${url}#code=${code}`, expiresInSeconds, command: asTyped("dashboard", target), ...place },
    open,
  );
}

function hasNoPort({ isOff, problem }: Endpoint): boolean {
  return isOff === true || problem !== undefined;
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
