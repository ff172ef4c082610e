/** Type of a route, one row of the table in `routes.ts`. */
import type { JsonSchema } from "../base/schema.ts";
import type { BucketRate } from "../base/token-bucket.ts";
import type { Control } from "./control.ts";
import type { DashboardAccess } from "./dashboard-access.ts";
import type { Executor } from "./execution.ts";
import type { Parameters } from "./query.ts";
import type { SCHEMAS } from "./record-schemas.ts";
import type { TokenScope } from "./token-claims.ts";

/** A validated request. */
export type RouteInput = {
  readonly id: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** The last event that the reader of a stream has received. */
  readonly lastEventId?: string;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Loads it. */
  readonly dashboard: () => Promise<DashboardAccess>;
  /** That of the caller. */
  readonly executor: () => Executor;
};

/** An answer in JSON (`list`: an array of these), as text, a stream of events, or a `DashboardFile`. */
export type Output =
  | { readonly kind: "json"; readonly schema?: keyof typeof SCHEMAS; readonly list?: boolean }
  | { readonly kind: "text"; readonly type: string }
  | { readonly kind: "stream"; readonly schema: keyof typeof SCHEMAS }
  | { readonly kind: "file"; readonly type: string };

export type Route = {
  readonly method: "GET" | "POST";
  /** `{id}` stands for one segment: a process, unless `idMeaning` says otherwise. */
  readonly path: string;
  readonly idMeaning?: string;
  /** Absent: no token is needed. */
  readonly scope?: TokenScope;
  /** A narrower scope that is enough, too. */
  readonly orScope?: TokenScope;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: Parameters;
  /** `maxBytes`: default 1 MiB. */
  readonly body?: { readonly name: keyof typeof SCHEMAS; readonly schema: JsonSchema; readonly maxBytes?: number };
  /** Limit for each consumer, of requests and of the bytes of their bodies. */
  readonly rate?: { readonly requests: BucketRate; readonly bytes: BucketRate };
  /** Its answer takes a while, and what it does ends when the client goes away. */
  readonly lasts?: true;
  /** Status of success. */
  readonly status: number;
  readonly output: Output;
  /** Error statuses beyond those of every route. */
  readonly errors: readonly number[];
  /** Resolves with the answer (a `Page` for a page of a list); for a stream, an `AsyncIterable`. */
  readonly answer: (control: Control, input: RouteInput) => Promise<unknown> | AsyncIterable<unknown>;
  /** The same as a stream, with `follow=1`. */
  readonly follow?: {
    readonly output: Output & { readonly kind: "stream" };
    readonly answer: (control: Control, input: RouteInput) => AsyncIterable<unknown>;
  };
};

/** A page of a longer list; the `Link` header names the next page. */
export class Page {
  readonly items: readonly unknown[];
  readonly next: string | undefined;

  constructor(items: readonly unknown[], next: string | undefined) {
    this.items = items;
    this.next = next;
  }
}
