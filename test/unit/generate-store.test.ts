import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { DatabaseError } from "../../shared/platform/call-database.ts";
import type { Database } from "../../supabase/functions/keyframe-generate/database.ts";
import { store } from "../../supabase/functions/keyframe-generate/tasks/store.ts";
import type { StoreTask } from "../../supabase/functions/keyframe-generate/tasks/task.ts";
import * as kit from "./generate-fixture.ts";
import { runModel, runVideo } from "./generate-simulated-run.ts";

const NAME = `${kit.OWNER}/${kit.PROJECT}/${kit.PREDICTION}`;
let simulator: RunningSimulator;
let storage: kit.StorageServer;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(async () => {
  storage = await kit.startStorage();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await storage.stop();
});
afterAll(() => simulator.stop());

type Options = { task?: Partial<StoreTask>; database?: Partial<Database>; maxBytes?: number; idleMs?: number };

async function run(url: string, { task = {}, ...options }: Options = {}, signal = kit.never()) {
  const outputHosts = `replicate.delivery,${new URL(url).origin}`;
  const made = kit.makeDeps({ storageUrl: storage.url, outputHosts, ...options });
  await store(kit.storeTask(url, task), made.deps, signal);
  return made;
}

/** A file server for one test that answers every request alike. */
function answering(handler: (request: Request) => Response | Promise<Response>): string {
  const server = kit.serve(handler);
  ends.push(server.stop);
  return `${server.url}/out.png`;
}

function raw(bytes: string | Uint8Array): string {
  const server = kit.serveRaw(bytes);
  ends.push(server.stop);
  return `${server.url}/out.png`;
}

const later = (code: string) => ["retryLater", expect.objectContaining({ code })];
/** Only of an output that is too large a further run is not worth its price. */
const failed = (code: string) => ["fail", expect.objectContaining({ code }), code !== "output_too_large"];
const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("a frame → in Storage byte by byte, completed with its hash and size", async () => {
  const url = await runModel(simulator, "google/nano-banana", {
    prompt: "A pier",
    output_format: "png",
    aspect_ratio: "16:9",
  });
  const original = await (await fetch(url)).bytes();
  const { calls } = await run(url);
  const stored = storage.files.get(`/keyframe-outputs/${NAME}.png`);
  expect(stored?.contentType).toBe("image/png");
  expect(hashOf(stored?.bytes ?? new Uint8Array())).toBe(hashOf(original));
  expect(calls).toEqual([
    [
      "complete",
      {
        output_path: `${NAME}.png`,
        content_type: "image/png",
        bytes: original.byteLength,
        sha256: hashOf(original),
        width: 640,
        height: 360,
        duration_seconds: null,
      },
    ],
  ]);
});

test("a video → stored as MP4 with its duration", async () => {
  const { calls } = await run(await runVideo(simulator), { task: { step: "video" } });
  expect(storage.files.get(`/keyframe-outputs/${NAME}.mp4`)?.contentType).toBe("video/mp4");
  expect(calls).toEqual([
    ["complete", expect.objectContaining({ content_type: "video/mp4", width: 640, height: 360 })],
  ]);
  const [[, output] = []] = calls;
  expect((output as { duration_seconds: number }).duration_seconds).toBeGreaterThan(0.5);
});

test("a PNG that its server calls a text → stored as what it is", async () => {
  await run(answering(() => new Response(kit.PNG, { headers: { "content-type": "text/plain" } })));
  expect(storage.files.get(`/keyframe-outputs/${NAME}.png`)?.contentType).toBe("image/png");
});

test.each<[string, Partial<StoreTask>]>([
  ["[[fault:output_not_image]]", {}],
  ["", { step: "video" }],
])(
  "an image output that is not one, or an image for a video %s → failed, nothing reaches Storage",
  async (directive, task) => {
    const url = await runModel(simulator, "google/nano-banana", {
      prompt: `A pier ${directive}`,
      output_format: "png",
    });
    const { calls } = await run(url, { task });
    expect(calls).toEqual([failed("output_not_usable")]);
    expect(storage.files.size).toBe(0);
  },
);

