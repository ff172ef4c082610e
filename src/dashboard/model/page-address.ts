/** Addresses of pages: the part behind `#`, which browsers don't send. */

export const PAGES = ["overview", "logs", "incidents", "plan", "service", "hosts", "process"] as const;

export type PageName = (typeof PAGES)[number];

export type PageAddress = {
  readonly page: PageName;
  /** Of `process`. */
  readonly id?: string;
  readonly parameters: URLSearchParams;
};

/** An unknown page is the overview. @example addressIn("#/process/web?hours=6") */
export function addressIn(hash: string): PageAddress {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [name = "", id] = path.split("/");
  const page = PAGES.find((each) => each === name) ?? "overview";
  const parameters = new URLSearchParams(query);
  if (page !== "process") return { page, parameters };
  const decoded = decodedId(id);
  return decoded === undefined ? { page: "overview", parameters } : { page, id: decoded, parameters };
}

/** The text behind `#`, with it. Values that are undefined or empty are left out. */
export function hashOf(page: PageName, values: Readonly<Record<string, string | undefined>> = {}, id?: string): string {
  const query = new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value ? [[name, value]] : []))).toString();
  const path = id === undefined ? page : `${page}/${encodeURIComponent(id)}`;
  return `#/${page === "overview" ? "" : path}${query === "" ? "" : `?${query}`}`;
}

export type SignInLink = {
  readonly code: string;
  /** Those that the page can show, by name, with their codes; undefined: one that didn't answer. Empty: this procman alone. */
  readonly hosts: ReadonlyMap<string, string | undefined>;
};

/** What a link from `procman dashboard` has. @example signInLinkIn("#code=abc&hosts=web1:abc,web2:def") */
export function signInLinkIn(hash: string): SignInLink | undefined {
  const [, code, list = ""] = /^#code=([\w-]+)(?:&hosts=([\w.%:,-]+))?$/.exec(hash) ?? [];
  if (code === undefined) return undefined;
  const entries = list === "" ? [] : list.split(",").map((entry) => entry.split(":"));
  return { code, hosts: new Map(entries.map(([name = "", own]) => [decodeURIComponent(name), own])) };
}

function decodedId(text: string | undefined): string | undefined {
  try {
    return text ? decodeURIComponent(text) : undefined;
  } catch {
    // A "%" that begins no escape: such an address was typed.
    return undefined;
  }
}
