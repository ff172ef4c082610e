/** The id of a process. Where there is no room for all of it, its middle is left out: beginnings and ends tell ids apart. */
import type { JSX } from "preact";
import { hashOf } from "../model/page-address.ts";

/** Characters at the end that are always shown. */
const TAIL = 9;
/** Shorter ids are in one piece. */
const SHORT = 16;

export function ProcessName({ id }: { readonly id: string }): JSX.Element {
  if (id.length <= SHORT) return <span class="name">{id}</span>;
  return (
    <span class="name split" title={id}>
      <span class="head">{id.slice(0, -TAIL)}</span>
      <span class="tail">{id.slice(-TAIL)}</span>
    </span>
  );
}

/** Leads to the page of the process. */
export function ProcessLink({ id }: { readonly id: string }): JSX.Element {
  return (
    <a href={hashOf("process", {}, id)} class="id" title={id} aria-label={id}>
      <ProcessName id={id} />
    </a>
  );
}