test.each(["", "=chunked"])("an output of 300 MB%s → failed, nothing stays in Storage", async (how) => {
  const url = await runModel(simulator, "google/nano-banana", {
    prompt: `Much [[fault:output_huge${how}]]`,
    output_format: "png",
  });
  const { calls } = await run(url, { maxBytes: 3_000_000 });
  expect(calls[0]).toEqual(failed("output_too_large"));
  expect(storage.files.size).toBe(0);
});

test("a video whose time scale is zero → failed, for no duration can be recorded; not copied again and again", async () => {
  const url = await runVideo(simulator);
  const video = await (await fetch(url)).bytes();
  const header = new TextDecoder("latin1").decode(video).indexOf("mvhd") + "mvhd".length;
  video.fill(0, header + 12, header + 16);
  const { calls } = await run(
    answering(() => new Response(video)),
    { task: { step: "video" } },
  );
  expect(calls).toEqual([failed("output_not_usable"), ["discardOutput"]]);
});

test("a body that is larger than its Content-Length → counted as it arrives", async () => {
  const url = answering(() => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(kit.PNG) }, { highWaterMark: 0 });
    return new Response(body);
  });
  expect((await run(url, { maxBytes: 100_000 })).calls[0]).toEqual(failed("output_too_large"));
  expect(storage.files.size).toBe(0);
});

test("a file with a right beginning and a wrong end → failed, the upload never completes, a leftover is given up", async () => {
  const { calls } = await run(answering(() => new Response(kit.PNG.subarray(0, -16))));
  expect(calls).toEqual([failed("output_not_usable"), ["discardOutput"]]);
  expect(storage.files.size).toBe(0);
});

