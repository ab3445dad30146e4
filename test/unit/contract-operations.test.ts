import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { errorsOf, type Operation } from "../../shared/contract/operations/operation.ts";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import { isErrorCode } from "../../shared/http/errors.ts";

const ALL: [string, Operation][] = Object.entries(OPERATIONS);
const withBody = ALL.filter(([, { body }]) => body !== undefined && body !== "image");
const schemaOf = ({ body }: Operation) => body as z.ZodType; // an image is sorted out above
const names = (at: string) => [...at.matchAll(/:(\w+)/g)].map(([, name]) => name);

test("no two operations have one method and one path", () => {
  const places = ALL.map(([, { method, at }]) => `${method} ${at}`);
  expect(new Set(places).size).toBe(places.length);
});

describe.each(ALL)("%s", (_id, operation) => {
  const { at, method, path, query, body, examples, status, waits, tagged, bodyMayBeEmpty } = operation;

  test("has a schema for just the parameters of its path", () => {
    expect(Object.keys(path?.shape ?? {})).toEqual(names(at));
  });

  test("every example fits its schemas, and has no other field", () => {
    for (const example of examples) {
      expect(path?.safeParse(example.path).success ?? example.path === undefined).toBe(true);
      expect(query?.safeParse(example.query ?? {}).success ?? example.query === undefined).toBe(true);
      if (body === undefined || body === "image") expect(example.body).toBeUndefined();
      else if (!(bodyMayBeEmpty && example.body === undefined)) expect(body.safeParse(example.body).success).toBe(true);
    }
  });

  test("only a POST or a PATCH takes a body; every POST does", () => {
    expect(body !== undefined).toBe(method === "POST" || method === "PATCH");
  });

  test("unknown fields are refused, in the path, the query and the body", () => {
    const [example] = examples;
    const unknown = { unknown: "x" };
    expect(path?.safeParse({ ...example.path, ...unknown }).success ?? false).toBe(false);
    expect(query?.safeParse({ ...example.query, ...unknown }).success ?? false).toBe(false);
    if (body === undefined || body === "image") return;
    expect(body.safeParse({ ...Object(example.body), ...unknown }).success).toBe(false);
  });

  test("what it creates is 201 or 202, a read is 200", () => {
    expect(method === "POST" || status === 200).toBe(true);
  });

  test("what can be waited for has an ETag", () => {
    expect(!waits || tagged).toBe(true);
  });

  test("its errors are codes of the table, each once, with those that any request can meet", () => {
    const codes = errorsOf(operation);
    expect(codes.every(isErrorCode)).toBe(true);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes).toEqual(expect.arrayContaining(["invalid_request", "method_not_allowed", "internal", "unavailable"]));
    const mayBeRefused = operation.caller !== "nobody" || operation.needsSecretKey !== undefined;
    expect(codes.includes("unauthorized")).toBe(mayBeRefused);
    expect(codes.includes("payload_too_large")).toBe(body !== undefined);
    expect(codes.includes("idempotency_mismatch")).toBe(method === "POST");
  });
});

test.each(withBody)("%s: an empty body counts as {} only where {} is enough", (_id, operation) => {
  if (operation.bodyMayBeEmpty) expect(schemaOf(operation).safeParse({}).success).toBe(true);
  else expect(schemaOf(operation).safeParse({}).success).toBe(false);
});

test("who may call: the secret key is good for webhooks and for what health keeps from others, and health itself needs nobody", () => {
  const callers = Object.fromEntries(ALL.map(([id, { caller }]) => [id, caller]));
  const those = (caller: string) => Object.keys(callers).filter((id) => callers[id] === caller);
  expect(those("nobody")).toEqual(["readHealth"] satisfies OperationId[]);
  expect(ALL.flatMap(([id, { needsSecretKey }]) => (needsSecretKey ? [[id, needsSecretKey]] : []))).toEqual([
    ["readHealth", "deep=1"],
  ]);
  expect(those("manager").sort()).toEqual(ALL.flatMap(([id, { tag }]) => (tag === "Webhooks" ? [id] : [])).sort());
});
