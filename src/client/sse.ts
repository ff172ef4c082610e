/** Server-sent events from a stream of text. */

export type ServerEvent = { readonly id?: string; readonly event?: string; readonly data: string };

/** Comments (heartbeats) and fields that nobody asks for are left out. */
export async function* serverEvents(text: AsyncIterable<string>): AsyncIterable<ServerEvent> {
  let rest = "";
  for await (const part of text) {
    const blocks = (rest + part).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parse(block);
      if (event !== undefined) yield event;
    }
  }
}

function parse(block: string): ServerEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split(/\r?\n/)) {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name !== "") fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
  }
  const [id, event, data] = ["id", "event", "data"].map((name) => fields.get(name));
  return data === undefined ? undefined : { data, ...(id === undefined ? {} : { id }), ...(event === undefined ? {} : { event }) };
}
