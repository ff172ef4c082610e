/** Reads the body of a request: JSON of a limited size. */
import type { IncomingMessage } from "node:http";
import { ProcmanError } from "../base/errors.ts";
import type { JsonSchema } from "../base/schema.ts";
import { faultsOf } from "../base/schema-check.ts";
import { invalid } from "../contract/query.ts";

const LIMIT_BYTES = 1_048_576;

export type BodyOptions = {
  readonly schema: JsonSchema;
  readonly maxBytes?: number;
  /** Gets the length of the body. */
  readonly onRead: (bytes: number) => void;
};

/** @throws {ProcmanError} `media-type`, `body-too-large`, `input-invalid` */
export async function readBody(
  request: IncomingMessage,
  { schema, maxBytes = LIMIT_BYTES, onRead }: BodyOptions,
): Promise<unknown> {
  const {
    "content-type": type = "",
    "content-encoding": encoding = "identity",
    "content-length": length,
  } = request.headers;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type) || encoding !== "identity")
    throw new ProcmanError(
      "media-type",
      'Cannot read the body: it must be "Content-Type: application/json", in UTF-8 and not compressed',
    );
  if (Number(length) > maxBytes) throw tooLarge(maxBytes);
  const bytes = await received(request, maxBytes);
  onRead(bytes.length);
  const value = parse(bytes);
  const faults = faultsOf(value, schema, "body");
  if (faults.length > 0) throw invalid(faults);
  return value;
}

/** For a route without a body: an empty one or `{}` does no harm, nor one of a request that changes nothing. @throws {ProcmanError} `body-too-large`, `input-invalid` */
export async function refuseBody(request: IncomingMessage): Promise<undefined> {
  if (request.method !== "POST") return;
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  if (Number(length) > LIMIT_BYTES) throw tooLarge(LIMIT_BYTES);
  if (encoding === undefined && Number(length) === 0) return;
  const bytes = await received(request, LIMIT_BYTES);
  if (bytes.length === 0) return;
  const value = parse(bytes);
  if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0) return;
  throw new ProcmanError("input-invalid", "Cannot take this request: it takes no body", {
    faults: [{ place: "body", message: "is not expected here: leave it out" }],
  });
}

export function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    const why = cause instanceof SyntaxError ? `is not JSON: ${cause.message}` : "is not UTF-8";
    throw new ProcmanError("input-invalid", `Cannot read the body: it ${why}`, {
      cause,
      faults: [{ place: "body", message: why }],
    });
  }
}

/** Discards data beyond the limit. */
function received(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      chunks.length = 0;
      reject(tooLarge(maxBytes));
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}

function tooLarge(maxBytes: number): ProcmanError {
  return new ProcmanError("body-too-large", `Cannot read the body: it has more than ${maxBytes} bytes`);
}
