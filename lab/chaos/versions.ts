import { oneLine } from "../../command-line/run-main.ts";
import { removeData } from "../../local/stack/data-folder.ts";
import { startStack } from "../../local/stack/start-stack.ts";
import { quantile } from "../bench/measure.ts";
import { openVersion } from "../bench/versions/open-version.ts";
import { measureScenario } from "./isolation.ts";
import { describeTable } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { openWorld, type World } from "./world.ts";

type Options = {
  against: string;
  names: readonly string[];
  rounds: number;
  say(line: string): void;
  signal: AbortSignal;
};

const HEAD = ["scenario", "version", "events: p50", "p95", "bound", "longest", "answers of api: p50", "wrong"];

/** Runs scenarios on a stack of another commit and on one of this checkout in turn. Load and measurement are this checkout's. */
export async function compareVersions({ against, names, rounds, say, signal }: Options): Promise<string> {
  const rows: (string | number)[][] = [];
  const ends: (() => Promise<void>)[] = []; // the last begun first
  const open = async (start: typeof startStack) => {
    const dataDir = await Deno.makeTempDir({ prefix: "keyframe-chaos-" });
    ends.unshift(() => removeData(dataDir));
    const { world, close } = await openWorld({ dataDir, signal }, start);
    ends.unshift(close);
    return world;
  };
  try {
    const files = { startStack: "local/stack/start-stack.ts" };
    const version = await openVersion<{ startStack: typeof startStack }>(against, files, signal);
    ends.unshift(version.remove);
    const worlds = { [against]: await open(version.lab.startStack), "this checkout": await open(startStack) };
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      for (let round = 1; round <= rounds && names.includes(name); round++) {
        for (const [place, world] of Object.entries(worlds)) {
          signal.throwIfAborted();
          const cells = await cellsOf(world, scenario);
          say(`${name}, round ${round} of ${rounds}, ${place}: ${cells.join(" | ")}`);
          rows.push([name, place, ...cells]);
        }
      }
    }
    return describeTable(HEAD, rows);
  } finally {
    for (const end of ends) await end();
  }
}

/** In ms, with the same without the scenario in parentheses. */
async function cellsOf(world: World, scenario: Scenario): Promise<(string | number)[]> {
  try {
    const { alone, during, bound, broken } = await measureScenario(world, scenario);
    const both = (of: "delays" | "answers", fraction: number) => {
      const [ms, without] = [during, alone].map((times) =>
        Math.round(quantile(times[of], fraction)).toLocaleString("en"),
      );
      return `${ms} (${without})`;
    };
    const events = [both("delays", 0.5), both("delays", 0.95), bound, both("delays", 1)];
    return [...events, both("answers", 0.5), broken.join("; ")];
  } catch (error) {
    return ["", "", "", "", "", oneLine(error)]; // the scenario does not fit the version
  }
}
