import { createCanvas } from "@napi-rs/canvas";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { failedBody, rate, startApi } from "./api-fixture.ts";

const FILE = "c2b7a0de-6f3a-4c55-9d4c-0f6f7d1a2b3c";
const HINT = { policy: "upload", limit: 30, window_seconds: 60, wait_seconds: 2 };
let replayed = false;
/** What PostgREST says of an error that is raised. */
let refusal: Record<string, string> | null = null;
let stored: { status: number; body: unknown };
const api = await startApi(({ path }) =>
  path.startsWith("/storage/")
    ? Response.json(stored.body, { status: stored.status })
    : refusal !== null
      ? Response.json(refusal, { status: 400 })
      : Response.json({ file_id: FILE, replayed, rate: { ...rate, policy: "upload" } }),
);
afterAll(api.stop);
beforeEach(() => {
  replayed = false;
  refusal = null;
  stored = { status: 200, body: { Id: "1", Key: "projects/x" } };
});

const canvas = createCanvas(32, 32);
canvas.getContext("2d").fillRect(0, 0, 16, 16);
const images = {
  "image/png": canvas.toBuffer("image/png"),
  "image/jpeg": canvas.toBuffer("image/jpeg"),
  "image/webp": canvas.toBuffer("image/webp"),
};
const bytesOf = (kind: keyof typeof images) => Uint8Array.from(images[kind]);
const png = bytesOf("image/png");
const LIMIT = 10 * 1024 * 1024;
const padded = (length: number) => {
  const bytes = new Uint8Array(length);
  bytes.set(png);
  return bytes;
};

const upload = (body: BodyInit | null, contentType: string | null, headers: Record<string, string> = {}) =>
  api.call("/api/projects/reference-images", {
    method: "POST",
    body,
    headers: { ...(contentType === null ? {} : { "content-type": contentType }), ...headers },
  });
const uploadForm = (fields: [string, string | File][]) => {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return api.call("/api/projects/reference-images", { method: "POST", body: form });
};
async function expectError(response: Response, status: number, code: string) {
  const body = await failedBody(response);
  expect([response.status, body.error.code]).toEqual([status, code]);
  return body.error;
}

test.each([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/webp", "webp"],
] as const)(
  "%s → stored in the bucket projects with the caller's token, 201 with its path",
  async (contentType, extension) => {
    const before = api.seen.length;
    const response = await upload(bytesOf(contentType), contentType);
    expect([response.status, await response.json()]).toEqual([
      201,
      { success: true, data: { referenceImagePath: `projects/${FILE}.${extension}` }, error: null },
    ]);
    expect(response.headers.get("ratelimit")).toBe('"upload";r=59;t=1');
    const [admit, store, ...more] = api.seen.slice(before);
    expect([admit?.path, more]).toEqual(["/rest/v1/rpc/admit_upload", []]);
    expect([store?.method, store?.path]).toEqual(["POST", `/storage/v1/object/projects/${FILE}.${extension}`]);
    const header = (name: string) => store?.headers.get(name);
    expect([header("authorization"), header("content-type"), header("x-upsert"), header("cache-control")]).toEqual([
      `Bearer ${api.token}`,
      contentType,
      "false",
      "max-age=3600",
    ]);
    expect(store?.body).toEqual(bytesOf(contentType));
  },
);

test("application/octet-stream → the kind the bytes have", async () => {
  expect((await (await upload(png, "application/octet-stream")).json()).data.referenceImagePath).toMatch(/\.png$/);
});

test("a form with the one file → 201, whatever the field is called", async () => {
  for (const type of ["image/png", ""]) {
    const response = await uploadForm([["photo", new File([png], "../../etc/passwd.exe", { type })]]);
    expect((await response.json()).data).toEqual({ referenceImagePath: `projects/${FILE}.png` });
    expect(api.seen.at(-1)?.body).toEqual(png);
  }
});

type Refused = [string, () => Promise<Response>, number, string];

async function reached(send: () => Promise<Response>, status: number, code: string) {
  const before = api.seen.length;
  await expectError(await send(), status, code);
  return api.seen.slice(before).map(({ path }) => path);
}

describe("refused for its headers → nothing reaches the platform", () => {
  test.each<Refused>([
    ["an SVG", () => upload("<svg/>", "image/svg+xml"), 415, "unsupported_media_type"],
    ["JSON", () => upload("{}", "application/json"), 415, "unsupported_media_type"],
    ["no Content-Type", () => upload(png, null), 415, "unsupported_media_type"],
    [
      "a Content-Length above 10 MiB",
      () => upload(png, "image/png", { "content-length": String(LIMIT + 1) }),
      413,
      "payload_too_large",
    ],
    [
      "an Idempotency-Key that is none",
      () => upload(png, "image/png", { "idempotency-key": "two words" }),
      400,
      "invalid_request",
    ],
  ])("%s", async (_name, send, status, code) => {
    expect(await reached(send, status, code)).toEqual([]);
  });
});

