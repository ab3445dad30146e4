import { expect, onTestFinished, test } from "vitest";
import {
  createPictureSpaces,
  createReadPictures,
  outputsOf,
} from "../../../supabase/functions/keyframe-mcp/pictures.ts";

const MIB = 1024 * 1024;
const CLIENT_URL = "https://app.example";
const OWNER = "0d3b7a1e-5c2f-4e8a-9b6d-1f2e3d4c5b6a";
const FOLDER = `${OWNER}/1d3b7a1e-5c2f-4e8a-9b6d-1f2e3d4c5b6a`;

/** Storage that resizes pictures and announces no length, and how many bytes of each were read. `redirects`: to another address first. */
function serveStorage(bytes: number, redirects = false) {
  const sent: number[] = [];
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    asked.push(new URL(url).pathname);
    if (redirects && !url.endsWith("/elsewhere")) return Response.redirect(new URL("/elsewhere", url));
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
  return { sent, asked, readPictures: createReadPictures({ supabaseUrl: url, clientUrl: CLIENT_URL, fetch }) };
}

const files = (count: number, bytes = MIB) =>
  Array.from({ length: count }, (_, index) => ({
    name: `first-frame ${index}`,
    output: {
      ...{ url: `${CLIENT_URL}/storage/v1/object/sign/${index}`, expiresAt: "2026-03-01T00:00:00.000Z" },
      path: `${FOLDER}/${String(index).padStart(8, "0")}-5c2f-4e8a-9b6d-1f2e3d4c5b6a.png`,
      ...{ contentType: "image/png", bytes, sha256: "0".repeat(64) },
    },
  }));

const { signal } = new AbortController();
const caller = { ownerId: OWNER, token: "a session" };

test("an image larger than announced → left out, and no more of it is read", async () => {
  const { sent, readPictures } = serveStorage(64 * MIB);
  expect(await readPictures(files(1, 2 * MIB), { caller, space: createPictureSpaces()("a") }, signal)).toEqual([]);
  expect(sent[0]).toBeLessThan(8 * MIB);
});

test("an image that redirects → left out, and nothing is requested elsewhere", async () => {
  const { asked, readPictures } = serveStorage(MIB / 2, true);
  expect(await readPictures(files(1), { caller, space: createPictureSpaces()("a") }, signal)).toEqual([]);
  expect(asked).toHaveLength(2); // small, then whole
  expect(asked).not.toContain("/elsewhere");
});

test("a hundred answers with images at once → few have them, also for other owners, and all again when those are sent", async () => {
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

test("an answer ends while its image is being read → the space for other answers does not grow, and it gets none itself", async () => {
  const reading = Promise.withResolvers<void>();
  const stalled: typeof fetch = (_url, init) =>
    new Promise((_, fail) => {
      init?.signal?.addEventListener("abort", () => fail(init.signal?.reason));
      reading.resolve();
    });
  const readPictures = createReadPictures({ supabaseUrl: CLIENT_URL, clientUrl: CLIENT_URL, fetch: stalled });
  const open = createPictureSpaces();
  const space = open("a");
  const left = new AbortController();
  const shown = readPictures(files(4, 2 * MIB), { caller, space }, left.signal);
  await reading.promise;
  space.end();
  left.abort();
  expect(await shown).toEqual([]);
  const reserved = (owner: string) => Array.from({ length: 20 }, () => open(owner).reserve(MIB)).filter(Boolean).length;
  expect([space.reserve(MIB), reserved("a"), reserved("b"), reserved("c")]).toEqual([false, 8, 8, 0]);
});

test.each([
  ["leads out of the owner's folder", { path: `${OWNER}/../${FOLDER.replaceAll("0d3b", "9d3b")}/x.png` }],
  ["leads out of the bucket", { path: `${OWNER}/../../../../object/authenticated/private/a.png?` }],
  ["is another owner's", { path: files(1)[0]?.output.path.replace("0d3b", "9d3b") ?? "" }],
  ["is of another host", { url: "https://elsewhere.example/storage/v1/a.png" }],
  ["is not a file of Storage", { url: `${CLIENT_URL}/functions/v1/app` }],
])("an output that %s → not requested", async (_what, wrong) => {
  const { asked, readPictures } = serveStorage(MIB / 2);
  const [file] = files(1);
  if (file === undefined) throw new Error("no file");
  const planted = [{ ...file, output: { ...file.output, ...wrong } }];
  expect(await readPictures(planted, { caller, space: createPictureSpaces()("a") }, signal)).toEqual([]);
  expect(asked).toEqual([]);
});

test("an object like an output within a plan or an input → not treated as one of the answer's outputs", () => {
  const [{ output } = { output: null }] = files(1);
  const take = { step: "first-frame", predictionId: "1", output, input: { resolution: { output } } };
  const answer = { plan: { video: { resolution: { output } } }, takes: [take] };
  expect(outputsOf({ plan: answer.plan, takes: [{ input: take.input }] })).toEqual([]);
  expect(outputsOf(answer)).toHaveLength(1);
});
