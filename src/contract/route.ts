/** What a route is: one row of the table in `routes.ts`. */

import type { JsonSchema } from "../base/schema.ts";
import type { Control } from "./control.ts";
import type { Parameters } from "./query.ts";
import type { SCHEMAS } from "./record-schemas.ts";
import type { TokenScope } from "./token-claims.ts";

/** A request that was found to be valid. */
export type RouteInput = {
  readonly id: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** Of a stream: what its reader has got already. */
  readonly lastEventId?: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
};

/** An answer in JSON (`list`: an array of these), as text, or a stream of events. `more`: on demand by this parameter. */
export type Output =
  | { readonly kind: "json"; readonly schema?: keyof typeof SCHEMAS; readonly list?: boolean }
  | { readonly kind: "text"; readonly type: string }
  | { readonly kind: "stream"; readonly schema: keyof typeof SCHEMAS };

export type Route = {
  readonly method: "GET" | "POST";
  /** `{id}` stands for one segment. */
  readonly path: string;
  /** Absent: no token is needed. */
  readonly scope?: TokenScope;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: Parameters;
  readonly body?: { readonly name: keyof typeof SCHEMAS; readonly schema: JsonSchema };
  /** Status of success. */
  readonly status: number;
  readonly output: Output;
  /** Errors beside those that every route may answer with. */
  readonly errors: readonly number[];
  /** A page of a list, or a stream: `Page` and `AsyncIterable`. */
  readonly answer: (control: Control, input: RouteInput) => Promise<unknown> | AsyncIterable<unknown>;
  /** The same as a stream, by `follow=1`. */
  readonly follow?: {
    readonly output: Output & { readonly kind: "stream" };
    readonly answer: (control: Control, input: RouteInput) => AsyncIterable<unknown>;
  };
};

/** A list that goes on: the next page is in the `Link` header. */
export class Page {
  readonly items: readonly unknown[];
  readonly next: string | undefined;

  constructor(items: readonly unknown[], next: string | undefined) {
    this.items = items;
    this.next = next;
  }
}
