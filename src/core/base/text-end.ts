/** The text without these characters at its end: in linear time, unlike `/x+$/`, which begins anew at each `x`. @example withoutEnd("a//", "/") // "a" */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
