/** Reads a text without errors by `JSON.parse`: ten times as fast as the parser that keeps places. */

// Both expressions take linear time: a string may be unclosed, and what is before a comma is looked at only where there
// is one.
/** A string, which is kept; a comment, which may be unclosed. */
const STRING_OR_COMMENT = /("(?:[^"\\]|\\[\s\S]?)*(?:"|$))|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|($))/g;
/** A string, which is kept; a comma between the end of a value and a closing bracket. */
const STRING_OR_TRAILING_COMMA = /("(?:[^"\\]|\\[\s\S]?)*(?:"|$))|,(?<=[\]}"\w]\s*,)(?=\s*[\]}])/g;
/** A string, and whether it is a key; a number. Outside of strings JSON has no quotes. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\[\s\S]?)*(?:"(\s*:)?|$)|(-?\d[-+.\deE]*)/g;

/** The data of JSON with comments and trailing commas; undefined if it has any error, duplicate keys included, or a number as 1.10. */
export function fastParse(source: string): { readonly data: unknown } | undefined {
  return parseJson(source) ?? parseJson(withoutComments(source).replace(STRING_OR_TRAILING_COMMA, "$1"));
}

function withoutComments(source: string): string {
  return source.replace(STRING_OR_COMMENT, (found, text = "", unclosed) =>
    unclosed === undefined ? `${text} ` : found,
  );
}

function parseJson(json: string): { readonly data: unknown } | undefined {
  try {
    const data: unknown = JSON.parse(json);
    // Fewer keys in the data than in the text: some are duplicates.
    return keysIn(data) === keysOf(json) ? { data } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** undefined: a number would lose its text. */
function keysOf(json: string): number | undefined {
  let count = 0;
  for (const [, colon, number] of json.matchAll(STRING_OR_NUMBER)) {
    if (number !== undefined && !isShortest(number)) return undefined;
    if (colon !== undefined) count += 1;
  }
  return count;
}

/** Whether JavaScript writes the number in the same way: not 1.10, 1e3 or 12345678901234567890. */
export function isShortest(number: string): boolean {
  return String(Number(number)) === number;
}

function keysIn(data: unknown): number {
  if (typeof data !== "object" || data === null) return 0;
  const values = Object.values(data);
  return values.reduce((sum: number, value) => sum + keysIn(value), Array.isArray(data) ? 0 : values.length);
}
