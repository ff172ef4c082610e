/** YAML, and JSON, as data. */
import { LineCounter, parseDocument as parseYaml } from "yaml";
import { SourceFault } from "./source-fault.ts";

/** More aliases than this are taken for an attack. */
const MAX_ALIASES = 1_000;

/** @throws {SourceFault} at the first syntax error */
export function readYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  const document = parseYaml(text, { lineCounter, merge: true, prettyErrors: false, logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) throw new SourceFault(placeOf(lineCounter, error.pos[0]), error.message);
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown;
  } catch (cause) {
    // An alias without an anchor, or too many of them: the parser gives no place.
    throw new SourceFault({ line: 1, column: 1 }, cause instanceof Error ? cause.message : String(cause));
  }
}

function placeOf(lines: LineCounter, offset: number): { readonly line: number; readonly column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}
