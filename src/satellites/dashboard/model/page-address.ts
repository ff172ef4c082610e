/** Addresses of pages: the part behind `#`, which browsers don't send. */

export const PAGES = ["overview", "logs", "incidents", "plan", "service", "hosts", "process"] as const;

export type PageName = (typeof PAGES)[number];

export type PageAddress = {
  readonly page: PageName;
  /** Id of the process that the page `process` shows. */
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
  const query = new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  ).toString();
  const path = id === undefined ? page : `${page}/${encodeURIComponent(id)}`;
  return `#/${page === "overview" ? "" : path}${query === "" ? "" : `?${query}`}`;
}

/** `page`: the part behind "#" of the page to show. */
export type SignInLink = { readonly code: string; readonly page: string };

/** What a link from `procman dashboard` has. @example signInLinkIn("#code=abc&page=%23%2Flogs") */
export function signInLinkIn(hash: string): SignInLink | undefined {
  const [, code, page = ""] = /^#code=([\w-]+)(?:&page=([\w.%~-]+))?$/.exec(hash) ?? [];
  return code === undefined ? undefined : { code, page: decodedId(page) ?? "" };
}

function decodedId(text: string | undefined): string | undefined {
  try {
    return text ? decodeURIComponent(text) : undefined;
  } catch {
    // A "%" that begins no escape: such an address was typed.
    return undefined;
  }
}
