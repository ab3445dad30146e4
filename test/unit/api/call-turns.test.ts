import { expect, test } from "vitest";
import { createCallTurns } from "../../../shared/api/data/call-turns.ts";

function createCalls() {
  const open: (() => void)[] = [];
  const call = () => new Promise<void>((end) => open.push(end));
  const endOne = async () => {
    open.shift()?.();
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { open, call, endOne };
}

test("ten calls of one owner at once → four go to the database, others as those end; other owners' go at once", async () => {
  const { open, call, endOne } = createCalls();
  const acquireTurn = createCallTurns();
  const calls = Promise.all(Array.from({ length: 10 }, () => acquireTurn("anna", call)));
  expect(open).toHaveLength(4);
  const others = [acquireTurn("berta", call), acquireTurn("carla", call)];
  expect(open).toHaveLength(6);
  await endOne();
  expect(open).toHaveLength(6);
  while (open.length > 0) await endOne();
  await Promise.all([calls, ...others]);
});

test("more than 64 calls of an owner wait → rate_limited with Retry-After; calls without an owner do not take turns", async () => {
  const { open, call, endOne } = createCalls();
  const acquireTurn = createCallTurns();
  const calls = Array.from({ length: 68 }, () => acquireTurn("anna", call));
  await expect(acquireTurn("anna", call)).rejects.toMatchObject({
    code: "rate_limited",
    extra: { headers: { "Retry-After": "1" } },
  });
  const free = Array.from({ length: 20 }, () => acquireTurn(null, call));
  expect(open).toHaveLength(24);
  while (open.length > 0) await endOne();
  await Promise.all([...calls, ...free]);
});

test("a call that fails → frees its turn", async () => {
  const acquireTurn = createCallTurns();
  const calls = Array.from({ length: 20 }, () => acquireTurn("anna", () => Promise.reject(new Error("away"))));
  expect(await Promise.allSettled(calls)).toHaveLength(20);
  expect(await acquireTurn("anna", async () => 1)).toBe(1);
});
