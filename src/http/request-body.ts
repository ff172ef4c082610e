/** Reads the body of a request: JSON of a limited size. */
import type { IncomingMessage } from "node:http";
import { ProcmanError } from "../base/errors.ts";
import type { JsonSchema } from "../base/schema.ts";
import { faultsOf } from "../base/schema-check.ts";
import { invalid } from "../contract/query.ts";

const LIMIT_BYTES = 1_048_576;

/** @throws {ProcmanError} `media-type`, `body-too-large`, `input-invalid` */
export async function readBody(request: IncomingMessage, schema: JsonSchema): Promise<unknown> {
  const { "content-type": type = "", "content-encoding": encoding = "identity", "content-length": length } = request.headers;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type) || encoding !== "identity")
    throw new ProcmanError("media-type", 'Cannot read the body: it must be "Content-Type: application/json", in UTF-8 and not compressed');
  if (Number(length) > LIMIT_BYTES) throw tooLarge();
  const value = parse(await received(request));
  const faults = faultsOf(value, schema, "body");
  if (faults.length > 0) throw invalid(faults);
  return value;
}

export function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    const why = cause instanceof SyntaxError ? `is not JSON: ${cause.message}` : "is not UTF-8";
    throw new ProcmanError("input-invalid", `Cannot read the body: it ${why}`, { cause, faults: [{ place: "body", message: why }] });
  }
}

/** Discards data beyond the limit. */
function received(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= LIMIT_BYTES) return void chunks.push(chunk);
      chunks.length = 0;
      reject(tooLarge());
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}

function tooLarge(): ProcmanError {
  return new ProcmanError("body-too-large", `Cannot read the body: it has more than ${LIMIT_BYTES} bytes`);
}
