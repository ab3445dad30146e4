import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { SECRET_KEY, startTestPlatform, type TestPlatform } from "./platform-fixture.ts";

let platform: TestPlatform;

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.migrate.unsafe(MIGRATION).simple();
});
afterAll(() => platform?.stop());

const MIGRATION = `
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
  ('pictures', 'pictures', false, 100000, '{image/png,text/plain,text/html}'),
  ('films', 'films', false, null, null);
create policy objects_select_owner on storage.objects for select to authenticated
  using (bucket_id = 'pictures' and owner_id = (select auth.uid()::text));
create policy objects_insert_owner on storage.objects for insert to authenticated
  with check (bucket_id = 'pictures' and owner_id = (select auth.uid()::text)
    and (storage.foldername(name))[1] = 'own' and storage.extension(name) in ('png', 'txt', 'html'));
create policy objects_delete_owner on storage.objects for delete to authenticated
  using (bucket_id = 'pictures' and owner_id = (select auth.uid()::text));
`;

const text = { contentType: "text/plain" };
const path = (extension = "txt") => `own/${crypto.randomUUID()}.${extension}`;

async function uploaded(content = "hello storage") {
  const owner = await platform.signedIn();
  const name = path();
  const { error } = await owner.client.storage.from("pictures").upload(name, new TextEncoder().encode(content), text);
  if (error) throw error;
  return { ...owner, name, files: owner.client.storage.from("pictures") };
}

/** Storage answers a refusal with 400 and the status it means in the body. */
const refusal = (error: unknown) => {
  const { status, statusCode, message } = error as { status: number; statusCode: string; message: string };
  return { status, statusCode, message };
};

test("a signed URL → the file with type, length and ETag, or a range of it, for any caller without a key", async () => {
  const { files, name } = await uploaded();
  const { data } = await files.createSignedUrl(name, 60);
  const answer = await fetch(data?.signedUrl ?? "");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain");
  expect(answer.headers.get("content-length")).toBe("13");
  expect(answer.headers.get("cache-control")).toBe("max-age=3600");
  expect(await answer.text()).toBe("hello storage");
  const head = await fetch(data?.signedUrl ?? "", { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, "13"]);
  const known = await fetch(data?.signedUrl ?? "", { headers: { "if-none-match": answer.headers.get("etag") ?? "" } });
  expect(known.status).toBe(304);
  const part = await fetch(data?.signedUrl ?? "", { headers: { range: "bytes=6-" } });
  expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 6-12/13"]);
  expect(await part.text()).toBe("storage");
  // As the hosted Storage does: the provider's runs are known by such a parameter (keyframe-generate/tasks/submit.ts).
  const marked = await fetch(`${data?.signedUrl}&prediction=${crypto.randomUUID()}`);
  expect([marked.status, await marked.text()]).toEqual([200, "hello storage"]);
});

