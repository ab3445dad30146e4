import { expect, onTestFinished, test } from "vitest";
import { createPictureSpaces } from "../../../supabase/functions/keyframe-mcp/picture-space.ts";
import { createReadPictures } from "../../../supabase/functions/keyframe-mcp/pictures.ts";

const MIB = 1024 * 1024;

/** Storage that resizes pictures and announces no length, and how many bytes of each were read. */
function serveStorage(bytes: number) {
  const sent: number[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    const index = sent.push(0) - 1;
    const body = new ReadableStream({
      pull(controller) {
        const chunk = Math.min(64 * 1024, bytes - (sent[index] ?? 0));
        if (chunk === 0) return controller.close();
        controller.enqueue(new Uint8Array(chunk));
        sent[index] = (sent[index] ?? 0) + chunk;
      },
    });
    return new Response(body, { headers: { "content-type": "image/webp" } });
  });
  onTestFinished(() => server.shutdown());
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { sent, readPictures: createReadPictures({ supabaseUrl: url, clientUrl: url, fetch }) };
}

/** The files of an answer. */
const files = (count: number, bytes = MIB) =>
  Array.from({ length: count }, (_, index) => ({
    name: `first-frame ${index}`,
    output: {
      ...{ url: "http://127.0.0.1:9/", expiresAt: "2026-03-01T00:00:00.000Z", path: `a/${index}.png` },
      ...{ contentType: "image/png", bytes, sha256: "0".repeat(64) },
    },
  }));

const { signal } = new AbortController();
const caller = { ownerId: "a", token: "a session" };

test("a picture that is larger than its announcement → left out, and no more of it is read", async () => {
  const { sent, readPictures } = serveStorage(64 * MIB);
  expect(await readPictures(files(1, 2 * MIB), { caller, space: createPictureSpaces()("a") }, signal)).toEqual([]);
  expect(sent[0]).toBeLessThan(8 * MIB);
});

test("a hundred answers with pictures at once → few have them, another owner's too, and again when those are sent", async () => {
  const { readPictures } = serveStorage(MIB / 2);
  const open = createPictureSpaces();
  const answer = async (owner: string) => {
    const space = open(owner);
    return { space, shown: await readPictures(files(4), { caller, space }, signal) };
  };
  const first = await Promise.all(Array.from({ length: 100 }, () => answer("a")));
  const shown = first.flatMap((one) => one.shown).reduce((sum, { data }) => sum + data.length, 0);
  expect(shown).toBeGreaterThan(0);
  expect(shown).toBeLessThanOrEqual(8 * MIB);
  expect((await answer("b")).shown).toHaveLength(4);
  for (const { space } of first) space.end();
  expect((await answer("a")).shown).toHaveLength(4);
});
