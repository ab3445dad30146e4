/** Faults of a create's response. At most one takes effect per request, the first in this order. */
const answerFaults = [
  "model_gone",
  "content_refused",
  "rejected",
  "rate_limited",
  "server_error",
  "timeout",
  "lost_answer",
] as const;

/** Faults of a created prediction: its end, its callbacks and its output. */
const runFaults = [
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
] as const;

/** Faults of a run that are over after some runs, one by default, so that the next submit succeeds. */
const passingFaults: readonly FaultName[] = ["input_unreachable", "interrupted"];
/** Answers that stay: an input that is refused, and a model that is gone until the faults are cleared. */
const lastingFaults: readonly FaultName[] = ["model_gone", "content_refused", "rejected"];

export const faultNames = [...answerFaults, ...runFaults] as const;
export type FaultName = (typeof faultNames)[number];
export type AnswerFault = (typeof answerFaults)[number];

function isFaultName(name: string): name is FaultName {
  return faultNames.some((known) => known === name);
}

/** A fault for the next `times` creates, of `model` only when given. */
export type ArmedFault = { fault: FaultName; times: number; value?: string | undefined; model?: string | undefined };

/** The faults of one create: one of its response or none, and those of its prediction with their values ("" without one). */
export type Faults = { answer: AnswerFault | null; answerValue: string; run: ReadonlyMap<FaultName, string> };

const directivePattern = /\[\[fault:([a-z_]+)(?:=([^\]]*))?\]\]/g;
const countersKept = 10_000;
/**
 * Some HTTP clients, such as Deno's fetch, immediately repeat a request, even a POST, when a reused connection closes without
 * a response. The repetition creates a prediction, as at the provider, and its response is lost too.
 */
const resendWindowMs = 100;

/** The directives in a prompt by name, without unknown ones (see {@link unknownDirective}). */
export function directives(prompt: string): Map<FaultName, string> {
  const found = new Map<FaultName, string>();
  for (const [, name = "", value = ""] of prompt.matchAll(directivePattern)) {
    if (isFaultName(name)) found.set(name, value);
  }
  return found;
}

/** A directive that names no fault. It is refused, so that a typing error in a test is noticed. */
export function unknownDirective(prompt: string): string | null {
  const misspelt = [...prompt.matchAll(/\[\[fault:([^\]]*)\]\]/g)].find(([, body = ""]) => {
    return !isFaultName(body.split("=", 1)[0] ?? "");
  });
  return misspelt?.[1] ?? null;
}

/** The faults that have not happened yet. */
export class FaultBook {
  #armed: ArmedFault[] = [];
  /** How often an answer fault was applied to a prompt, so that a repeated create succeeds. */
  readonly #applied = new Map<string, number>();
  /** When a response was last lost, by prompt. */
  readonly #lost = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  arm(fault: ArmedFault): void {
    this.#armed.push({ ...fault });
  }

  clear(): void {
    this.#armed = [];
    this.#applied.clear();
    this.#lost.clear();
  }

  get armed(): readonly ArmedFault[] {
    return this.#armed;
  }

  /** Returns the faults for a create of `model` with this prompt and uses them up. */
  take(model: string, prompt: string): Faults {
    const asked = directives(prompt);
    const armed = this.#armed.filter((one) => one.model === undefined || one.model === model);
    if (this.#now() - (this.#lost.get(prompt) ?? Number.NEGATIVE_INFINITY) < resendWindowMs) {
      return this.#withRun(prompt, asked, armed, "lost_answer", "");
    }
    for (const name of answerFaults) {
      // The value of such a directive is a count, not a value for the response.
      const applies = asked.has(name) && this.#applies(name, prompt, asked.get(name) ?? "", model);
      const entry = applies ? undefined : armed.find((one) => one.fault === name);
      if (!applies && !entry) continue;
      if (entry && name !== "model_gone") this.#use(entry);
      if (name !== "lost_answer") return { answer: name, answerValue: entry?.value ?? "", run: new Map() };
      this.#rememberLost(prompt);
      return this.#withRun(prompt, asked, armed, name, "");
    }
    return this.#withRun(prompt, asked, armed, null, "");
  }

  #withRun(
    prompt: string,
    asked: ReadonlyMap<FaultName, string>,
    armed: readonly ArmedFault[],
    answer: AnswerFault | null,
    answerValue: string,
  ): Faults {
    const run = new Map<FaultName, string>();
    for (const name of runFaults) {
      const entry = armed.find((one) => one.fault === name);
      const isOver =
        passingFaults.includes(name) && asked.has(name) && !this.#applies(name, prompt, asked.get(name) ?? "", "");
      const value = isOver ? undefined : (asked.get(name) ?? entry?.value ?? (entry ? "" : undefined));
      if (entry) this.#use(entry);
      if (value !== undefined) run.set(name, value);
    }
    return { answer, answerValue, run };
  }

  #rememberLost(prompt: string): void {
    for (const [known, at] of this.#lost) if (this.#now() - at >= resendWindowMs) this.#lost.delete(known);
    this.#lost.set(prompt, this.#now());
  }

  #use(entry: ArmedFault): void {
    entry.times -= 1;
    if (entry.times <= 0) this.#armed = this.#armed.filter((one) => one !== entry);
  }

  /** The value of `model_gone` is the model, else it is any. The faults that do not last apply once, or `value` times. */
  #applies(name: FaultName, prompt: string, value: string, model: string): boolean {
    if (name === "model_gone") return value === "" || value === model;
    if (lastingFaults.includes(name)) return true;
    const key = `${name} ${prompt}`;
    const times = this.#applied.get(key) ?? 0;
    if (times >= (Number.parseInt(value, 10) || 1)) return false;
    this.#applied.delete(key);
    this.#applied.set(key, times + 1);
    const [oldest] = this.#applied.keys();
    if (this.#applied.size > countersKept && oldest !== undefined) this.#applied.delete(oldest);
    return true;
  }
}
