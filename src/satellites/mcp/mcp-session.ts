/** The session of one client: under which name it asks, and what its tokens may do. */
import type { Client } from "../../client/client.ts";
import { type ApiPlace, connectTo, type TokenHolder } from "../../client/connection/connect.ts";
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
      ...this.#name,
      scopes: [
        "read",
        ...(mayControl ? (["control"] as const) : []),
        ...(mayType ? (["input"] as const) : []),
        ...(this.mayReload ? (["reload"] as const) : []),
      ],
      ...(limits && { limits }),
    };
  }

  get #name(): Pick<TokenHolder, "consumer" | "by"> {
    return { consumer: `${CONSUMER} (${this.#client})`, by: CONSUMER };
  }

  /** A reload concerns all processes. */
  get mayReload(): boolean {
    return this.#rights.mayControl && this.#rights.limits === undefined;
  }

  /** @throws {ProcmanError} `unauthorized` after the end of the session; those of `connectTo` */
  async connect(): Promise<Client> {
    const place = this.#current();
    if ("url" in place && this.#rights.limits !== undefined)
      throw new ProcmanError(
        "usage",
        "Cannot limit the session: procman runs as another user, whose tokens can't be made here; leave out --process and --group",
      );
    return connectTo(place, this.holder);
  }

  /**
   * As `procman exec` asks, for commands that the tool `run` executes: only for processes that `connect` finds.
   *
   * @throws {ProcmanError} as `connect`; `exec-refused`: this session, or this user, may execute no command
   */
  async connectAsOwner(): Promise<Client> {
    const place = this.#current();
    if (!this.#rights.mayControl || !this.#rights.allowsRun)
      throw new ProcmanError("exec-refused", "Cannot execute a command: it needs --allow-run, and the scope control");
    if ("url" in place)
      throw new ProcmanError(
        "exec-refused",
        "Cannot execute a command: procman runs as another user, or on another machine, and only that user may, there",
      );
    return connectTo(place, { ...this.#name, scopes: ["admin"] });
  }

  /**
   * For texts of earlier configurations: a session that sees the whole file, on this machine, may see those, too.
   *
   * @throws {ProcmanError} as `connect`; `scope-missing`: it doesn't
   */
  async connectForTexts(): Promise<Client> {
    const place = this.#current();
    if ("url" in place || this.#rights.limits !== undefined)
      throw new ProcmanError("scope-missing", "Cannot read the texts of the configuration: they are not all its own");
    return connectTo(place, { ...this.#name, scopes: ["admin"] });
  }

  #current(): ApiPlace {
    if (!this.#isOver) return this.#place();
    throw new ProcmanError("unauthorized", "Cannot ask procman: the session of this client has ended");
  }

  /** No token is made from now on. */
  end(): void {
    this.#isOver = true;
  }
}
