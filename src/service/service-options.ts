/** What a service may be told beside its configuration. */
import type { KeptSockets } from "../os/kept-sockets.ts";
import type { ReloadOptions } from "./reload.ts";

export type ServiceOptions = ReloadOptions & {
  /** Id of the process that everything ends with. */
  readonly exitWith?: string | undefined;
  /** Listening sockets that it has for the next keeper. */
  readonly sockets?: KeptSockets | undefined;
};
