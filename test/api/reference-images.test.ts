import { Buffer } from "node:buffer";
import { uploadedReferenceImage } from "../../shared/contract/predictions.ts";
import { beforeEach, expect, test } from "vitest";
import { fillBuckets } from "../support/api/buckets.ts";
import { leftBehind, openDatabase } from "../support/api/database.ts";
import { drawImage, imageOf } from "../support/media/images.ts";
import { providerRuns, uniquePrompt } from "../support/api/provider.ts";
import { imageForm, refusedUpload, UPLOADS } from "../support/api/uploads.ts";
import { useUser } from "../support/api/user.ts";
import {
  drawPhoto,
  PHOTO_KINDS,
  PLACE,
  readMetadata,
  readPixels,
  segment,
  sourceType,
  withLocation,
} from "../support/media/photos.ts";
import { joined } from "../support/security/files.ts";

const sql = openDatabase();
const user = useUser();
beforeEach(() => fillBuckets(sql, user.id));

const LIMIT = 10 * 1024 * 1024;

const refused = async (body: BodyInit, type?: string) => (await refusedUpload(sql, user, body, type)).slice(0, 2);
const refusal = (body: Uint8Array<ArrayBuffer>) => refusedUpload(sql, user, body, "image/jpeg");

test.each([
  ["png", "image/png", "png"],
  ["jpeg", "image/jpeg", "jpg"],
  ["webp", "image/webp", "webp"],
] as const)(
  "an upload of a %s → 201; stored byte for byte, owned by the caller",
  async (kind, contentType, extension) => {
    const image = await drawImage(kind);
    const path = await user.upload(image, contentType);
    expect(path).toMatch(new RegExp(`^projects/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.${extension}$`));
    const name = path.slice("projects/".length);
    const { data, error } = await user.supabase.storage.from("projects").download(name);
    expect(error).toBeNull();
    expect(data?.type).toBe(contentType);
    expect(new Uint8Array((await data?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(image);
    const rows = await sql`
    select metadata ->> 'mimetype' as type, user_metadata as noted from storage.objects where bucket_id = 'projects' and name = ${name}`;
    expect(rows).toEqual([{ type: contentType, noted: { width: 48, height: 27, ownerId: user.id } }]);
  },
);

test.each(PHOTO_KINDS)(
  "a %s with a location in its metadata, as body and in a form → stored with the same picture and without the location",
  async (kind) => {
    const plain = await drawPhoto(kind);
    const photo = withLocation(kind, plain, 1);
    expect(readMetadata(photo).gps).toMatchObject({ Latitude: expect.closeTo(37.8087, 4) });
    const { data: answer } = await user.call(UPLOADS, { body: imageForm(photo, `image/${kind}`) });
    const { referenceImagePath } = uploadedReferenceImage.parse(answer);
    for (const path of [await user.upload(photo, `image/${kind}`), referenceImagePath]) {
      const { data } = await user.supabase.storage.from("projects").download(path.slice("projects/".length));
      const stored = new Uint8Array((await data?.arrayBuffer()) ?? new ArrayBuffer(0));
      const metadata = { gps: null, texts: [], orientation: null, exif: [] };
      expect(readMetadata(stored)).toEqual({ ...readMetadata(plain), ...metadata });
      expect(Buffer.from(stored).includes(PLACE)).toBe(false);
      expect(await readPixels(stored)).toEqual(await readPixels(photo));
      const [kept] = await sql`select user_metadata as size from storage.objects where 'projects/' || name = ${path}`;
      expect(kept?.size).toMatchObject({ width: 48, height: 32 });
    }
  },
);

test.each([
  ["png", "application/octet-stream", "png"],
  ["jpeg", "image/jpg", "jpg"],
  ["jpeg", "image/pjpeg", "jpg"],
  ["png", "image/jpeg", "png"],
  ["webp", "image/jpeg", "webp"],
  ["jpeg", "image/png", "jpg"],
] as const)(
  "a %s sent as %s, also in a form → 201, stored as .%s and served as that: the bytes decide",
  async (kind, declared, extension) => {
    const image = await drawImage(kind);
    const { data } = await user.call(UPLOADS, { body: imageForm(image, declared) });
    for (const path of [await user.upload(image, declared), uploadedReferenceImage.parse(data).referenceImagePath]) {
      expect(path.endsWith(`.${extension}`)).toBe(true);
      const [row] =
        await sql`select metadata ->> 'mimetype' as type from storage.objects where 'projects/' || name = ${path}`;
      expect(row?.type).toBe(`image/${kind}`);
    }
  },
);

const refusedAs = (message: string) => [415, "unsupported_media_type", message];

test("a photo that is shown rotated → 415 that says how to send it, since a model would get it sideways", async () => {
  for (const kind of PHOTO_KINDS) {
    for (const orientation of [2, 6]) {
      const words = `The image has an Exif orientation (${orientation}), which models ignore. Save it upright, without this orientation, and send that.`;
      expect(await refusal(withLocation(kind, await drawPhoto(kind), orientation))).toEqual(refusedAs(words));
    }
  }
});

const text = (words: string) => new Uint8Array([...words].map((letter) => letter.charCodeAt(0)));
test.each([
  ["HEIC", "\0\0\0\x18ftypheic\0\0\0\0mif1heic"],
  ["HEIC", "\0\0\0\x18ftypmif1\0\0\0\0mif1heic"],
  ["AVIF", "\0\0\0\x18ftypavif\0\0\0\0mif1avif"],
  ["GIF", "GIF89a\x01\0\x01\0\0\0\0"],
  ["TIFF", "II*\0\x08\0\0\0\0\0\0\0"],
  ["BMP", "BM\x46\0\0\0\0\0\0\0\0\0"],
])("an upload of a %s → 415 that names it", async (name, bytes) => {
  expect(await refusal(text(bytes))).toEqual(
    refusedAs(`The image is ${name}. Save it as JPEG, PNG or WebP and send that.`),
  );
});

test("a JPEG that is truncated, and a lossless one → 415 that says so", async () => {
  const image = await drawImage("jpeg");
  const early = "The image is damaged or ends early. Save it again and send that.";
  for (const bytes of [image.slice(0, -20), image.slice(0, -1)]) expect(await refusal(bytes)).toEqual(refusedAs(early));
  const frame = Buffer.from(image).indexOf(Uint8Array.of(0xff, 0xc0));
  const lossless = "The JPEG is lossless or hierarchical. Save it as PNG or as a usual JPEG and send that.";
  expect(await refusal(image.with(frame + 1, 0xc3))).toEqual(refusedAs(lossless));
});

test("an uploaded image that a prediction names → sent to the provider", async () => {
  const projectId = await user.createProject();
  const prompt = uniquePrompt();
  const referenceImagePath = await user.upload(await drawImage());
  const done = await user.finish(await user.start("first-frame", { projectId, prompt, referenceImagePath }));
  expect(done.status).toBe("succeeded");
  const [run] = await providerRuns(prompt);
  expect(run?.input.image_input).toHaveLength(1);
});

// Types and bytes that are refused: test/security/files.test.ts.
test("an empty body or file, no file, two files, a text next to the file, a malformed form → 400 invalid_request", async () => {
  const image = await drawImage();
  const file = () => new File([image], "a.png", { type: "image/png" });
  const form = (...fields: [string, File | string][]) => {
    const made = new FormData();
    for (const [name, value] of fields) {
      if (typeof value === "string") made.append(name, value);
      else made.append(name, value);
    }
    return made;
  };
  const bad = [400, "invalid_request"];
  expect(await refused(new Uint8Array(0), "image/png")).toEqual(bad);
  expect(await refused(form(["file", new File([], "a.png", { type: "image/png" })]))).toEqual(bad);
  expect(await refused(form(["file", "a.png"]))).toEqual(bad);
  expect(await refused(form(["a", file()], ["b", file()]))).toEqual(bad);
  expect(await refused(form(["a", file()], ["a", file()]))).toEqual(bad);
  expect(await refused(form(["file", file()], ["path", "projects/mine.png"]))).toEqual(bad);
  for (const type of ["multipart/form-data; boundary=x", "multipart/form-data"]) {
    expect(await refused("not a form", type)).toEqual(bad);
  }
});

test("a compressed upload → 415 that says it is compressed, and nothing is stored", async () => {
  const before = await leftBehind(sql, user.id);
  const body = await new Response(
    new Blob([await drawImage()]).stream().pipeThrough(new CompressionStream("gzip")),
  ).blob();
  const { status, error } = await user.call(UPLOADS, {
    body,
    headers: { "content-type": "image/png", "content-encoding": "gzip" },
  });
  expect([status, error?.message]).toEqual([415, expect.stringContaining("Send it without Content-Encoding")]);
  expect(await leftBehind(sql, user.id)).toEqual(before);
});

test("an image of exactly 10 MiB, as body and in a form → 201; one byte more, also in chunks → 413, and nothing is stored", async () => {
  const image = await imageOf(LIMIT);
  expect(await user.upload(image)).toMatch(/\.png$/);
  expect((await user.call(UPLOADS, { body: imageForm(image) })).status).toBe(201);
  const larger = await imageOf(LIMIT + 1);
  const inPieces = new Blob([larger]).stream(); // has no Content-Length
  for (const [body, type] of [[larger, "image/png"], [imageForm(larger)], [inPieces, "image/png"]] as const)
    expect(await refused(body, type)).toEqual([413, "payload_too_large"]);
});

test("an image of 10 MiB whose AI note grows when it becomes XMP → 413 that says so, and nothing is stored", async () => {
  const note = segment(0xfe, sourceType("trainedAlgorithmicMedia"));
  const jpeg = await drawImage("jpeg");
  const [scan, end] = [new Uint8Array(LIMIT - jpeg.length - note.length), jpeg.slice(-2)];
  const image = joined(jpeg.slice(0, 2), note, jpeg.slice(2, -2), scan, end);
  expect(await refused(image, "image/jpeg")).toEqual([413, "payload_too_large"]);
});
