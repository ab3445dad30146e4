import { expect, inject, test } from "vitest";
import { openApiDocument } from "../../shared/contract/openapi/index.ts";
import { callApi, sendToApi } from "../support/api/call.ts";
import { expectOpenHeaders } from "../support/api/envelope.ts";

test("GET /api/openapi.json without a session → the document itself, in no envelope, of this server and this version", async () => {
  const response = await sendToApi("/api/openapi.json");
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
  expectOpenHeaders(response.headers);
  const { version } = JSON.parse(await Deno.readTextFile(new URL("../../package.json", import.meta.url)));
  const made = openApiDocument(`${inject("stack").url}/functions/v1`, version);
  expect(await response.json()).toEqual(JSON.parse(JSON.stringify(made)));
});

test("HEAD → 200 and no body; POST → 405 in the envelope", async () => {
  const head = await sendToApi("/api/openapi.json", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  const { status, error, headers } = await callApi("/api/openapi.json", { method: "POST" });
  expect([status, error?.code, headers.get("allow")]).toEqual([405, "method_not_allowed", "GET, HEAD, OPTIONS"]);
});
