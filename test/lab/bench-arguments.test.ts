import { describe, expect, test } from "vitest";
import { readBenchArguments } from "../../lab/bench/bench-arguments.ts";

const KNOWN = ["deliver", "api", "cold"];

describe("the arguments of npm run bench", () => {
  test("none → all benchmarks, whole, no JSON", () => {
    expect(readBenchArguments([], KNOWN)).toEqual({ names: KNOWN, quick: false, json: false, help: false });
  });

  test("names → those, in the order in which benchmarks run, each once", () => {
    expect(readBenchArguments(["cold", "--quick", "deliver", "cold"], KNOWN).names).toEqual(["deliver", "cold"]);
  });

  test("--quick and --json → so, before or behind a name", () => {
    const read = { names: ["api"], quick: true, json: true, help: false };
    expect(readBenchArguments(["--quick", "api", "--json"], KNOWN)).toEqual(read);
    expect(readBenchArguments(["--json", "--quick", "api"], KNOWN)).toEqual(read);
  });

  test.each(["--help", "-h"])("%s → help", (option) => {
    expect(readBenchArguments([option], KNOWN).help).toBe(true);
  });

  test("an unknown name → its name and which there are", () => {
    expect(() => readBenchArguments(["api", "speed"], KNOWN)).toThrow(
      /^There is no benchmark "speed". There are: deliver, api, cold\.$/,
    );
  });

  test.each(["--fast", "--quick=yes", "-q"])("%s → one line that names it", (option) => {
    const [name = ""] = option.split("=");
    expect(() => readBenchArguments([option], KNOWN)).toThrow(
      new RegExp(`^[^\n]*${name}[^\n]*--help lists what there is\\.$`),
    );
  });
});
