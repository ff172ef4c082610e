/** The session of one client: under which name it asks, and what its tokens may do. */
import type { Client } from "../../client/client.ts";
import { connectTo, type TokenHolder } from "../../client/connection/connect.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { McpPorts, McpRights } from "./mcp-ports.ts";

/** In `api.revoked`, it locks all agents out. */
const CONSUMER = "mcp";
const NAME_LENGTH = 40;

export class McpSession {
  readonly #place: McpPorts["place"];
  readonly #rights: McpRights;
  #client = "unknown client";
  #isOver = false;

  constructor(place: McpPorts["place"], rights: McpRights) {
    this.#place = place;
    this.#rights = rights;
  }

  /** `name`: as the client calls itself. */
  nameClient(name: string): void {
    const clean = name
      .trim()
      .replace(/[^\w .@/+-]+/g, "-")
      .slice(0, NAME_LENGTH);
    if (clean !== "") this.#client = clean;
  }

  get holder(): TokenHolder {
    const { mayControl, mayType, limits } = this.#rights;
    return {
      consumer: `${CONSUMER} (${this.#client})`,
      by: CONSUMER,
      scopes: [
        "read",
        ...(mayControl ? (["control"] as const) : []),
        ...(mayType ? (["input"] as const) : []),
        ...(this.mayReload ? (["reload"] as const) : []),
      ],
      ...(limits && { limits }),
    };
  }

  /** A reload concerns all processes. */
  get mayReload(): boolean {
    return this.#rights.mayControl && this.#rights.limits === undefined;
  }

  /** @throws {ProcmanError} `unauthorized` after the end of the session; those of `connectTo` */
  async connect(): Promise<Client> {
    if (this.#isOver)
      throw new ProcmanError("unauthorized", "Cannot ask procman: the session of this client has ended");
    const place = this.#place();
    if ("url" in place && this.#rights.limits !== undefined)
      throw new ProcmanError(
        "usage",
        "Cannot limit the session: procman runs as another user, whose tokens can't be made here; leave out --process and --group",
      );
    return connectTo(place, this.holder);
  }

  /** No token is made from now on. */
  end(): void {
    this.#isOver = true;
  }
}
