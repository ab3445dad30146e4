import type { Estimate, Film, Prediction, Project, Step } from "../../client/index.ts";

/** What a prediction was, so long after its start. */
export type Frame = { afterMs: number; prediction: Prediction };

/** What the build records of a local run. Addresses of files begin with BASE. */
export type Recording = {
  recordedAt: string;
  userId: string;
  projects: Project[];
  films: Film[];
  /** All, with those that are hidden. */
  predictions: Prediction[];
  estimates: Record<Step, Estimate>;
  /** Of each step, and of a prompt that is refused. */
  runs: Record<Step | "rejected", Frame[]>;
  /** Every other read, by path and query; and by the name of the function, what the database answers. */
  answers: Record<string, unknown>;
};

/** Stands for the address of the demo's folder. */
export const BASE = "https://demo.invalid";

const HOUR_MS = 3_600_000;

/** As if it had been recorded in the hour before `now`, in the folder at `base`. */
export function placeRecording(json: string, base: string, now: number): Recording {
  const { recordedAt } = JSON.parse(json) as Recording; // the build has checked it
  const by = Math.floor((now - Date.parse(recordedAt)) / HOUR_MS) * HOUR_MS;
  const move = (time: string, length: number) => new Date(Date.parse(time) + by).toISOString().slice(0, length);
  return JSON.parse(json.replaceAll(BASE, base), (name, value) => {
    if (typeof value !== "string") return value;
    if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)$/.test(value)) return move(value, 24);
    return /^(from|to|key)$/.test(name) && /^\d{4}-\d\d-\d\d$/.test(value) ? move(value, 10) : value; // days of the usage
  }) as Recording;
}
