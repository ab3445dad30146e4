import { expect, test } from "vitest";
import { createKeyframeClient, type KeyframeClient } from "../../client/index.ts";
import { clientCodeOf } from "../../dashboard/src/docs/client-code-of.ts";
import { jsLiteral } from "../../dashboard/src/docs/js-literal.ts";
import type { Example } from "../../dashboard/src/docs/open-api.ts";
import type { ApiOperation } from "../../dashboard/src/docs/operations-of.ts";
import { operation, operations } from "./dashboard-docs-fixture.ts";

type Sent = { method: string; url: URL; body: unknown };

/** Runs the code against a real client, and gives the one request it makes. */
async function requestOf(code: string): Promise<Sent> {
  const sent: Sent[] = [];
  const client = createKeyframeClient({
    url: "https://abc.supabase.co",
    getToken: () => "token",
    retries: 0,
    fetch: async (url, { method, body }) => {
      const text = typeof body === "string" ? JSON.parse(body) : body;
      sent.push({ method: method ?? "GET", url: new URL(url), body: text });
      return Response.json({ success: true, data: { projects: [] }, error: null });
    },
  });
  // A generation that "ended" at once: what comes after the start is not looked at here.
  const keyframe: KeyframeClient = { ...client, waitFor: async (given) => given as never };
  const run = new Function("keyframe", "photo", `return (async () => {\n${code}\n})();`);
  await run(keyframe, new Blob(["image"]));
  expect(sent).toHaveLength(1);
  return sent[0] as Sent; // there is one, as the line above saw
}

const cases = operations
  .filter(({ isEvent, tag }) => !isEvent && tag !== "Service")
  .flatMap((one) => one.examples.map((example): [string, ApiOperation, Example] => [one.id, one, example]));

test.each(cases)("%s: the example's code, run → the request of the operation", async (_, one, example) => {
  const code = clientCodeOf(one, example);
  if (code === null) throw new Error("The client has every operation that an app has.");
  const { method, url, body } = await requestOf(code);
  expect(method).toBe(one.method);
  const path = one.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => example.path?.[name] ?? "");
  expect(url.pathname).toBe(`/functions/v1${path}`);
  expect(Object.fromEntries(url.searchParams)).toEqual(example.query ?? {});
  if (body instanceof Blob) expect(await body.text()).toBe("image");
  else if (method === "POST") expect(body).toEqual(example.body ?? {});
  else expect(body).toEqual(example.body);
});

test("numbers of a query → numbers, as the client's types want them", () => {
  const example = { summary: "", query: { limit: "10", include: "predictions" } };
  expect(clientCodeOf(operation("listProjects"), example)).toContain('{ limit: 10, include: "predictions" }');
});

test("what is for the operator, and what is nobody's → no code", () => {
  expect(clientCodeOf(operation("readHealth"), { summary: "" })).toBeNull();
  expect(clientCodeOf({ ...operation("readHealth"), id: "toString" }, { summary: "" })).toBeNull();
});

test("a value as code → the same value, whatever its names and texts", () => {
  const value = { title: 'a "b" \\ \n', "first-frame": [1, null, true, { deep: [] }], $x: {}, long: "x".repeat(80) };
  expect(new Function(`return ${jsLiteral(value)};`)()).toEqual(value);
});
