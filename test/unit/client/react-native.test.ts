import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../client/clock.ts";
import { hang, predictionWith, REF, useScriptedServer } from "../../support/client/server.ts";

// The client where React Native is poorer than a browser, with react-native-url-polyfill, which supabase-js needs there too.

const server = await useScriptedServer();
const taken: [object, string, PropertyDescriptor][] = [];
function take(from: object, name: string, instead?: unknown): void {
  const had = Object.getOwnPropertyDescriptor(from, name);
  if (had) taken.push([from, name, had]);
  if (instead === undefined) Reflect.deleteProperty(from, name);
  else Object.defineProperty(from, name, { value: instead, configurable: true, writable: true });
}

beforeAll(() => {
  take(URL, "canParse");
  take(globalThis, "crypto");
  take(AbortSignal.prototype, "throwIfAborted");
  take(AbortSignal.prototype, "reason"); // its AbortController is older than reasons
  const RealBlob = Blob;
  class BlobOfBlobs extends RealBlob {
    constructor(parts: BlobPart[] = [], options?: BlobPropertyBag) {
      if (parts.some((part) => typeof part !== "string" && !(part instanceof RealBlob)))
        throw new Error("Creating blobs from 'ArrayBuffer' and 'ArrayBufferView' are not supported");
      super(parts, options);
    }
  }
  take(globalThis, "Blob", BlobOfBlobs);
});
afterAll(() => {
  for (const [from, name, had] of taken) Object.defineProperty(from, name, had);
});

test("a POST in React Native → its Idempotency-Key is a UUID, different each time", async () => {
  server.play({ status: 201, data: {} }, { status: 201, data: {} });
  const client = server.client();
  for (let i = 0; i < 2; i++) await client.projects.create({ title: "a", textPrompt: "b" });
  const keys = server.seen.map(({ headers }) => headers["idempotency-key"] ?? "");
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(keys).size).toBe(2);
});

test("image bytes in React Native → sent as they are", async () => {
  const bytes = new Uint8Array([1, 2, 3]);
  for (const image of [bytes, bytes.buffer]) {
    server.play({ status: 201, data: { referenceImagePath: "projects/a.png" } });
    await server.client().uploadReferenceImage(image);
    expect([...(server.seen[0]?.body ?? [])]).toEqual([1, 2, 3]);
  }
});

test("an aborted call, or one that takes too long, in React Native → an AbortError, or the client's own error", async () => {
  server.play();
  const aborted = server.client().projects.read("p", { signal: AbortSignal.abort() });
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });

  server.play(hang);
  const leaving = new AbortController();
  const left = server.client({ clock: systemClock }).projects.read("p", { signal: leaving.signal });
  leaving.abort();
  await expect(left).rejects.toMatchObject({ name: "AbortError" });

  server.play(hang);
  const late = server.client({ retries: 0, requestTimeoutMs: 50, clock: systemClock }).projects.read("p");
  await expect(late).rejects.toMatchObject({ code: "network" });
});

test("waitFor in React Native → polls until the end", async () => {
  server.play({ data: predictionWith({ status: "processing" }) }, { data: predictionWith({ status: "succeeded" }) });
  expect(await server.client().waitFor(REF)).toMatchObject({ status: "succeeded" });
});
