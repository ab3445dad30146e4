import { parseOptions } from "../../local/stack/command-line.ts";
import { SCENARIO_NAMES } from "./isolation.ts";

type ChaosArguments = {
  minutes: number;
  seed: number;
  users: number;
  scenarios: readonly string[] | undefined;
};

/** Throws one line that names a wrong option. The default seed is the time, in seconds. */
export function readChaosArguments(args: string[], now: Date): ChaosArguments {
  const { values } = parseOptions({
    args,
    options: {
      minutes: { type: "string", default: "5" },
      seed: { type: "string" },
      users: { type: "string", default: "16" },
      scenarios: { type: "string" },
    },
  });
  return {
    minutes: number("minutes", values.minutes, 0.1, 600),
    seed: number("seed", values.seed ?? String(Math.floor(now.getTime() / 1000) % 1_000_000), 0, 2 ** 31),
    users: number("users", values.users, 1, 200),
    scenarios: values.scenarios === undefined ? undefined : scenarios(values.scenarios),
  };
}

function number(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  const isRight =
    text.trim() !== "" && value >= least && value <= most && (name === "minutes" || Number.isInteger(value));
  if (!isRight) throw new Error(`--${name} must be a number from ${least} to ${most}, not "${text}".`);
  return value;
}

function scenarios(text: string): readonly string[] {
  if (text === "all") return SCENARIO_NAMES;
  const names = text.split(",");
  if (names.every((name) => SCENARIO_NAMES.includes(name))) return names;
  throw new Error(`--scenarios must be all, or some of ${SCENARIO_NAMES.join(",")}, not "${text}".`);
}