test("a body that breaks off → tried again, nothing in Storage", async () => {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${kit.PNG.byteLength + 100}\r\n\r\n`;
  const { calls } = await run(raw(new Uint8Array([...new TextEncoder().encode(head), ...kit.PNG])));
  expect(calls).toEqual([later("output_unreachable")]);
  expect(storage.files.size).toBe(0);
});

test("an address that redirects to this machine → not followed, failed", async () => {
  let reached = false;
  const inside = answering(() => {
    reached = true;
    return new Response(kit.PNG);
  });
  const { calls } = await run(answering(() => Response.redirect(inside)));
  expect(calls).toEqual([failed("output_not_usable")]);
  expect(reached).toBe(false);
});

test.each([
  "https://evil.test/out.png",
  "https://replicate.delivery.evil.test/out.png",
  "http://replicate.delivery/out.png",
  "https://replicate.delivery:8443/out.png",
  "https://user@replicate.delivery/out.png",
  "http://127.0.0.1:1/out.png",
  "http://169.254.169.254/latest/meta-data",
  "file:///etc/passwd",
  "data:image/png;base64,AAAA",
  "not an address",
])("an output at %s → never asked for, failed", async (url) => {
  const { deps, calls } = kit.makeDeps({ storageUrl: storage.url });
  let asked = 0;
  const outputs = { ...deps.outputs, fetch: () => Promise.reject(new Error(`asked ${++asked}`)) };
  await store(kit.storeTask(url), { ...deps, outputs }, kit.never());
  expect(calls).toEqual([failed("output_not_usable")]);
  expect(asked).toBe(0);
});

test.each([403, 404, 410])(
  "an output answered %i for the first time → tried again; the second time → failed as expired",
  async (status) => {
    const url = answering(() => new Response(null, { status }));
    expect((await run(url)).calls).toEqual([later("output_expired")]);
    expect((await run(url, { task: { failures: 1 } })).calls).toEqual([failed("output_expired")]);
  },
);

test.each([206, 429, 500, 503])("an output answered %i → tried again", async (status) => {
  expect((await run(answering(() => new Response("no", { status })))).calls).toEqual([later("output_unreachable")]);
});

test("an output whose server is away → tried again", async () => {
  expect((await run("http://127.0.0.1:1/out.png")).calls).toEqual([later("output_unreachable")]);
});

test.each([
  ["before its answer", () => new Promise<Response>(() => {})],
  [
    "within its body",
    () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(kit.PNG.subarray(0, 40)) })),
  ],
])("an output that stalls %s → given up when nothing comes, tried again", async (_when, answer) => {
  const { calls } = await run(answering(answer), { idleMs: 100 });
  expect(calls).toEqual([later("output_unreachable")]);
  expect(storage.files.size).toBe(0);
});

test("an output that comes slowly but steadily → stored, however long the whole takes", async () => {
  const chunks = Array.from({ length: 8 }, (_, index) =>
    kit.PNG.subarray(index * 9, index === 7 ? undefined : index * 9 + 9),
  );
  const url = answering(() => {
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        const chunk = chunks.shift();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
    });
    return new Response(body);
  });
  const { calls } = await run(url, { idleMs: 1000 });
  expect(calls).toEqual([["complete", expect.objectContaining({ bytes: kit.PNG.byteLength, width: 1, height: 1 })]]);
});

test("a task whose time is over → tried again", async () => {
  expect(
    (
      await run(
        answering(() => new Response(kit.PNG)),
        {},
        AbortSignal.abort(),
      )
    ).calls,
  ).toEqual([later("output_unreachable")]);
});

test.each([500, 503, 403])("Storage answers %i → tried again", async (status) => {
  storage.refuse = status;
  expect((await run(answering(() => new Response(kit.PNG)))).calls).toEqual([later("storage_unavailable")]);
});

test("Storage finds it too large → failed, for it would again", async () => {
  storage.refuse = 413;
  const { calls } = await run(answering(() => new Response(kit.PNG)));
  expect(calls[0]).toEqual(failed("output_too_large"));
});

test("Storage is away → tried again", async () => {
  const url = answering(() => new Response(kit.PNG));
  const { deps, calls } = kit.makeDeps({ storageUrl: "http://127.0.0.1:1", outputHosts: new URL(url).origin });
  await store(kit.storeTask(url), deps, kit.never());
  expect(calls).toEqual([later("storage_unavailable")]);
});

test("stored too late → the task discards its output, so that the file is removed", async () => {
  const { calls } = await run(
    answering(() => new Response(kit.PNG)),
    { database: { complete: async () => false } },
  );
  expect(calls).toEqual([["complete", expect.anything()], ["discardOutput"]]);
});

test.each([
  ["too_late", true],
  ["failed", true],
  ["later", false],
] as const)("the upload fails, and then it is %s → given up: %s", async (verdict, given) => {
  storage.refuse = 503;
  const { calls } = await run(
    answering(() => new Response(kit.PNG)),
    { database: { retryLater: async () => verdict } },
  );
  expect(calls).toEqual([later("storage_unavailable"), ...(given ? [["discardOutput"]] : [])]);
});

test("nothing was written → nothing is given up", async () => {
  const { calls } = await run(answering(() => new Response("no image")));
  expect(calls).toEqual([failed("output_not_usable")]);
});

test("it is unknown whether the row was completed → nothing is discarded, because an event may name the file", async () => {
  const complete = () => Promise.reject(new DatabaseError("complete_prediction", 503, ""));
  const made = kit.makeDeps({ storageUrl: storage.url, outputHosts: "http://127.0.0.1", database: { complete } });
  const url = answering(() => new Response(kit.PNG));
  made.deps.outputs = { ...made.deps.outputs, isAllowed: () => true };
  await expect(store(kit.storeTask(url), made.deps, kit.never())).rejects.toThrow(DatabaseError);
  expect(made.calls.map(([name]) => name)).toEqual(["complete"]);
  expect(storage.files.size).toBe(1);
});

test("the log of a failure → names the prediction and the code, never the address of the output", async () => {
  const url = `${answering(() => new Response("no", { status: 500 }))}?token=secret`;
  const { lines } = await run(url);
  expect(lines.join()).toContain(kit.PREDICTION);
  expect(lines.join()).toContain("output_unreachable");
  expect(lines.join()).not.toMatch(/token|secret|http/);
});
