import type { Step } from "../database/predictions.ts";

type Failure = "input_unreachable" | "interrupted" | "content_rejected";

/** A state of a run, as report_run takes it. */
type State = {
  id: string;
  status: "starting" | "processing" | "succeeded" | "failed" | "canceled" | "aborted";
  progress: number | null;
  output_url: string | null;
  failure: Failure | null;
  metrics: Record<string, number> | null;
};

/** A run at the provider. `states`: what it has said, the last one is how it is now. */
export type Run = {
  id: string;
  prediction: string;
  attempt: number;
  prompt: string;
  /** What an image costs, or a video of five seconds. */
  micros: number;
  step: Step;
  states: State[];
  billed: number;
  cancelRequested: boolean;
};

const ENDS: [status: State["status"], failure?: Failure][] = [
  ["succeeded"],
  ["succeeded"],
  ["succeeded"],
  ["failed"],
  ["failed", "interrupted"],
  ["failed", "input_unreachable"],
  ["failed", "content_rejected"],
  ["aborted"],
  ["canceled"],
];

export const isOver = (run: Run) => !["starting", "processing"].includes(stateOf(run).status);
export const stateOf = (run: Run) => run.states.at(-1) as State; // a run begins with one

/** Makes runs and moves them on. What it bills is known here only. */
export class WalkProvider {
  readonly runs: Run[] = [];

  create(of: Pick<Run, "prediction" | "attempt" | "prompt" | "micros" | "step">): Run {
    const run: Run = { id: `run-${crypto.randomUUID()}`, ...of, states: [], billed: 0, cancelRequested: false };
    run.states.push(this.#state(run, "starting"));
    this.runs.push(run);
    return run;
  }

  /** The next state: it begins, makes progress, or ends in one of the ways. */
  advance(run: Run, choice: number): void {
    const now = stateOf(run);
    if (isOver(run)) return;
    if (now.status === "starting" && choice % 5 > 0) return void run.states.push(this.#state(run, "processing"));
    if (now.status === "processing" && choice % 3 === 0) {
      const progress = Math.min(1, (now.progress ?? 0) + 0.25);
      return void run.states.push({ ...this.#state(run, "processing"), progress });
    }
    const [status, failure = null] = ENDS[choice % ENDS.length] ?? ["succeeded"];
    this.#end(run, status, failure, choice);
  }

  succeed(run: Run): void {
    if (!isOver(run)) this.#end(run, "succeeded", null, 0);
  }

  cancel(run: Run): void {
    if (isOver(run)) return;
    run.cancelRequested = true;
    this.#end(run, "canceled", null, run.states.length);
  }

  #state(run: Run, status: State["status"]): State {
    return { id: run.id, status, progress: null, output_url: null, failure: null, metrics: null };
  }

  /** A success is billed. Of other ends the provider bills all or nothing, and says so or not. */
  #end(run: Run, status: State["status"], failure: Failure | null, choice: number): void {
    const isVideo = run.step === "video";
    const [metric, whole] = isVideo ? ["video_output_duration_seconds", 5] : ["image_output_count", 1];
    const isBilled = status === "succeeded" || (status !== "aborted" && choice % 2 === 0);
    const isSilent = status === "succeeded" || status === "failed" ? choice % 4 < 2 : status === "aborted";
    run.billed = isBilled ? run.micros : 0;
    const metrics: Record<string, number> = isSilent ? { predict_time: 1.5 } : { [metric]: isBilled ? whole : 0 };
    const output_url =
      status === "succeeded" ? `https://replicate.delivery/${run.id}.${isVideo ? "mp4" : "png"}` : null;
    run.states.push({ ...this.#state(run, status), output_url, failure, metrics });
  }
}
