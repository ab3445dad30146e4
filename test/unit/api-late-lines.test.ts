import { expect, test } from "vitest";
import { createLateLines } from "../../supabase/functions/api/http/late-lines.ts";

/** Late lines whose moments the test decides: `pass` lets the next one come. */
function setUp() {
  const written: string[] = [];
  const moments: { work: () => void; ms: number }[] = [];
  const lines = createLateLines(
    (line) => written.push(line),
    (work, ms) => moments.push({ work, ms }),
  );
  return { lines, written, moments, pass: () => moments.shift()?.work() };
}

test("lines → not written until their moment, then each by a write of its own, in their order", () => {
  const { lines, written, pass } = setUp();
  for (const line of ["a", "b", "c"]) lines.write(line);
  expect(written).toEqual([]);
  pass();
  expect(written).toEqual(["a", "b", "c"]);
});

test("lines that come together → one timer, of a few milliseconds; the next one starts another", () => {
  const { lines, written, moments, pass } = setUp();
  lines.write("a");
  lines.write("b");
  expect(moments.map(({ ms }) => ms)).toEqual([10]);
  pass();
  lines.write("c");
  expect(moments).toHaveLength(1);
  pass();
  expect(written).toEqual(["a", "b", "c"]);
});

test("flush → what waits is written at once, and not again at its moment", () => {
  const { lines, written, pass } = setUp();
  lines.write("a");
  lines.flush();
  expect(written).toEqual(["a"]);
  pass();
  lines.flush();
  expect(written).toEqual(["a"]);
});

test("a line that comes while others are written → written in the next moment", () => {
  const written: string[] = [];
  const moments: (() => void)[] = [];
  const lines = createLateLines(
    (line) => {
      if (written.push(line) === 1) lines.write("again");
    },
    (work) => moments.push(work),
  );
  lines.write("a");
  moments.shift()?.();
  expect([written, moments.length]).toEqual([["a"], 1]);
  moments.shift()?.();
  expect(written).toEqual(["a", "again"]);
});