describe("refused for its bytes → admitted before they are read, and nothing is stored", () => {
  test.each<Refused>([
    ["a JPEG that is called a PNG", () => upload(bytesOf("image/jpeg"), "image/png"), 415, "unsupported_media_type"],
    [
      "a form's file of another type than it says",
      () => uploadForm([["f", new File([png], "a", { type: "image/webp" })]]),
      415,
      "unsupported_media_type",
    ],
    ["text", () => upload("hello", "image/png"), 415, "unsupported_media_type"],
    ["an empty body", () => upload("", "image/png"), 400, "invalid_request"],
    [
      "an empty file in a form",
      () => uploadForm([["f", new File([], "a.png", { type: "image/png" })]]),
      400,
      "invalid_request",
    ],
    ["a form without a file", () => uploadForm([["f", "text"]]), 400, "invalid_request"],
    ["an empty form", () => uploadForm([]), 400, "invalid_request"],
    [
      "two files",
      () =>
        uploadForm([
          ["a", new File([png], "a.png")],
          ["b", new File([png], "b.png")],
        ]),
      400,
      "invalid_request",
    ],
    [
      "a file and a text field",
      () =>
        uploadForm([
          ["a", new File([png], "a.png")],
          ["b", "text"],
        ]),
      400,
      "invalid_request",
    ],
    [
      "a form that breaks off",
      () => upload("--x\r\nContent-Disp", "multipart/form-data; boundary=x"),
      400,
      "invalid_request",
    ],
    ["a form without a boundary", () => upload("--x\r\n", "multipart/form-data"), 400, "invalid_request"],
    ["10 MiB and one byte", () => upload(padded(LIMIT + 1), "image/png"), 413, "payload_too_large"],
    [
      "10 MiB and one byte in a form",
      () => uploadForm([["f", new File([padded(LIMIT + 1)], "a.png", { type: "image/png" })]]),
      413,
      "payload_too_large",
    ],
  ])("%s", async (_name, send, status, code) => {
    expect(await reached(send, status, code)).toEqual(["/rest/v1/rpc/admit_upload"]);
  });
});

test("exactly 10 MiB → 201", async () => {
  expect((await upload(padded(LIMIT), "image/png")).status).toBe(201);
});

test("more bytes than Content-Length says → 413, whatever frames them", async () => {
  const send = () => upload(padded(1000), "image/png", { "content-length": "999" });
  expect(await reached(send, 413, "payload_too_large")).toEqual(["/rest/v1/rpc/admit_upload"]);
});

test("no token left → 429, and not a byte of the body is read", async () => {
  refusal = { code: "KEYFR", message: "rate_limited", details: "Too many.", hint: JSON.stringify(HINT) };
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulled += 1;
        controller.enqueue(png);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  expect(await reached(() => upload(body, "image/png"), 429, "rate_limited")).toEqual(["/rest/v1/rpc/admit_upload"]);
  expect(pulled).toBe(0);
});

describe("Idempotency-Key", () => {
  const hashOf = async (body: Uint8Array<ArrayBuffer>) => {
    await upload(body, "application/octet-stream", { "idempotency-key": "k" });
    const admit = api.seen.findLast(({ path }) => path.endsWith("admit_upload"));
    return JSON.parse(new TextDecoder().decode(admit?.body)).request_hash;
  };
  test("the token is taken with the key alone, the bytes are compared when they are there, and only then stored", async () => {
    const before = api.seen.length;
    await upload(png, "image/png", { "idempotency-key": "k" });
    const calls = api.seen.slice(before);
    expect(calls.map(({ path }) => path.split("/").at(-1))).toEqual(["admit_upload", "admit_upload", `${FILE}.png`]);
    expect(calls.slice(0, 2).map(({ body }) => Object.keys(JSON.parse(new TextDecoder().decode(body))))).toEqual([
      ["idempotency_key"],
      ["idempotency_key", "request_hash"],
    ]);
  });
  test("the hash is that of the bytes", async () => {
    expect(await hashOf(png)).toMatch(/^[0-9a-f]{64}$/);
    expect(await hashOf(png)).toBe(await hashOf(png.slice()));
    expect(await hashOf(padded(png.length + 1))).not.toBe(await hashOf(png));
  });
  test.each([
    { status: 400, body: { statusCode: "409", error: "Duplicate", message: "The resource already exists" } },
    { status: 409, body: { code: "ResourceAlreadyExists", message: "The resource already exists" } },
  ])("a replay whose file is there (%j) → the first answer again", async (answer) => {
    replayed = true;
    stored = answer;
    const response = await upload(png, "image/png", { "idempotency-key": "k" });
    expect([response.status, response.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect((await response.json()).data).toEqual({ referenceImagePath: `projects/${FILE}.png` });
  });
  test("a replay whose first request was cut off → stores the file now", async () => {
    replayed = true;
    expect((await upload(png, "image/png", { "idempotency-key": "k" })).status).toBe(201);
    expect(api.seen.at(-1)?.path).toMatch("/storage/");
  });
  test("a name that is taken without a replay (the sending was repeated when its connection broke) → 201", async () => {
    stored = { status: 409, body: { code: "ResourceAlreadyExists", message: "The resource already exists" } };
    expect((await upload(png, "image/png")).status).toBe(201);
  });
});

test("Storage away → 503 unavailable", async () => {
  stored = { status: 503, body: { message: "away" } };
  await expectError(await upload(png, "image/png"), 503, "unavailable");
});
