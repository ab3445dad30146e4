import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type StorageFault, withStorageFault } from "../../local/platform/storage-faults.ts";

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await Deno.makeTempDir({ prefix: "keyframe-storage-faults-" });
  file = join(folder, "fault.json");
});
beforeEach(() => Deno.remove(file).catch(() => undefined));
afterAll(() => Deno.remove(folder, { recursive: true }));

const OBJECT = "http://127.0.0.1/storage/v1/object/projects/a.png";
const upload = () => new Request(OBJECT, { method: "POST", body: "bytes" });

/** What a request is answered, and whether it got as far as Storage. */
async function send(request: Request): Promise<{ status: number; reached: boolean }> {
  let reached = false;
  const { status } = await withStorageFault(file, request, async () => {
    reached = true;
    return new Response("stored");
  });
  return { status, reached };
}

const switchOn = (fault: StorageFault) => Deno.writeTextFile(file, JSON.stringify(fault));

test("no fault switched on → Storage answers", async () => {
  expect(await send(upload())).toEqual({ status: 200, reached: true });
});

test("refuses → 503 to everything", async () => {
  await switchOn({ fault: "refuses" });
  expect(await send(upload())).toEqual({ status: 503, reached: false });
  expect(await send(new Request(OBJECT))).toEqual({ status: 503, reached: false });
});

test("full → uploads are taken in and answered 500; reading, signing and removing go on", async () => {
  await switchOn({ fault: "full" });
  const request = upload();
  expect(await send(request)).toEqual({ status: 500, reached: false });
  expect(request.bodyUsed).toBe(true);
  const sign = new Request(OBJECT.replace("/object/", "/object/sign/"), { method: "POST", body: "{}" });
  for (const other of [new Request(OBJECT), sign, new Request(OBJECT, { method: "DELETE" })]) {
    expect(await send(other)).toEqual({ status: 200, reached: true });
  }
});

test("slow → the answer comes so much later", async () => {
  await switchOn({ fault: "slow", ms: 60 });
  const began = performance.now();
  expect(await send(upload())).toEqual({ status: 200, reached: true });
  expect(performance.now() - began).toBeGreaterThan(50);
});

test("switched off again → Storage answers", async () => {
  await switchOn({ fault: "refuses" });
  await Deno.remove(file);
  expect(await send(upload())).toEqual({ status: 200, reached: true });
});

test("a fault that there is not → the request fails, and does not pass for one that met no fault", async () => {
  await Deno.writeTextFile(file, JSON.stringify({ fault: "fulll" }));
  await expect(send(upload())).rejects.toThrow("fault");
});
