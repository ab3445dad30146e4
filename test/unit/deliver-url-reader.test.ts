import { expect, test } from "vitest";
import { createUrlReader } from "../../supabase/functions/keyframe-deliver/send/attempt.ts";

test("a URL, again and again → read as it is, and read once", () => {
  const read = createUrlReader({});
  const url = read("https://hooks.example.com/in?a=1");
  expect(url?.href).toBe("https://hooks.example.com/in?a=1");
  expect(read("https://hooks.example.com/in?a=1")).toBe(url);
});

test.each([
  "",
  "not an address",
  "http://hooks.example.com/",
  "https://10.0.0.1/",
  "https://localhost/",
  "https://a@b.example/",
])("%j, again and again → refused each time", (text) => {
  const read = createUrlReader({});
  expect([read(text), read(text)]).toEqual([null, null]);
});

test("this machine → read only where it may be", () => {
  expect(createUrlReader({ allowLocal: true })("http://127.0.0.1:3000/")?.href).toBe("http://127.0.0.1:3000/");
  expect(createUrlReader({ allowLocal: false })("http://127.0.0.1:3000/")).toBeNull();
});

test("more URLs than are remembered → each is still read right, and the first are forgotten", () => {
  const read = createUrlReader({});
  const text = (n: number) => (n % 2 === 0 ? `https://hooks.example.com/${n}` : `https://10.0.0.1/${n}`);
  const first = read(text(0));
  for (let n = 0; n < 2_500; n++) expect(read(text(n))?.href).toBe(n % 2 === 0 ? text(n) : undefined);
  expect(read(text(0))?.href).toBe(text(0));
  expect(read(text(0))).not.toBe(first);
});
