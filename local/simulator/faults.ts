/** Faults of a create's response. At most one takes effect per request, the first in this order. */
const ANSWER_FAULTS = [
  "model_gone",
  "content_refused",
  "rejected",
  "rate_limited",
  "server_error",
  "timeout",
  "lost_answer",
] as const;

/** Faults of a created prediction: its end, its callbacks and its output. */
const RUN_FAULTS = [
  "failed",
  "input_unreachable",
  "interrupted",
  "content_rejected",
  "aborted",
  "canceled",
  "callback_lost",
  "callback_doubled",
  "callback_reordered",
  "callback_late",
  "callback_forged",
  "metrics_missing",
  "output_expired",
  "output_huge",
  "output_not_image",
  "output_empty",
  "output_slow",
  "output_flaky",
  "output_padded",
  "output_in",
  "output_file",
] as const;

export const FAULT_NAMES = [...ANSWER_FAULTS, ...RUN_FAULTS] as const;
export type FaultName = (typeof FAULT_NAMES)[number];
export type AnswerFault = (typeof ANSWER_FAULTS)[number];

/** In a prompt these faults apply to one create, or to the number in their value. The next create succeeds. */
const passingFaults: readonly FaultName[] = [
  "rate_limited",
  "server_error",
  "timeout",
  "lost_answer",
  "input_unreachable",
  "interrupted",
];

/** A fault for the next `times` creates, of `model` only when given. */
type ArmedFault = { fault: FaultName; times: number; value?: string | undefined; model?: string | undefined };

/** The faults of one create: one of its response or none, and those of its prediction with their values ("" without one). */
export type Faults = { answer: AnswerFault | null; answerValue: string; run: ReadonlyMap<FaultName, string> };

/** The directives `[[fault:name=value]]` of a prompt by name. */
function directives(prompt: string): Map<string, string> {
  return new Map(
    [...prompt.matchAll(/\[\[fault:([^\]=]*)=?([^\]]*)\]\]/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

/** A directive that names no fault. It is refused, so that a typing error in a test is noticed. */
export function unknownDirective(prompt: string): string | undefined {
  return [...directives(prompt).keys()].find((name) => !FAULT_NAMES.some((known) => known === name));
}

/** The faults that have not happened yet. */
export class FaultBook {
  armed: ArmedFault[] = [];
  /** How often a passing fault was applied to a prompt. */
  readonly #applied = new Map<string, number>();

  arm(fault: ArmedFault): void {
    this.armed.push({ ...fault });
  }

  clear(): void {
    this.armed = [];
    this.#applied.clear();
  }

  /** Returns the faults for a create of `model` with this prompt and uses them up. */
  take(model: string, prompt: string): Faults {
    const requested = directives(prompt);
    for (const name of ANSWER_FAULTS) {
      const value = this.#take(name, model, prompt, requested);
      if (value === undefined) continue;
      if (name !== "lost_answer") return { answer: name, answerValue: value, run: new Map() };
      return { answer: name, answerValue: "", run: this.#nextRun(model, prompt, requested) };
    }
    return { answer: null, answerValue: "", run: this.#nextRun(model, prompt, requested) };
  }

  #nextRun(model: string, prompt: string, requested: ReadonlyMap<string, string>): Map<FaultName, string> {
    return new Map(
      RUN_FAULTS.flatMap((name) => {
        const value = this.#take(name, model, prompt, requested);
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  /** The value of a fault that applies, "" without one; undefined when it does not apply. */
  #take(name: FaultName, model: string, prompt: string, requested: ReadonlyMap<string, string>): string | undefined {
    const value = requested.get(name);
    if (value !== undefined && passingFaults.includes(name)) {
      const key = `${name} ${prompt}`;
      const times = this.#applied.get(key) ?? 0;
      this.#applied.set(key, times + 1);
      if (times < (Number.parseInt(value, 10) || 1)) return "";
    } else if (value !== undefined && (name !== "model_gone" || value === "" || value === model)) return value;
    const entry = this.armed.find((one) => one.fault === name && (one.model === undefined || one.model === model));
    // A model is gone until the faults are cleared.
    if (entry && name !== "model_gone") entry.times -= 1;
    this.armed = this.armed.filter(({ times }) => times > 0);
    return entry && (entry.value ?? "");
  }
}
