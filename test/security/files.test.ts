import { beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import type { Step } from "../../shared/contract/fields.ts";
import { createCheckedCopy } from "../../supabase/functions/keyframe-generate/files/checked-copy.ts";
import { OutputError } from "../../supabase/functions/keyframe-generate/files/open-output.ts";
import { fillBuckets } from "../support/api/buckets.ts";
import { footprint, leftBehind, openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp, type User } from "../support/api/user.ts";
import { inParallel } from "../support/security/rest.ts";
import { HOSTILE_NAMES, joined, NO_IMAGES, POLYGLOTS } from "../support/security/files.ts";

const sql = openDatabase();
const PATH = "/api/projects/reference-images";
let user: User;
beforeAll(async () => {
  user = await signUp();
});
beforeEach(() => fillBuckets(sql, user.id));

const TYPES = ["image/png", "image/jpeg", "image/webp", "application/octet-stream"];

/** Sends a file as the body, under each type that is taken, and in a form; every time it must be refused. */
async function expectRefused(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const before = await leftBehind(sql, user.id);
  const form = new FormData();
  form.append("file", new File([bytes], "a.png", { type: "image/png" }));
  const replies = await Promise.all([
    ...TYPES.map((type) => user.call(PATH, { body: bytes, headers: { "content-type": type } })),
    user.call(PATH, { body: form }),
  ]);
  expect(replies.map(({ status, error }) => [status, error?.code])).toEqual(
    replies.map(() => [415, "unsupported_media_type"]),
  );
  expect(await leftBehind(sql, user.id)).toEqual(before);
}

describe("a file that is no image, under each type that is taken → 415, and nothing is stored", () => {
  test.each(Object.entries(NO_IMAGES))("%s", async (_name, make) => {
    await expectRefused(await make());
  });
});

/** The headers of a file that an address of an hour leads to, as a browser would get it that opens it. */
async function served(referenceImagePath: string) {
  const [bucket = "", name = ""] = referenceImagePath.split("/");
  const { data } = await user.supabase.storage.from(bucket).createSignedUrl(name, 60);
  const answer = await fetch(data?.signedUrl ?? "");
  return { headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) };
}

describe("an image that is something else to another reader → the image alone is stored, and served under its type", () => {
  test.each(Object.entries(POLYGLOTS))("%s", async (_name, make) => {
    const [kind, image, both] = await make();
    const path = await user.upload(both, `image/${kind}`);
    expect(path).toMatch(/^projects\/[0-9a-f-]{36}\.(png|jpg|webp)$/);
    const { headers, bytes: stored } = await served(path);
    expect(stored).toEqual(image);
    // A browser runs nothing that comes under an image's type, neither as a page nor as a script of another one.
    expect(headers.get("content-type")).toBe(`image/${kind}`);
    const [row] = await sql`
      select metadata->>'mimetype' as type from storage.objects where bucket_id || '/' || name = ${path}`;
    expect(row).toEqual({ type: `image/${kind}` });
  });
});

test("an address with ?download → the file comes to be saved, under a name that cannot break the header", async () => {
  const path = await user.upload(await drawImage());
  const { data } = await user.supabase.storage.from("projects").createSignedUrl(path.slice("projects/".length), 60);
  for (const name of ["a.png", 'a".html', "a\r\nset-cookie: a=b", "../../a.html", "日本.svg"]) {
    const address = `${data?.signedUrl}&download=${encodeURIComponent(name)}`;
    const answer = await fetch(address);
    await answer.body?.cancel();
    expect(answer.headers.get("content-disposition")).toMatch(/^attachment; filename\*=UTF-8''[^\s"/\\]+$/);
    expect(answer.headers.get("set-cookie")).toBeNull();
  }
});

describe("a name that means something else, straight to Storage → refused as the caller's mistake, and nothing is stored", () => {
  test.each(Object.entries(HOSTILE_NAMES))("%s", async (_name, name) => {
    const { url, publishableKey } = inject("stack");
    const before = await footprint(sql, user.id);
    const headers = { apikey: publishableKey, authorization: `Bearer ${user.token}`, "content-type": "image/png" };
    const body = await drawImage();
    const tries = ["projects", "keyframe-outputs", "..", "%2e%2e", "projects%2f..%2fgenerations", "none"].flatMap(
      (bucket) => ["POST", "PUT"].map((method) => ({ method, target: `${url}/storage/v1/object/${bucket}/${name}` })),
    );
    const statuses = await inParallel(tries, async ({ method, target }) => {
      const answer = await fetch(target, { method, headers, body });
      await answer.body?.cancel();
      return answer.status;
    });
    expect(statuses.filter((status) => status < 400 || status >= 500)).toEqual([]);
    expect(await footprint(sql, user.id)).toEqual(before);
  });

  test.each(["../x.png", "a.html", "x".repeat(300), 'a";filename="b.html', "a\u202egnp.html"])(
    "%j as a file's name in a form of the API → an identifier of ours all the same",
    async (name) => {
      const form = new FormData();
      form.append("file", new File([await drawImage()], name, { type: "image/png" }));
      const { status, data } = await user.call(PATH, { body: form });
      expect([status, data]).toEqual([
        201,
        { referenceImagePath: expect.stringMatching(/^projects\/[0-9a-f-]{36}\.png$/) },
      ]);
    },
  );
});

describe("straight to Storage with an allowed type and other bytes", () => {
  test.each([
    "text/html",
    "image/svg+xml",
    "application/javascript",
    "application/zip",
    "image/gif",
    "video/mp4",
    "text/html; image/png",
  ])("the type %s → refused by the bucket", async (contentType) => {
    const name = `${crypto.randomUUID()}.png`;
    const { data } = await user.supabase.storage.from("projects").upload(name, await drawImage(), { contentType });
    expect(data).toBeNull();
  });

  test("a page that says it is a PNG → only its owner reads it, as image/png, which no browser runs", async () => {
    const name = `${crypto.randomUUID()}.png`;
    const page = joined("<script>alert(1)</script>");
    const bucket = user.supabase.storage.from("projects");
    const { error } = await bucket.upload(name, page, { contentType: "image/png" });
    expect(error).toBeNull(); // Storage looks at no bytes, here or hosted; what it serves them as is what protects.
    const { headers } = await served(`projects/${name}`);
    expect(headers.get("content-type")).toBe("image/png");
    const stranger = await signUp();
    expect((await stranger.supabase.storage.from("projects").download(name)).data).toBeNull();
  });
});

/** A file as the provider's output, read to its end as `generate` does on its way into Storage. */
async function copyOf(step: Step, bytes: Uint8Array): Promise<string> {
  async function* source() {
    yield bytes;
  }
  const { body, result } = await createCheckedCopy(step, source());
  for await (const _chunk of body);
  return `${result()?.width} × ${result()?.height}`;
}

describe("what the provider made is looked at on its way into Storage", () => {
  const usable = (error: unknown) => (error instanceof OutputError ? error.code : String(error));

  test.each(Object.entries(NO_IMAGES))("%s → neither a frame nor a video", async (_name, make) => {
    const bytes = await make();
    for (const step of ["first-frame", "video"] as const) {
      expect([step, await copyOf(step, bytes).catch(usable)]).toEqual([step, "output_not_usable"]);
    }
  });

  test("a PNG cut in the middle of its picture → no frame; a whole one → one", async () => {
    const image = await drawImage();
    expect(await copyOf("first-frame", image.slice(0, image.length - 20)).catch(usable)).toBe("output_not_usable");
    expect(await copyOf("first-frame", image)).toBe("48 × 27");
  });
});
