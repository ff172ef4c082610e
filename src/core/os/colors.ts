/** Whether an output gets colors (https://no-color.org). */

export type OutputStream = { readonly isTTY?: boolean };

/** Whether it is a terminal that shows colors. */
export function wantsColors({ isTTY }: OutputStream): boolean {
  return isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";
}
