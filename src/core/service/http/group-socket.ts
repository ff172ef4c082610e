/** The Unix socket of the API for a Unix group (`api.group`): who can connect needs no token, and may do what the group may. */
import { chmodSync, existsSync, statSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { GroupSpec } from "../../config/spec.ts";
import { makeFolder, removeIfAllowed, statIfSeen } from "../../os/files.ts";
import { closedFolder, folderClosedTo, groupSocketOf, mayGiveTo, notMember } from "../../os/group-access.ts";
import { OTHERS_WRITE } from "../../os/path-walk.ts";
import { BESIDE_CONFIGURATION } from "../../os/state-folder.ts";
import { canBeAddress, MAX_BYTES } from "../../os/unix-socket.ts";
import { userInText } from "../../os/user-names.ts";
import type { ServiceLog } from "../service-log.ts";
import { EarlyConnections } from "./early-connections.ts";
import { listenAt } from "./socket-file.ts";

/** Open at a time; procman's own user has another socket. */
const CONNECTIONS = 256;
const OWNER_AND_GROUP = 0o660;
/** Others may enter `.procman`, and see nothing of what is in it. */
const OTHERS_ENTER = 0o011;

type GroupLog = Pick<ServiceLog, "info" | "warn" | "error">;

export class GroupSocket {
  readonly #stateDir: string;
  readonly #path: string;
  readonly #log: GroupLog;
  readonly #early: EarlyConnections;
  readonly #sockets = new Set<Socket>();
  /** For which it listens. */
  #group: GroupSpec | undefined;
  #server: Server | undefined;
  #work: Promise<void> = Promise.resolve();

  /** `onEarlyConnection`: a connection waits for `handOver`. */
  constructor(stateDir: string, log: GroupLog, onEarlyConnection: () => void) {
    this.#stateDir = stateDir;
    this.#path = groupSocketOf(stateDir);
    this.#log = log;
    this.#early = new EarlyConnections(onEarlyConnection);
  }

  /** Opens, changes or closes it, as the configuration says; also after its folder was removed. Never rejects: procman goes on without it. `isNew`: the log says it. */
  use(group: GroupSpec | undefined, isNew: boolean): Promise<void> {
    this.#work = this.#work.then(() => this.#use(group, isNew));
    return this.#work;
  }

  /** Hands waiting and later connections over. */
  handOver(serve: (socket: Socket, group: GroupSpec) => void): void {
    this.#early.forward((socket) => {
      if (this.#group !== undefined && !socket.destroyed) serve(socket, this.#group);
    });
  }

  /** Accepts no more connections; the next service has the file. */
  async close(): Promise<void> {
    await this.#work;
    this.#early.destroy();
    this.#server?.close();
    this.#server = undefined;
  }

  /** procman ends. */
  remove(): void {
    if (statIfSeen(this.#path)?.isSocket() === true) removeIfAllowed(this.#path);
  }

  async #use(group: GroupSpec | undefined, isNew: boolean): Promise<void> {
    if (group !== undefined && isDeepStrictEqual(group, this.#group) && existsSync(this.#path)) return;
    this.#end();
    if (group === undefined) return this.remove();
    try {
      await this.#open(group);
      this.#group = group;
      if (isNew) this.#log.info(`members of the group ${show(group)} ${mayDo(group)}, by ${this.#path}`);
      const closed = folderClosedTo(group.gid, this.#stateDir);
      if (closed !== undefined)
        this.#log.warn(`the group ${show(group)} is shut out: ${closedFolder(group.name, closed)}`);
    } catch (error) {
      this.remove();
      const why = mayGiveTo(group.gid) ? (error as Error).message : notMember(group.name);
      this.#log.error(`members of the group ${show(group)} can't reach procman: ${why}`);
    }
  }

  /** Ends connections, too: their rights were those of an earlier configuration. */
  #end(): void {
    this.#group = undefined;
    this.#server?.close();
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Made in the run folder, which only this user may enter. */
  async #open({ gid }: GroupSpec): Promise<void> {
    if (!canBeAddress(this.#path))
      throw new Error(
        `the path of their socket has more than ${MAX_BYTES} bytes: ${this.#path}; set PROCMAN_STATE_DIR to a folder with a shorter one`,
      );
    openToMembers(dirname(this.#path));
    const runDir = join(this.#stateDir, "run");
    makeFolder(runDir, 0o700);
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => this.#receive(socket));
    server.maxConnections = CONNECTIONS;
    const madeAt = join(runDir, `group.${process.pid}`);
    await listenAt(server, { path: this.#path, madeAt, mode: OWNER_AND_GROUP, gid });
    this.#server = server;
  }

  #receive(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    this.#early.receive(socket);
  }
}

/** Nobody but this user and root may replace the socket. @throws {Error} with the remedy */
function openToMembers(folder: string): void {
  const { mode, uid } = statSync(folder);
  if (uid !== 0 && uid !== process.geteuid?.())
    throw new Error(
      `${folder} belongs to ${userInText(uid)}, who could replace their socket; set PROCMAN_STATE_DIR to a folder of this user`,
    );
  if ((mode & OTHERS_WRITE) !== 0)
    throw new Error(
      `other users may write in ${folder}, and could replace their socket; "chmod go-w ${folder}", then "procman reload"`,
    );
  if (basename(folder) === BESIDE_CONFIGURATION && (mode & OTHERS_ENTER) !== OTHERS_ENTER)
    chmodSync(folder, (mode & 0o7777) | OTHERS_ENTER);
}

function show({ name }: GroupSpec): string {
  return JSON.stringify(name);
}

function mayDo({ scopes }: GroupSpec): string {
  const words = { read: "look", control: "control" } as const;
  return `may ${scopes.map((scope) => words[scope]).join(" and ")}`;
}
