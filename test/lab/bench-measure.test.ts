import { describe, expect, test } from "vitest";
import { measureInTurn, quantile, ratioOf, spreadOf } from "../../lab/bench/measure.ts";

describe("a spread", () => {
  test("of several → median, least and most", () => {
    expect(spreadOf([9, 1, 4])).toEqual({ median: 4, min: 1, max: 9 });
    expect(spreadOf([1, 2, 4, 10])).toEqual({ median: 3, min: 1, max: 10 });
  });

  test("of one → it, three times", () => {
    expect(spreadOf([5])).toEqual({ median: 5, min: 5, max: 5 });
  });

  test.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY]]])("of %j → refused", (values) => {
    expect(() => spreadOf(values)).toThrow("No spread of");
  });
});

describe("a ratio", () => {
  test("→ of the medians, and how far it lay apart from round to round", () => {
    expect(ratioOf([2, 4, 6], [1, 4, 2])).toEqual({ median: 2, min: 1, max: 3 });
  });

  test("of measurements that were not made in pairs → refused", () => {
    expect(() => ratioOf([1, 2], [1])).toThrow("2 measurements beside 1");
  });

  test("beside nothing at all → refused", () => {
    expect(() => ratioOf([1], [0])).toThrow("No spread of");
  });
});

test("a quantile lies between two values in proportion", () => {
  expect(quantile([10, 0], 0.25)).toBe(2.5);
  expect(quantile([3], 0.95)).toBe(3);
  expect(quantile([], 0.5)).toBeNaN();
});

test("ways are measured in turn, every other round backwards, and each keeps the order of its rounds", async () => {
  const order: string[] = [];
  const said: string[] = [];
  const way = (name: string, values: number[]) => async () => {
    order.push(name);
    return values.shift() ?? Number.NaN;
  };
  const ways = { ours: way("ours", [1, 2, 3]), theirs: way("theirs", [10, 20, 30]) };
  expect(await measureInTurn(ways, 3, (text) => said.push(text))).toEqual({ ours: [1, 2, 3], theirs: [10, 20, 30] });
  expect(order).toEqual(["ours", "theirs", "theirs", "ours", "ours", "theirs"]);
  expect(said.at(-1)).toBe("round 3 of 3: theirs");
});
