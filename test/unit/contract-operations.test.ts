import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { errorsOf, type Operation } from "../../shared/contract/operations/operation.ts";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";

// Rules that each operation of the contract keeps. What openapi.json makes of them: openapi-document.test.ts.

const ALL: [string, Operation][] = Object.entries(OPERATIONS);

describe.each(ALL)("%s", (_id, operation) => {
  const { method, path, query, body, examples, status, waits, tagged, bodyMayBeEmpty, changesNothing } = operation;
  const json = body === "image" ? undefined : body;

  test("unknown fields are refused, in the path, the query and the body", () => {
    const [example] = examples;
    const accepts = (schema: z.ZodType | undefined, given: unknown) =>
      schema?.safeParse({ ...Object(given), unknown: "x" }).success ?? false;
    const accepted = [accepts(path, example.path), accepts(query, example.query), accepts(json, example.body)];
    expect(accepted).toEqual([false, false, false]);
  });

  test("only a POST or a PATCH takes a body, every POST does; an empty one counts as {} only where {} is enough", () => {
    expect(body !== undefined).toBe(method === "POST" || method === "PATCH");
    if (json) expect(json.safeParse({}).success).toBe(bodyMayBeEmpty === true);
  });

  test("what it creates is 201 or 202, a read is 200; what can be waited for has an ETag", () => {
    expect(method === "POST" || status === 200).toBe(true);
    expect(!waits || tagged).toBe(true);
  });

  test("its errors are those that any request can meet, and those of its caller, body and method, each once", () => {
    const codes = errorsOf(operation);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes).toEqual(expect.arrayContaining(["invalid_request", "method_not_allowed", "internal", "unavailable"]));
    const mayBeRefused = operation.caller !== "nobody" || operation.needsSecretKey !== undefined;
    expect(codes.includes("unauthorized")).toBe(mayBeRefused);
    expect(codes.includes("payload_too_large")).toBe(body !== undefined);
    expect(codes.includes("idempotency_mismatch")).toBe(method === "POST" && !changesNothing);
  });
});

test("who may call: the secret key is good for webhooks and for what health keeps from others, and health itself needs nobody", () => {
  const those = (caller: string) => ALL.flatMap(([id, operation]) => (operation.caller === caller ? [id] : []));
  expect(those("nobody")).toEqual(["readHealth"] satisfies OperationId[]);
  expect(ALL.flatMap(([id, { needsSecretKey }]) => (needsSecretKey ? [[id, needsSecretKey]] : []))).toEqual([
    ["readHealth", "deep=1"],
  ]);
  expect(those("manager")).toEqual(ALL.flatMap(([id, { tag }]) => (tag === "Webhooks" ? [id] : [])));
});
