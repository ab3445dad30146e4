import { beforeEach, describe, expect, inject, test } from "vitest";
import { createCheckedCopy } from "../../supabase/functions/keyframe-generate/tasks/store.ts";
import { OutputError } from "../../supabase/functions/keyframe-generate/files/open-output.ts";
import { fillBuckets } from "../support/api/buckets.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { imageForm, refusedUpload, UPLOADS } from "../support/api/uploads.ts";
import { useUser } from "../support/api/user.ts";
import { CUT_OFF, NO_IMAGES, POLYGLOTS } from "../support/security/files.ts";

const sql = openDatabase();
const user = useUser();
beforeEach(() => fillBuckets(sql, user.id));

async function copyOf(bytes: Uint8Array): Promise<string> {
  async function* source() {
    yield bytes;
  }
  const { body, result } = await createCheckedCopy(source());
  for await (const _chunk of body);
  return `${result()?.width} × ${result()?.height}`;
}

async function expectRefused(body: BodyInit, type?: string): Promise<void> {
  const [status, code] = await refusedUpload(sql, user, body, type);
  expect([type, status, code]).toEqual([type, 415, "unsupported_media_type"]);
}

/** Decoders skip the two stray bytes FF 00 and see the first frame; a reader that takes them for a segment sees the second one. */
const HIDDEN_SIZE = new Uint8Array([
  ...[0xff, 0xd8, 0xff, 0x00, 0, 17],
  ...[0xff, 0xc0, 0, 11, 8, 0xff, 0xff, 0xff, 0xff, 1, 1, 0x11, 0, 0, 0],
  ...[0xff, 0xc0, 0, 11, 8, 0, 9, 0, 9, 1, 1, 0x11, 0, 0xff, 0xd9],
]);

describe("a file that is not an image", () => {
  test.each(Object.entries(NO_IMAGES))(
    "%s under each image type → 415, and nothing is stored; as an output → output_not_usable",
    async (_name, make) => {
      const bytes = await make();
      for (const type of ["image/png", "image/jpeg", "image/webp", "application/octet-stream"]) {
        await expectRefused(bytes, type);
      }
      await expectRefused(imageForm(bytes));
      const code = await copyOf(bytes).catch((error) => (error instanceof OutputError ? error.code : error));
      expect(code).toBe("output_not_usable");
    },
  );

  test.each(Object.entries(CUT_OFF))("%s as an upload → refused; as an output → stored", async (_name, make) => {
    await expectRefused(await make(), "image/png");
    expect(await copyOf(await make())).toBe("48 × 27");
  });

  test("a whole PNG as an output → a frame of its size", async () => {
    expect(await copyOf(await drawImage())).toBe("48 × 27");
  });

  test.each<[what: string, make: () => Promise<BodyInit> | BodyInit, type?: string]>([
    ["a webp whose chunk is longer than the file", async () => (await drawImage("webp")).with(16, 255), "image/webp"],
    ["a jpeg whose stray bytes hide a size of 65,535 × 65,535", () => HIDDEN_SIZE, "image/jpeg"],
    ["a png declared as a page", () => drawImage(), "text/html"],
    ["JSON", () => "{}", "application/json"],
  ])("an upload of %s → refused", async (_what, make, type) => {
    await expectRefused(await make(), type);
  });
});

async function served(referenceImagePath: string) {
  const [bucket = "", name = ""] = referenceImagePath.split("/");
  const { data } = await user.supabase.storage.from(bucket).createSignedUrl(name, 60);
  const answer = await fetch(data?.signedUrl ?? "");
  return { headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) };
}

describe("an image that another reader takes for something else", () => {
  test.each(Object.entries(POLYGLOTS))(
    "%s → only the image is stored, and served under its type",
    async (_name, make) => {
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
    },
  );
});

test("a file's address with ?download → comes as a download, under a name that cannot break the header", async () => {
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

// Uploads to the buckets themselves: test/api/storage-policies.test.ts.
test.each(["%2e%2e", "projects%2f..%2fkeyframe-outputs"])(
  "an upload to the bucket “%s”, straight to Storage → refused as a client error, and nothing is stored",
  async (bucket) => {
    const { url, publishableKey } = inject("stack");
    const before = await footprint(sql, user.id);
    const headers = { apikey: publishableKey, authorization: `Bearer ${user.token}`, "content-type": "image/png" };
    const answer = await fetch(`${url}/storage/v1/object/${bucket}/${crypto.randomUUID()}.png`, {
      ...{ method: "POST", headers, body: await drawImage() },
    });
    await answer.body?.cancel();
    expect(Math.floor(answer.status / 100)).toBe(4);
    expect(await footprint(sql, user.id)).toEqual(before);
  },
);

test.each(["../x.png", "../../etc/passwd", "a.html", "x".repeat(300), 'a";filename="b.html', "a\u202egnp.html"])(
  "a form's file named %j, in any field → stored under an id of ours",
  async (name) => {
    const { status, data } = await user.call(UPLOADS, {
      body: imageForm(await drawImage(), "image/png", { name, field: "cover image" }),
    });
    const referenceImagePath = expect.stringMatching(/^projects\/[0-9a-f-]{36}\.png$/);
    expect([status, data]).toEqual([201, { referenceImagePath }]);
  },
);
