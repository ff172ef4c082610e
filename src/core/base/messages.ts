/** What came over a channel may be of another version of procman: members that can't be messages are left out. */

/** @param batch what the other end sent: an array of objects with a type `t` */
export function messagesIn<Message extends { readonly t: string }>(batch: unknown): readonly Message[] {
  return Array.isArray(batch) ? batch.filter(isMessage<Message>) : [];
}

function isMessage<Message>(value: unknown): value is Message {
  return typeof value === "object" && value !== null && "t" in value && typeof value.t === "string";
}
