/** Makes a picture of a page smaller: with a palette, a PNG has less than half of the bytes. */
import { crc32, deflateSync } from "node:zlib";
import type { BrowserContext } from "playwright-core";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** In IHDR: 8 bits for a pixel, which are an index in the palette; nothing special otherwise. */
const KIND = [8, 3, 0, 0, 0];

type IndexedPicture = {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue. */
  readonly palette: readonly (readonly number[])[];
  /** In base64: an index for each pixel. */
  readonly pixels: string;
};

/** Runs in a page: the 256 colours that most pixels have; the others become the nearest of them. */
const TO_INDEXES = `async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const { width, height } = bitmap;
  const canvas = new OffscreenCanvas(width, height).getContext("2d");
  canvas.drawImage(bitmap, 0, 0);
  const colors = new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer);
  const counts = new Map();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const partsOf = (color) => [color & 255, (color >> 8) & 255, (color >> 16) & 255];
  const palette = [...counts].sort(([, one], [, other]) => other - one).slice(0, 256).map(([color]) => partsOf(color));
  const distance = (one, other) => one.reduce((sum, part, index) => sum + (part - other[index]) ** 2, 0);
  const nearest = new Map();
  for (const color of counts.keys()) {
    const parts = partsOf(color);
    const distances = palette.map((each) => distance(each, parts));
    nearest.set(color, distances.indexOf(Math.min(...distances)));
  }
  let text = "";
  for (const color of colors) text += String.fromCharCode(nearest.get(color));
  return { width, height, palette, pixels: btoa(text) };
}`;

export async function withPalette(context: BrowserContext, png: Buffer): Promise<Buffer> {
  const page = await context.newPage();
  const picture = (await page.evaluate(`(${TO_INDEXES})("${png.toString("base64")}")`)) as IndexedPicture;
  await page.close();
  return encoded(picture);
}

function encoded({ width, height, palette, pixels }: IndexedPicture): Buffer {
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  const indexes = Buffer.from(pixels, "base64");
  // Each row begins with its filter: 0 is none.
  const rows = Array.from({ length: height }, (_, row) => [
    Buffer.from([0]),
    indexes.subarray(row * width, (row + 1) * width),
  ]);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", Buffer.concat([size, Buffer.from(KIND)])),
    chunk("PLTE", Buffer.from(palette.flat())),
    chunk("IDAT", deflateSync(Buffer.concat(rows.flat()), { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