test("a page that a user has stored → its scripts run without an origin, and never with the dashboard's", async () => {
  const { client } = await platform.signedIn();
  const files = client.storage.from("pictures");
  const name = path("html");
  const page = new TextEncoder().encode("<script>fetch('/config.json')</script>");
  expect((await files.upload(name, page, { contentType: "text/html" })).error).toBeNull();
  const { data } = await files.createSignedUrl(name, 60);
  for (const headers of [{}, { range: "bytes=0-" }] as Record<string, string>[]) {
    const answer = await fetch(data?.signedUrl ?? "", { headers });
    expect(await answer.text()).toContain("<script>");
    expect(answer.headers.get("content-security-policy")).toBe("sandbox");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("a file exactly as large as the bucket's limit → stored; one byte more → refused", async () => {
  const { client } = await platform.signedIn();
  const files = client.storage.from("pictures");
  const upload = (bytes: number) => files.upload(path(), new Uint8Array(bytes), text);
  expect((await upload(100_000)).error).toBeNull();
  expect(refusal((await upload(100_001)).error)).toMatchObject({ status: 400, statusCode: "413" });
});

test("an upload that breaks off → neither row nor file, and the previous content stays", async () => {
  const service = platform.client(SECRET_KEY).storage.from("films");
  await service.upload("broken.mp4", new TextEncoder().encode("whole"), { contentType: "video/mp4" });
  const before = await bytesOnDisk();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
    async pull(controller) {
      await until("some of it is on the disk", async () => (await bytesOnDisk()) > before);
      controller.error(new Error("the client has gone"));
    },
  });
  const headers = { apikey: SECRET_KEY, "content-type": "video/mp4", "x-upsert": "true" };
  const sending = fetch(`${platform.url}/storage/v1/object/films/broken.mp4`, { method: "POST", headers, body });
  await expect(sending).rejects.toThrow();
  await until("it is gone", async () => (await bytesOnDisk()) === before);
  expect(await (await service.download("broken.mp4")).data?.text()).toBe("whole");
});

test("an upload whose row is refused after its bytes arrived → an error, the bytes are unreadable; the next upload counts", async () => {
  const { client } = await platform.signedIn();
  const owner = client.storage.from("pictures");
  const service = platform.client(SECRET_KEY).storage.from("pictures");
  const name = path();
  const before = await bytesOnDisk();
  // Refused at the end of the transaction: lite's look whether the upload is allowed, which it takes back, passes.
  await platform.admin.unsafe(`
    create function public.refuse_row() returns trigger language plpgsql as $$ begin raise exception 'away'; end $$;
    create constraint trigger refuse_row after insert on storage.objects deferrable initially deferred
      for each row execute function public.refuse_row()`);
  const { error } = await owner.upload(name, new TextEncoder().encode("never had a row"), text);
  await platform.admin.unsafe("drop trigger refuse_row on storage.objects; drop function public.refuse_row()");
  expect(error).not.toBeNull();
  // As in the hosted Storage, bytes are written before their row.
  expect(await bytesOnDisk()).toBeGreaterThan(before);

  for (const files of [owner, service]) {
    expect(refusal((await files.download(name)).error).statusCode).toBe("404");
    expect(refusal((await files.info(name)).error).statusCode).toBe("404");
    expect(refusal((await files.createSignedUrl(name, 60)).error).statusCode).toBe("404");
    expect(refusal((await files.copy(name, path())).error).statusCode).toBe("404");
    expect((await files.list("own", { search: name.slice(4) })).data).toEqual([]);
  }
  expect((await owner.upload(name, new TextEncoder().encode("new"), text)).error).toBeNull();
  expect(await (await service.download(name)).data?.text()).toBe("new");
  expect((await service.remove([name])).data).toHaveLength(1);
  expect(await bytesOnDisk()).toBe(before);
});

async function bytesOnDisk(folder = platform.storageFolder): Promise<number> {
  let bytes = 0;
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    bytes += entry.isDirectory
      ? await bytesOnDisk(path)
      : await Deno.stat(path).then(
          (file) => file.size,
          () => 0,
        );
  }
  return bytes;
}

test("an upload of bytes, or of a form with a Blob → stored with type, caching and metadata; a form without a file → 400", async () => {
  const { client } = await platform.signedIn();
  const files = client.storage.from("pictures");
  const content = "\r\n--edge\r\n--ed\r\n";
  const metadata = { width: 48, height: 27 };
  for (const body of [new TextEncoder().encode(content), new Blob([content], { type: "text/plain" })]) {
    const name = path();
    expect((await files.upload(name, body, { ...text, cacheControl: "60", metadata })).error).toBeNull();
    const rows = await platform.migrate`select user_metadata from storage.objects where name = ${name}`;
    expect(rows).toEqual([{ user_metadata: metadata }]);
    const answer = await fetch((await files.createSignedUrl(name, 60)).data?.signedUrl ?? "");
    const headers = ["content-type", "cache-control"].map((header) => answer.headers.get(header));
    expect([...headers, await answer.text()]).toEqual(["text/plain", "max-age=60", content]);
  }
  const form = new FormData();
  form.set("a", "1");
  const address = `${platform.url}/storage/v1/object/films/none.mp4`;
  const refused = await fetch(address, { method: "POST", headers: { apikey: SECRET_KEY }, body: form });
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: "InvalidRequest" }]);
});

test("an upload with metadata → one statement writes both, so that no object can be left without it", async () => {
  await platform.migrate.unsafe(`
    create function public.require_metadata() returns trigger language plpgsql as $$
    begin if new.user_metadata ->> 'owner' is null then raise 'It has no metadata.'; end if; return null; end $$;
    create constraint trigger require_metadata after insert on storage.objects deferrable initially deferred
      for each row when (new.name like 'own/whole-%') execute function public.require_metadata()`);
  const { client } = await platform.signedIn();
  const files = client.storage.from("pictures");
  const bytes = new TextEncoder().encode("whole");
  const metadata = { owner: "me", note: 'a "quoted" one' };
  expect((await files.upload(`own/whole-${crypto.randomUUID()}.txt`, bytes, { ...text, metadata })).error).toBeNull();
  expect((await files.upload(`own/whole-${crypto.randomUUID()}.txt`, bytes, text)).error).not.toBeNull();
});
