import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestPlatform, type TestPlatform } from "./platform-fixture.ts";

let platform: TestPlatform;

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.migrate`create table public.models (id int primary key, name text)`;
});
afterAll(() => platform?.stop());

const get = (path: string, headers: Record<string, string> = {}) => fetch(platform.url + path, { headers });
const ownPage = { "sec-fetch-site": "same-origin" };

test("/studio → the page, and every script, style and font it names, moved below /studio", async () => {
  const page = await (await get("/studio")).text();
  const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const file of files) {
    const answer = await get(file);
    expect([file, answer.status]).toEqual([file, 200]);
    const text = await answer.text();
    if (file.endsWith(".js")) expect(text).toContain('window.location.origin+"/studio"');
    for (const [, font] of text.matchAll(/url\((\/[^)]+woff2)\)/g)) expect((await get(font ?? "")).status).toBe(200);
  }
  expect((await get("/studio/editor/public.models")).headers.get("content-type")).toContain("text/html");
});

test("the page's own calls → as service_role: schema, rows, changes", async () => {
  expect(await (await get("/studio/_system/info", ownPage)).json()).toMatchObject({ admin: true });
  const schema = await (await get("/studio/_system/introspect", ownPage)).json();
  expect(schema.tables.map((table: { name: string }) => table.name)).toContain("models");
  const address = `${platform.url}/studio/rest/v1/models`;
  const headers = { ...ownPage, "content-type": "application/json", "user-agent": "Mozilla/5.0", origin: platform.url };
  const added = await fetch(address, { method: "POST", headers, body: '{"id":1,"name":"one"}' });
  expect(added.status).toBe(201);
  expect(await (await get("/studio/rest/v1/models", ownPage)).json()).toEqual([{ id: 1, name: "one" }]);
});

test("the page's settings → no address of the database, no secret", async () => {
  const text = await (await get("/studio/_system/info", ownPage)).text();
  expect(text).not.toContain("postgres://");
  expect(text).not.toContain("sb_secret");
  expect((await get("/studio/_system/config", ownPage)).status).toBe(404);
});

test.each([
  ["another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
  ["a page of another port of this machine", { "sec-fetch-site": "same-site" }],
  ["no browser at all", {}],
])("a call from %s → 403", async (_, headers) => {
  expect((await get("/studio/rest/v1/models", headers as Record<string, string>)).status).toBe(403);
  expect((await get("/studio/_system/introspect", headers as Record<string, string>)).status).toBe(403);
});

test("a name that was made to point to this machine → 403", async () => {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(platform.url).port) });
  const lines = [
    "GET /studio/rest/v1/models HTTP/1.1",
    "host: evil.example",
    "sec-fetch-site: same-origin",
    "connection: close",
  ];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const answer = await new Response(connection.readable).text();
  expect(answer).toMatch(/^HTTP\/1.1 403/);
});

test("a file outside Studio's folder, or none → 404", async () => {
  for (const file of ["..%2findex.js", "%2e%2e%2findex.js", ".vite/manifest.json", "none.js"]) {
    expect([file, (await get(`/studio/static/${file}`)).status]).toEqual([file, 404]);
  }
});
