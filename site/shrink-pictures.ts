import { globSync } from "node:fs";
import { join } from "node:path";
import { createCanvas, loadImage } from "@napi-rs/canvas";

const QUALITY = 82;

/** Makes the PNGs below a folder WebP, a seventh of the size, and says so in the recording, as if the models had made them so. */
export async function shrinkPictures(json: string, folder: string): Promise<string> {
  for (const name of globSync("**/*.png", { cwd: folder })) {
    const before = await Deno.readFile(join(folder, name));
    const picture = await loadImage(before);
    const canvas = createCanvas(picture.width, picture.height);
    canvas.getContext("2d").drawImage(picture, 0, 0);
    const after = new Uint8Array(await canvas.encode("webp", QUALITY));
    await Deno.writeFile(join(folder, name.replace(/png$/, "webp")), after);
    await Deno.remove(join(folder, name));
    json = json.replaceAll(await factsOf(before), await factsOf(after));
  }
  return json.replaceAll(".png", ".webp").replaceAll("image/png", "image/webp");
}

/** As an output has them. */
async function factsOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  return `"bytes":${bytes.length},"sha256":"${sha256}"`;
}
